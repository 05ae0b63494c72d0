// A training step to write and to run. What never ends is stopped, and the page stays alive.

import { engine, kept, sorry } from "./engine.js";
import { LOOK, TimelineView, readModel } from "./timeline.js";

const place = document.getElementById("view");
const texts = kept.read("lab-puzzles");
const done = kept.read("lab-puzzles-done");

const make = (tag, facts = {}, ...inside) => {
  const one = Object.assign(document.createElement(tag), facts);
  one.append(...inside);
  return one;
};

async function begin() {
  const puzzles = await (await fetch("puzzles.json")).json();
  const list = make("div", { className: "tabs" });
  const goal = make("p", { className: "goal" });
  const editor = make("textarea", { spellcheck: false, rows: 24, ariaLabel: "your step" });
  const run = make("button", { textContent: "Run it", className: "go" });
  const again = make("button", { textContent: "Start again" });
  const said = make("pre", { className: "said" });
  said.setAttribute("role", "status");
  const picture = make("div", { className: "live" });
  let now = puzzles[0], view = null;

  const keep = () => {
    texts[now.name] = editor.value;
    kept.write("lab-puzzles", texts);
  };
  const open = (one) => {
    now = one;
    editor.value = texts[one.name] ?? one.text;
    goal.textContent = `${one.ranks} rank${one.ranks > 1 ? "s" : ""}, ${one.layers} layers, ${one.samples} samples: `
      + `at most ${one.steps} steps, and ${one.memory.toLocaleString("en-US")} elements of memory on any rank. `
      + "Less memory in the same time is a star.";
    said.textContent = "";
    picture.replaceChildren();
    for (const tab of list.children) tab.setAttribute("aria-pressed", String(tab.dataset.name === one.name));
  };
  const mark = () => {
    for (const tab of list.children) tab.firstChild.textContent = { star: "★ ", met: "✓ " }[done[tab.dataset.name]] ?? "";
  };
  for (const one of puzzles) {
    const tab = make("button", { onclick: () => open(one) }, make("span"), one.name.replaceAll("_", " "));
    tab.dataset.name = one.name;
    list.append(tab);
  }
  editor.addEventListener("input", keep);
  editor.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run.click();
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return;
    event.preventDefault(); // the next line begins where this one does, or deeper after a colon
    const before = editor.value.slice(0, editor.selectionStart);
    const line = before.slice(before.lastIndexOf("\n") + 1);
    const deeper = line.trimEnd().endsWith(":") ? "    " : "";
    document.execCommand("insertText", false, `\n${line.match(/^ */)[0]}${deeper}`);
  });
  again.addEventListener("click", () => {
    editor.value = now.text;
    keep();
  });
  run.addEventListener("click", async () => {
    keep();
    run.disabled = true;
    said.textContent = "running…";
    picture.replaceChildren();
    let answer;
    try {
      answer = await engine.ask({ page: "puzzle", name: now.name, text: editor.value });
    } catch (error) {
      answer = { problem: error.message, where: "", printed: "" };
    }
    run.disabled = false;
    const lines = [answer.printed?.trimEnd(), answer.problem || answer.title, answer.where && `  at ${answer.where}`];
    if (!answer.problem) {
      const solved = answer.met ? "✓ solved" : "It's right, but above a target.";
      lines.push(answer.star ? "★ within the time, and in less memory" : solved);
      if (answer.met && done[now.name] !== "star") done[now.name] = answer.star ? "star" : "met";
      kept.write("lab-puzzles-done", done);
      view = new TimelineView(picture, LOOK, readModel(answer.head, answer.body));
    }
    said.textContent = lines.filter(Boolean).join("\n");
    said.classList.toggle("problem", Boolean(answer.problem));
    mark();
  });
  place.replaceChildren(list, goal, editor, make("p", {}, run, " ", again, " Ctrl+Enter runs it, too."), said, picture);
  open(now);
  mark();
  engine.ask({ page: "puzzle", name: now.name, text: "" }).catch(() => {}); // it loads what a step needs
}

begin().catch(sorry);
