import { button, element, helpLine, icon, keyList } from "./dom.js";

// The page of a view: its elements, from the title to the help. What they do is the view's.

export const SPEEDS = [0.125, 0.25, 0.5, 1, 2, 4, 8];
export const ARROW_WORDS = { auto: "arrows: few", on: "arrows: all", off: "arrows: none" };

/** All elements of a timeline by their names; `root` holds them. */
export function buildPage(view) {
  const canvas = (name) => element("canvas", { class: name });
  const page = {
    title: element("p", { class: "lab-title" }),
    panel: element("div", { class: "lab-panel" }),
    ...buildTools(view),
    overview: element("canvas", {
      class: "lab-overview", role: "img",
      "aria-label": "The whole time; drag to measure a range, click to look there",
    }),
    rows: canvas("lab-rows"),
    marks: canvas("lab-marks"),
    axisCanvas: canvas("lab-axis"),
    legend: element("div", { class: "lab-legend" }),
    status: element("div", { class: "lab-status", "aria-live": "polite" }),
    table: element("table", { class: "lab-numbers" }),
    keys: keyList(),
    tip: element("div", { class: "lab-tip", hidden: true }),
  };
  page.sheet = element("div", { class: "lab-sheet" }, page.rows, page.marks);
  page.scroll = element("div", { class: "lab-scroll" }, page.sheet);
  page.stage = element("div", { class: "lab-stage", tabindex: "0", role: "application" },
    page.scroll, page.axisCanvas);
  page.root = element("section", {
    class: "lab-timeline", "data-lm-suppress-shortcuts": "true", "aria-label": "timeline",
  }, page.title, page.panel, page.tools, page.overview, page.stage, page.legend, page.status,
  element("div", { class: "lab-wide", tabindex: "0" }, page.table), helpLine(), page.keys, page.tip);
  return page;
}

function buildTools(view) {
  const playButton = button("play", "Space", () => view.play(), icon("play"));
  const speedList = element("select", {
    "aria-label": "speed of the play head",
    onchange: (event) => view.player.setSpeed(Number(event.target.value)),
  }, ...SPEEDS.map((speed) => element("option", { value: speed, selected: speed === 1 }, `${speed}×`)));
  const arrowButton = button("arrows", "A", () => view.turnArrows(), ARROW_WORDS.auto);
  arrowButton.removeAttribute("aria-label"); // its words say more
  const saveButtons = element("span", { class: "lab-save" });
  const tools = element("div", { class: "lab-tools", role: "toolbar", "aria-label": "timeline tools" },
    playButton, speedList,
    button("zoom in", "+", () => view.zoom(1.5), icon("plus")),
    button("zoom out", "−", () => view.zoom(1 / 1.5), icon("minus")),
    button("show all", "0", () => view.fit(), icon("fit")),
    button("zoom into the range", "Z", () => view.zoomToRange(), icon("range")),
    arrowButton, saveButtons,
    button("all keys", "?", () => view.turnHelp(), "?"));
  return { tools, playButton, speedList, arrowButton, saveButtons };
}
