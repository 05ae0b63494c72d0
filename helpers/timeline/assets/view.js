import { actionOf, factOf, stepFrom, stepNear } from "./model.js";
import { numbersIn } from "./measure.js";
import { inWords } from "./words.js";
import { axisOf, layOut } from "./layout.js";
import { brushes, sharp } from "./paint.js";
import { drawAxis, drawRows } from "./draw.js";
import { OVERVIEW, drawOverview } from "./overview.js";
import { drawMarks } from "./marks.js";
import { showNumbers } from "./numbers.js";
import { button, element, followTheme, keepKeys } from "./dom.js";
import { legendKey, legendOf } from "./legend.js";
import { ARROW_WORDS, buildPage } from "./page.js";
import { Player } from "./player.js";
import { listenToKeys, listenToOverview, listenToRows } from "./interact.js";
import { NAMES, download, pngOf } from "./save.js";

// The view: what is in sight, selected, followed, measured and played, and when it is drawn again.

const NEXT_ARROWS = { auto: "on", on: "off", off: "auto" };

/** The timeline of a model inside an element. save: (kind) asks Python for a file; null: no Python. */
export class TimelineView {
  constructor(holder, look, model, save = null) {
    this.look = look;
    this.brush = brushes(look.fonts);
    this.save = save;
    this.window = null; // [from, to] in sight; null: everything
    this.range = null;
    this.followed = null;
    this.selected = null; // { number, row, event }
    this.hovered = null;
    this.head = null;
    this.arrows = "auto";
    this.memory = {}; // what the overview keeps
    this.frame = 0;
    this.drawn = { rows: 0, count: 0 }; // ms and shapes of the last drawing
    Object.assign(this, buildPage(this));
    this.player = new Player(this);
    this.root.timeline = this; // for tests, and for what builds on the view
    holder.append(this.root);
    listenToRows(this.marks, this);
    listenToOverview(this.overview, this);
    listenToKeys(this.stage, this);
    keepKeys(this.root);
    this.watch();
    this.setModel(model);
  }

  // --- the page ---------------------------------------------------------------------------------

  watch() {
    this.observer = new ResizeObserver(() => {
      this.measureWidth();
      this.resize();
    });
    this.observer.observe(this.root);
    this.unfollow = followTheme((dark) => this.setTheme(dark));
  }

  destroy() {
    this.observer.disconnect();
    this.unfollow();
    cancelAnimationFrame(this.frame);
    this.player.stop();
    this.root.remove();
  }

  setTheme(dark) {
    this.theme = this.look.themes[dark ? "dark" : "light"];
    this.root.dataset.theme = this.theme.name;
    for (const name of ["background", "text", "muted", "grid", "band"]) {
      this.root.style.setProperty(`--lab-${name}`, this.theme[name]);
    }
    if (this.model) {
      this.showLegend();
      this.redraw();
    }
  }

  // --- the model --------------------------------------------------------------------------------

  /** Show another model; what was in sight stays in sight, as far as it is there. */
  setModel(model) {
    this.player.stop();
    const before = this.selected && actionOf(this.model.parts[this.selected.number], this.selected.event);
    const number = this.selected?.number;
    this.model = model;
    this.selected = this.hovered = this.head = this.tipOf = null;
    this.tip.hidden = true;
    if (before) this.selected = selectionOf(model, number, before);
    if (this.window && this.window[1] > model.duration) this.window = null;
    if (this.range && this.range[1] > model.duration) this.range = null;
    this.numbers = null;
    this.title.textContent = model.title;
    this.stage.setAttribute("aria-label", `${model.alt} Press ? for the keys.`);
    this.showSaving();
    this.showLegend();
    this.showStatus();
    this.arrowButton.hidden = !model.parts.some((part) => part.send.length); // no message, no arrow
    if (!this.width) this.measureWidth();
    this.resize(true);
  }

  showSaving() {
    const kinds = this.save ? Object.keys(NAMES) : ["png"];
    const able = kinds.filter((kind) => kind !== "json" || this.model.parts.length === 1);
    if (this.able?.join() === able.join()) return;
    this.able = able;
    this.saveButtons.replaceChildren("save ", ...able.map((kind) =>
      button(`save as ${NAMES[kind]}`, "", () => this.saveAs(kind), NAMES[kind])));
  }

  async saveAs(kind) {
    if (this.save) return this.save(kind);
    this.draw();
    download("png", await pngOf([this.overview, this.rows, this.axisCanvas], this.theme.background));
  }

  showLegend() {
    const key = `${this.theme.name}: ${legendKey(this.model)}`;
    if (this.legendIs === key) return;
    this.legendIs = key;
    this.legend.replaceChildren(...legendOf(this.model, this.theme, this.brush));
  }

