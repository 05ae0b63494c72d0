// A training step to write and to run. What never ends is stopped, and the page stays alive.

import { engine, sorry } from "./engine.js";
import { kept } from "./kept.js";
import { mount } from "./timeline.js";

const place = document.getElementById("view");
const TEXTS = "lab-puzzles", DONE = "lab-puzzles-done", BEFORE = "lab-puzzles-before";

const make = (tag, facts = {}, ...inside) => {
  const one = Object.assign(document.createElement(tag), facts);
  one.append(...inside);
  return one;
};

async function begin() {
  const puzzles = await (await fetch("puzzles.json")).json();
  const list = make("div", { className: "tabs" });
  const goal = make("p", { className: "goal" });
  const editor = make("textarea", { spellcheck: false, rows: 24, wrap: "off", ariaLabel: "your step" });
  const numbers = make("pre", { className: "lines", ariaHidden: "true" });
  const run = make("button", { textContent: "Run it", className: "go" });
  const again = make("button", { textContent: "Start again" });
  const said = make("pre", { className: "said" });
  said.setAttribute("role", "status");
  const picture = make("div", { className: "live" });
  const heard = {}; // by a puzzle's name: what its last run said, and its timeline
  let now = puzzles[0];

  const scroll = () => { numbers.scrollTop = editor.scrollTop; };
  const count = () => { // what is wrong names its line
    numbers.textContent = editor.value.split("\n").map((_, n) => n + 1).join("\n");
    scroll();
  };
  const keep = () => {
    count();
    kept.put(TEXTS, now.name, editor.value);
  };
  const write = (text) => { // as if it were typed: the keys that undo bring the old text back
    editor.select();
    if (!document.execCommand("insertText", false, text)) editor.value = text;
    keep();
  };
  const before = () => kept.read(BEFORE)[now.name] ?? null;
  const name = () => { again.textContent = before() === null ? "Start again" : "Bring my step back"; };
  const show = () => {
    const { words = "", bad = false, answer } = heard[now.name] ?? {};
    said.textContent = words;
    said.classList.toggle("problem", bad);
    picture.replaceChildren();
    if (answer?.data) mount(picture, { data: answer.data, controls: [], settings: {}, problem: "" });
  };
  const hear = (one, what) => {
    heard[one.name] = what;
    if (one === now) show(); // another may be on the page by now
  };
  const open = (one) => {
    now = one;
    editor.value = kept.read(TEXTS)[one.name] ?? one.text;
    count();
    goal.textContent = `${one.ranks} rank${one.ranks > 1 ? "s" : ""}, ${one.layers} layers, ${one.samples} samples: `
      + `at most ${one.steps} steps, and ${one.memory.toLocaleString("en-US")} elements of memory on any rank. `
      + "Less memory in the same time is a star.";
    name();
    show();
    for (const tab of list.children) tab.setAttribute("aria-pressed", String(tab.dataset.name === one.name));
  };
  const mark = () => {
    const done = kept.read(DONE);
    for (const tab of list.children) tab.firstChild.textContent = { star: "★ ", met: "✓ " }[done[tab.dataset.name]] ?? "";
  };
  for (const one of puzzles) {
    const tab = make("button", { onclick: () => open(one) }, make("span"), one.name.replaceAll("_", " "));
    tab.dataset.name = one.name;
    list.append(tab);
  }
  editor.addEventListener("input", keep);
  editor.addEventListener("scroll", scroll);
  editor.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run.click();
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return;
    event.preventDefault(); // the next line begins where this one does, or deeper after a colon
    const above = editor.value.slice(0, editor.selectionStart);
    const line = above.slice(above.lastIndexOf("\n") + 1);
    const deeper = line.trimEnd().endsWith(":") ? "    " : "";
    document.execCommand("insertText", false, `\n${line.match(/^ */)[0]}${deeper}`);
  });
  again.addEventListener("click", () => {
    const mine = before();
    kept.put(BEFORE, now.name, mine === null ? editor.value : null);
    write(mine ?? now.text);
    name();
  });
  run.addEventListener("click", async () => {
    const one = now; // what is on the page when the answer comes may be another
    keep();
    run.disabled = true;
    hear(one, { words: "running…" });
    let answer;
    try {
      const tell = (words) => hear(one, { words: `${words} It runs your step then.` });
      answer = await engine.ask({ page: "puzzle", name: one.name, text: editor.value }, { tell });
    } catch (error) {
      answer = { problem: error.message, where: "", printed: "" };
    }
    run.disabled = false;
    const lines = [answer.printed?.trimEnd(), answer.problem || answer.title, answer.where && `  at ${answer.where}`];
    if (!answer.problem) {
      const solved = answer.met ? "✓ solved" : "It's right, but above a target.";
      lines.push(answer.star ? "★ within the time, and in less memory" : solved);
      if (answer.met && kept.read(DONE)[one.name] !== "star") kept.put(DONE, one.name, answer.star ? "star" : "met");
    }
    const words = lines.filter(Boolean).join("\n"), bad = Boolean(answer.problem);
    hear(one, { words, bad, answer: bad ? null : answer });
    mark();
  });
  const code = make("div", { className: "code" }, numbers, editor);
  place.replaceChildren(list, goal, code, make("p", {}, run, " ", again, " Ctrl+Enter runs it, too."), said, picture);
  open(now);
  mark();
  addEventListener("storage", mark);
  engine.ask({ page: "puzzle", name: now.name, text: "" }).catch(() => {}); // it loads what a step needs
}

begin().catch(sorry);
