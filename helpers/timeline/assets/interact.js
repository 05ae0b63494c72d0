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

/** What a press on a canvas becomes: drag(grip, event), or click(grip, event) where it hasn't moved.
    take(event) gives the grip; hover(event): the pointer moves over it and holds nothing. */
function listenToHand(canvas, { take, drag, click, hover }) {
  let grip = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    grip = { ...take(event), pressed: event.clientX, moved: false };
    canvas.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!grip) return hover?.(event);
    grip.moved ||= Math.abs(event.clientX - grip.pressed) >= MOVED;
    if (grip.moved) drag(grip, event);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (grip && !grip.moved) click(grip, event);
    grip = null;
  });
  canvas.addEventListener("pointercancel", () => (grip = null));
}

/** Drag to move, with Shift to measure; click to follow; wheel to zoom once the rows are in use. */
export function listenToRows(canvas, view) {
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const under = (event) => found(view.layout, view.axis(), ...at(event));
  const timeAt = (event) => view.axis().time(at(event)[0]);
  listenToHand(canvas, {
    take(event) {
      view.focus();
      return { from: view.axis().from, time: timeAt(event), measure: event.shiftKey };
    },
    hover: (event) => view.hover(under(event), event),
    drag({ measure, time, from, pressed }, event) {
      if (measure) view.measure(time, timeAt(event));
      else view.moveTo(from - (event.clientX - pressed) / view.axis().scale);
      view.hover(null);
    },
    click: ({ measure }, event) => (measure ? view.measure(null) : view.pick(under(event))),
  });
  canvas.addEventListener("pointerleave", () => view.hover(null));
  canvas.addEventListener("wheel", (event) => {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
    // A page scrolls over the rows as over text, until someone has clicked into them.
    if (!view.focused() && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const delta = sideways ? event.deltaX || event.deltaY : event.deltaY;
    const pixels = event.deltaMode === 1 ? 16 * delta : delta;
    if (sideways) view.moveTo(view.axis().from + pixels / view.axis().scale);
    else view.zoom(Math.exp(-pixels / 300), timeAt(event));
  }, { passive: false });
}

/** The strip above: drag to measure a range, click to look there. */
export function listenToOverview(canvas, view) {
  const timeAt = (event) => {
    const { left, right } = view.layout, x = event.clientX - canvas.getBoundingClientRect().left;
    return view.model.duration * Math.min(Math.max((x - left) / (right - left), 0), 1);
  };
  listenToHand(canvas, {
    take: (event) => ({ time: timeAt(event) }),
    drag: ({ time }, event) => view.measure(time, timeAt(event)),
    click(_, event) {
      view.measure(null);
      const { from, to } = view.axis();
      view.moveTo(timeAt(event) - (to - from) / 2);
    },
  });
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