  // --- drawing ----------------------------------------------------------------------------------

  /** Kept, because to ask for it after a change makes the browser lay out the whole notebook. */
  measureWidth() {
    const style = getComputedStyle(this.root);
    const padding = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
    this.width = Math.max(0, Math.floor(this.root.clientWidth - padding));
  }

  resize(now = false) {
    if (this.width < 60 || !this.model) return; // not on the page yet
    this.layout = layOut(this.model, this.width, (text, size) => this.brush.width(text, size));
    this.sheet.style.height = `${this.layout.height}px`;
    if (now) this.draw();
    else this.redraw();
  }

  axis() {
    const [from, to] = this.window ?? [0, this.model.duration || 1e-6];
    return axisOf(this.layout, from, to);
  }

  /** Draw everything at the next frame, once, however often it is asked for. */
  redraw() {
    this.wanted = true;
    this.frame ||= requestAnimationFrame(() => this.drawFrame());
  }

  redrawMarks() {
    this.frame ||= requestAnimationFrame(() => this.drawFrame());
  }

  drawFrame() {
    this.frame = 0;
    if (this.wanted) this.draw();
    else if (this.layout) this.drawMarksNow();
  }

  /** Draw everything now. */
  draw() {
    this.wanted = false;
    if (!this.layout) return;
    const began = performance.now(), { width, height } = this.layout;
    if (!this.numbers) {
      const [a, b] = this.range ?? [0, this.model.duration];
      this.numbers = this.model.parts.map((part) => numbersIn(part, a, b));
      showNumbers(this.table, this.model, this.numbers, this.range);
    }
    const scene = this.scene();
    this.drawn.count = drawRows(sharp(this.rows, width, height), scene);
    drawAxis(sharp(this.axisCanvas, width, 36), scene);
    drawOverview(sharp(this.overview, width, OVERVIEW), scene, this.range, this.memory);
    this.drawMarksNow();
    this.drawn.rows = performance.now() - began;
  }

  drawMarksNow() {
    const { width, height } = this.layout;
    drawMarks(sharp(this.marks, width, height), this.scene(), {
      hover: this.hovered, selected: this.selected, range: this.range, head: this.head,
    });
  }

  scene() {
    const { model, layout, theme, look, brush, followed, arrows, numbers } = this;
    return { model, layout, theme, look, brush, followed, arrows, numbers, axis: this.axis() };
  }

  // --- in sight ---------------------------------------------------------------------------------

  focus() {
    this.stage.focus({ preventScroll: true });
  }

  focused() {
    return this.stage.contains(document.activeElement);
  }

  lookAt(from, to) {
    const all = this.model.duration || 1e-6, least = Math.max(all * 1e-6, 1e-9);
    const size = Math.min(Math.max(to - from, least), all);
    from = Math.min(Math.max(from, 0), all - size);
    this.window = size >= all ? null : [from, from + size];
    this.redraw();
  }

  moveTo(from) {
    const { from: a, to: b } = this.axis(), size = b - a;
    from = Math.min(Math.max(from, 0), (this.model.duration || 1e-6) - size);
    this.lookAt(from, from + size);
  }

  /** Zoom by a factor; the time `at` stays where it is, left out: the play head, or the middle. */
  zoom(by, at) {
    const { from, to } = this.axis();
    const inSight = [this.head, this.selectedTime()].find((t) => t !== null && from <= t && t <= to);
    at ??= inSight ?? (from + to) / 2;
    this.lookAt(at - (at - from) / by, at + (to - at) / by);
  }

  fit() {
    this.window = null;
    this.redraw();
  }

  zoomToRange() {
    if (this.range) this.lookAt(...this.range);
  }

  // --- what is found ----------------------------------------------------------------------------

  hover(found, event) {
    this.hovered = found;
    this.tip.hidden = !found;
    if (found) {
      const words = inWords(found, this.look.causes);
      this.hovered = { ...found, event: words.event };
      this.tip.replaceChildren(...told(words));
      const box = this.root.getBoundingClientRect();
      const left = event.clientX - box.left + 16, room = box.width - this.tip.offsetWidth - 6;
      this.tip.style.left = `${Math.max(4, Math.min(left, room))}px`;
      this.tip.style.top = `${event.clientY - box.top + 18}px`;
    }
    this.redrawMarks();
  }

