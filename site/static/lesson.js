// A lesson's predictions, numbers and timelines. What a reader chose stays in this browser.

import { keep, kept } from "./kept.js";

const said = kept("lab-said"), answers = document.querySelectorAll(".reveal");

function answer(details) {
  const { id, right, because, wrong } = JSON.parse(details.dataset.answers), mine = said[id];
  let words = `It's ${right}: ${because}`;
  if (mine === right) words = `You said ${mine}, and ${mine} it is: ${because}`;
  else if (mine) words = `You said ${mine}; it's ${right}: ${because} Why not ${mine}? ${wrong[mine] ?? ""}`;
  details.querySelector("p").textContent = words;
}

for (const box of document.querySelectorAll(".predict")) {
  const { id } = box.dataset, status = box.querySelector("[role=status]");
  const show = () => {
    for (const one of box.querySelectorAll("button")) {
      one.setAttribute("aria-pressed", String(one.dataset.letter === said[id]));
    }
    status.textContent = said[id] ? `You say ${said[id]}. Read on.` : "Choose before you read on.";
  };
  box.addEventListener("click", ({ target }) => {
    const chosen = target.closest("button");
    if (!chosen) return;
    said[id] = chosen.dataset.letter;
    keep("lab-said", said);
    show();
    answers.forEach(answer);
  });
  show();
}
answers.forEach(answer);
sessionStorage.setItem("sidebar-scroll-top", 0); // the theme would scroll past the page's own sections

const TYPED = /^[-+]?(\d+(_\d+)*|\d{1,3}(,\d{3})+)?(\.\d*)?(e[-+]?\d+)?$/i;
const close = (one, other, tolerance) => Math.abs(one - other) <= Math.max(tolerance, 1e-9 * Math.abs(other));

function judged(typed, { truth, tolerance, unit, because, slips }) {
  const plain = typed.trim().replace("−", "-"), mine = Number(plain.replace(/[,_]/g, "") || NaN);
  if (!TYPED.test(plain) || Number.isNaN(mine)) return "Write a number, such as 12, 2.5 or 12,500.";
  if (close(mine, truth, tolerance)) return `✓ Right: ${truth.toLocaleString("en-US")} ${unit}. ${because}`;
  const slip = slips.find(([one]) => close(mine, one, Math.min(tolerance, Math.abs(one - truth) / 4)));
  const way = mine > truth ? "too large" : "too small";
  return `✗ Not yet: ${slip ? slip[1] : `${mine.toLocaleString("en-US")} is ${way}.`}`;
}

for (const form of document.querySelectorAll(".number")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const words = judged(form.querySelector("input").value, JSON.parse(form.dataset.facts));
    form.querySelector("[role=status]").textContent = words;
  });
}

// A timeline takes its picture's place when the reader gets there.
const soon = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    soon.unobserve(target);
    alive(target).catch(console.error); // the picture stays
  }
}, { rootMargin: "400px 0px" });

async function alive(place) {
  const [{ mount }, data] = await Promise.all([
    import("./timeline.js"), fetch(place.dataset.timeline).then((found) => found.json()),
  ]);
  place.replaceChildren();
  mount(place, { data, controls: [], settings: {}, problem: "" });
}
document.querySelectorAll("[data-timeline]").forEach((place) => soon.observe(place));

// What is wider than its place can be scrolled by keys, in each browser.
const wide = () => document.querySelectorAll(".picture, math[display=block]").forEach((one) => {
  if (one.scrollWidth > one.clientWidth + 1) one.tabIndex = 0;
});
for (const what of ["load", "resize", "toggle"]) addEventListener(what, wide, true);
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
