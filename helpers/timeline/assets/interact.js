import { eventAt } from "./model.js";
import { placeAt } from "./layout.js";

// Mouse, wheel and keys: what the hand does becomes a call of the view. Nothing is drawn here.

const MOVED = 4; // pixels that make a click a drag
const SIGHT = 2; // pixels beside a thin box that still count as on it

/** What lies at a point of the rows: { part, number, row, lane, time, event }, or null.
    event -1: nothing is computed there. */
export function found(layout, axis, x, y) {
  const place = placeAt(layout, y);
  if (!place || x < axis.left - 3 || x > axis.right + 3) return null;
  const time = Math.min(Math.max(axis.time(x), axis.from), axis.to);
  const lane = Math.max(place.lane, 0);
  const event = eventAt(place.part, place.row, lane, time, SIGHT / axis.scale);
  return { ...place, time, event };
}

/** Drag to move, with Shift to measure; click to follow; wheel to zoom once the rows are in use. */
export function listenToRows(canvas, view) {
  let grip = null;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const [x] = at(event);
    grip = { x, from: view.axis().from, time: view.axis().time(x), measure: event.shiftKey, moved: false };
    canvas.setPointerCapture(event.pointerId);
    view.focus();
    event.preventDefault();
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    if (!grip) return view.hover(found(view.layout, view.axis(), x, y), event);
    grip.moved ||= Math.abs(x - grip.x) >= MOVED;
    if (!grip.moved) return;
    if (grip.measure) view.measure(grip.time, view.axis().time(x));
    else view.moveTo(grip.from - (x - grip.x) / view.axis().scale);
    view.hover(null);
  });
  const release = (event) => {
    if (grip && !grip.moved && event.type === "pointerup") {
      const [x, y] = at(event);
      if (grip.measure) view.measure(null);
      else view.pick(found(view.layout, view.axis(), x, y));
    }
    grip = null;
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => view.hover(null));
  canvas.addEventListener("wheel", (event) => {
    const [x] = at(event), sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
    // A page scrolls over the rows as over text, until someone has clicked into them.
    if (!view.focused() && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const delta = sideways ? event.deltaX || event.deltaY : event.deltaY;
    const pixels = event.deltaMode === 1 ? 16 * delta : delta;
    if (sideways) view.moveTo(view.axis().from + pixels / view.axis().scale);
    else view.zoom(Math.exp(-pixels / 300), view.axis().time(x));
  }, { passive: false });
}

/** The strip above: drag to measure a range, click to look there. */
export function listenToOverview(canvas, view) {
  let grip = null;
  const timeAt = (event) => {
    const { left, right } = view.layout, x = event.clientX - canvas.getBoundingClientRect().left;
    return view.model.duration * Math.min(Math.max((x - left) / (right - left), 0), 1);
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    grip = { x: event.clientX, time: timeAt(event), moved: false };
    canvas.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!grip) return;
    grip.moved ||= Math.abs(event.clientX - grip.x) >= MOVED;
    if (grip.moved) view.measure(grip.time, timeAt(event));
  });
  canvas.addEventListener("pointerup", (event) => {
    if (grip && !grip.moved) {
      view.measure(null);
      const { from, to } = view.axis();
      view.moveTo(timeAt(event) - (to - from) / 2);
    }
    grip = null;
  });
  canvas.addEventListener("pointercancel", () => (grip = null));
}

/** What each key does. */
export function listenToKeys(stage, view) {
  const share = (part) => part * (view.axis().to - view.axis().from);
  const acts = {
    ArrowLeft: () => view.moveTo(view.axis().from - share(0.15)),
    ArrowRight: () => view.moveTo(view.axis().from + share(0.15)),
    ArrowUp: () => view.changeRank(-1),
    ArrowDown: () => view.changeRank(1),
    "+": () => view.zoom(1.5),
    "=": () => view.zoom(1.5),
    "-": () => view.zoom(1 / 1.5),
    _: () => view.zoom(1 / 1.5),
    0: () => view.fit(),
    Home: () => view.moveTo(0),
    End: () => view.moveTo(view.model.duration),
    ".": () => view.step(1),
    ",": () => view.step(-1),
    Enter: () => view.followSelected(),
    Escape: () => view.clear(),
    " ": () => view.play(),
    "<": () => view.faster(-1),
    ">": () => view.faster(1),
    "[": () => view.rangeEdge(0),
    "]": () => view.rangeEdge(1),
    z: () => view.zoomToRange(),
    a: () => view.turnArrows(),
    "?": () => view.turnHelp(),
  };
  stage.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = acts[event.key] ?? acts[event.key.toLowerCase()];
    if (!act) return;
    act();
    event.preventDefault();
  });
}