  /** A click: select what is there, and follow its micro-batch, or stop following it. */
  pick(found) {
    if (!found || found.event < 0) {
      this.selected = null;
      this.followed = null;
      this.showStatus(found && inWords(found, this.look.causes));
    } else {
      const micro = factOf(found.part, "micro_batch", found.event) ?? null;
      this.followed = micro === this.followed ? null : micro;
      this.select(found.number, found.event);
    }
    this.redraw();
  }

  select(number, event) {
    const part = this.model.parts[number], { from, to } = this.axis();
    this.selected = { number, row: part.rank[event], event };
    const [a, b] = [part.start[event], part.end[event]];
    if (b > to || a < from) this.moveTo((a + b) / 2 - (to - from) / 2);
    const lane = this.layout.parts[number].rows[part.rank[event]];
    if (lane.top < this.scroll.scrollTop || lane.bottom > this.scroll.scrollTop + this.scroll.clientHeight) {
      this.scroll.scrollTop = lane.top - 40;
    }
    this.showStatus();
    this.redraw();
  }

  selectedTime() {
    return this.selected && this.model.parts[this.selected.number].start[this.selected.event];
  }

  /** The next action of the rank (by 1) or the one before (by -1). */
  step(by) {
    if (!this.selected) return this.changeRank(0);
    const { number, row, event } = this.selected, part = this.model.parts[number];
    const next = stepFrom(part, row, event, by);
    if (next >= 0) this.select(number, next);
  }

  /** The action of the rank above or below that is nearest in time. */
  changeRank(by) {
    const rows = this.model.parts.flatMap((part, number) => part.ranks.map((_, row) => [number, row]));
    const time = this.selectedTime() ?? this.head ?? this.axis().from;
    let place = this.selected
      ? rows.findIndex(([number, row]) => number === this.selected.number && row === this.selected.row) + by
      : 0;
    for (; place >= 0 && place < rows.length; place += by || 1) {
      const [number, row] = rows[place];
      const event = stepNear(this.model.parts[number], row, time);
      if (event >= 0) return this.select(number, event);
    }
  }

  followSelected() {
    if (!this.selected) return;
    const { number, event } = this.selected;
    const micro = factOf(this.model.parts[number], "micro_batch", event) ?? null;
    this.followed = micro === this.followed ? null : micro;
    this.showStatus();
    this.redraw();
  }

  clear() {
    this.player.stop();
    this.selected = this.followed = this.head = null;
    this.measure(null);
    this.showStatus();
  }

  showStatus(words = null) {
    const chosen = this.selected;
    if (chosen) {
      const part = this.model.parts[chosen.number];
      words = inWords({ part, row: chosen.row, event: chosen.event }, this.look.causes);
    }
    this.status.replaceChildren(...(words ? told(words) : ["Point at a box, or press it, to read about it."]));
    if (this.followed !== null) {
      this.status.append(element("p", { class: "lab-followed" },
        `Micro-batch ${this.followed} is followed through the stages. Esc: all again.`));
    }
  }

  // --- the range and the play head --------------------------------------------------------------

  /** Measure from a to b (in either order); null: the whole time. */
  measure(a, b) {
    const limit = (t) => Math.min(Math.max(t, 0), this.model.duration);
    const range = a === null ? null : [limit(Math.min(a, b)), limit(Math.max(a, b))];
    this.range = range && range[1] > range[0] ? range : null;
    this.numbers = null;
    this.redraw();
  }

  /** Let the range start (0) or end (1) at the play head, or at the selected action. */
  rangeEdge(which) {
    const chosen = this.selected && this.model.parts[this.selected.number];
    const at = this.head ?? (chosen && (which ? chosen.end : chosen.start)[this.selected.event]);
    if (at === null) return;
    const range = [...(this.range ?? [0, this.model.duration])];
    range[which] = at;
    this.measure(...range);
  }

  play() {
    this.player.toggle();
  }

  faster(by) {
    this.player.faster(by);
  }

  turnArrows() {
    this.arrows = NEXT_ARROWS[this.arrows];
    this.arrowButton.textContent = ARROW_WORDS[this.arrows];
    this.redraw();
  }

  turnHelp() {
    this.keys.hidden = !this.keys.hidden;
  }
}

/** What was found, as elements: title, why, facts. */
function told({ title, facts, why }) {
  return [
    element("strong", {}, title),
    ...(why ? [element("p", { class: "lab-why" }, why)] : []),
    element("dl", {}, ...facts.map(([name, text]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, text)))),
  ];
}

/** The same action (rank and index) in another model; null where it has none. */
function selectionOf(model, number, action) {
  const part = model.parts[number], row = part?.ranks.indexOf(action.rank) ?? -1;
  const event = part?.actions[row]?.[action.index];
  return event === undefined ? null : { number, row, event };
}
