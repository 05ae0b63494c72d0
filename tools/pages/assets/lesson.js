// A lesson's predictions and numbers.

import { kept, numberIn } from "./kept.js";

const SAID = "lab-said";

function answer(details) {
  const { id, right, because, wrong } = JSON.parse(details.dataset.answers);
  const mine = kept.read(SAID)[id];
  const words = !mine ? `It's ${right}: ${because}`
    : mine === right ? `You said ${mine}, and ${mine} it is: ${because}`
      : `You said ${mine}; it's ${right}: ${because} Why not ${mine}? ${wrong[mine] ?? ""}`;
  details.querySelector("p").textContent = words;
}

for (const box of document.querySelectorAll(".predict")) {
  const { id } = box.dataset;
  const status = box.querySelector("[role=status]");
  const show = () => {
    const mine = kept.read(SAID)[id];
    for (const one of box.querySelectorAll("button")) {
      one.setAttribute("aria-pressed", String(one.dataset.letter === mine));
    }
    status.textContent = mine ? `You say ${mine}. Read on.` : "Choose before you read on.";
  };
  box.addEventListener("click", (event) => {
    const chosen = event.target.closest("button");
    if (!chosen) return;
    kept.put(SAID, id, chosen.dataset.letter);
    show();
    document.querySelectorAll(".reveal").forEach(answer);
  });
  addEventListener("storage", show);
  show();
}

document.querySelectorAll(".reveal").forEach(answer);

function close(one, other, tolerance) {
  return Math.abs(one - other) <= Math.max(tolerance, 1e-9 * Math.max(Math.abs(one), Math.abs(other)));
}

for (const form of document.querySelectorAll(".number")) {
  const { truth, tolerance, unit, because, slips } = JSON.parse(form.dataset.facts);
  const status = form.querySelector("[role=status]");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    let mine;
    try {
      mine = numberIn(form.querySelector("input").value);
    } catch (error) {
      status.textContent = error.message;
      return;
    }
    const slip = slips.find(([number]) => close(mine, number, Math.min(tolerance, Math.abs(number - truth) / 4)));
    const written = (number) => number.toLocaleString("en-US");
    let said = `✗ Not yet: ${written(mine)} is ${mine > truth ? "too large" : "too small"}.`;
    if (close(mine, truth, tolerance)) said = `✓ Right: ${written(truth)} ${unit}. ${because}`;
    else if (slip) said = `✗ Not yet: ${slip[1]}`;
    status.textContent = said;
  });
}

// Contents that say where the reader is; beside the text they're always open.
const contents = document.querySelector(".toc");
const rows = new Map([...contents.querySelectorAll("a")].map((row) => [row.hash.slice(1), row]));
if (matchMedia("(min-width: 1100px)").matches) contents.open = true;
const heads = [...document.querySelectorAll(".lesson :is(h2, h3)[id]")];
const passed = new IntersectionObserver(() => {
  const here = heads.findLast((one) => one.getBoundingClientRect().top < innerHeight / 3);
  rows.forEach((row, id) => row.classList.toggle("now", id === here?.id));
  if (here && contents.open) contents.scrollTop = rows.get(here.id).offsetTop - contents.clientHeight / 2;
}, { rootMargin: "0px 0px -66% 0px" });
document.querySelectorAll(".lesson > *").forEach((part) => passed.observe(part));

// All code at once; and each piece to be copied.
const article = document.querySelector(".lesson"), all = document.querySelector("[data-code]");
all.addEventListener("click", () => {
  const show = all.textContent.startsWith("Show");
  article.classList.toggle("bare", !show);
  for (const one of article.querySelectorAll(".folded")) one.open = show;
  all.textContent = `${show ? "Hide" : "Show"} all code`;
});
for (const code of article.querySelectorAll("pre.code")) {
  const holder = document.createElement("div"), button = document.createElement("button");
  holder.className = "copied";
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  code.replaceWith(holder);
  holder.append(code, button);
}
addEventListener("beforeprint", () => article.querySelectorAll("details").forEach((one) => { one.open = true; }));
