// In a notebook: the kernel answers. A question travels with a number, and its answer names it.

export default {
  render({ model, el }) {
    const open = new Map();
    let number = 0;
    const mine = Math.random().toString(36).slice(2);
    const heard = (content) => {
      const waiting = content.from === mine && open.get(content.answer);
      if (!waiting) return;
      open.delete(content.answer);
      clearTimeout(waiting.alarm);
      waiting.done(content.said);
    };
    model.on("msg:custom", heard);
    const host = {
      ask: (question) => new Promise((done, fail) => {
        number += 1;
        const slow = ["run", "train"].includes(question.do);
        const silent = () => fail(new Error("the kernel is busy or has stopped; when it's idle, try again"));
        open.set(number, { done, alarm: setTimeout(silent, slow ? 120000 : 15000) });
        model.send({ ask: number, from: mine, question });
      }),
      runs: true,
      progress: { ...model.get("progress") },
      keep(level, best, helped) {
        this.progress[level] = { best, helped };
        model.send({ keep: { level, best, helped } });
      },
      link: (fragment) => `play("#${fragment}")`,
    };
    const view = mountPlay(el, host, model.get("start"));
    el.play = view;
    return () => {
      model.off("msg:custom", heard);
      view.destroy();
    };
  },
};
