// A lesson's predictions, numbers and timelines.

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

// A timeline takes its picture's place when the reader gets there. Above the reader the pictures
// stay: a timeline has another height, and would move what is being read.
const soon = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    soon.unobserve(entry.target);
    live(entry.target).catch(() => { /* the picture stays */ });
  }
}, { rootMargin: "0px 0px 400px" });

async function live(place) {
  const [{ LOOK, TimelineView, readModel }, kept] = await Promise.all([
    import("./timeline.js"), fetch(place.dataset.timeline).then((found) => found.json()),
  ]);
  const packed = Uint8Array.from(atob(kept.body), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const holder = document.createElement("div");
  holder.className = "live";
  place.after(holder);
  new TimelineView(holder, LOOK, readModel(kept.head, bytes));
  place.remove();
}

document.querySelectorAll("[data-timeline]").forEach((place) => soon.observe(place));
