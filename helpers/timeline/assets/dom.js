// Making elements, and the parts of the widget's page.

/** element("p", { class: "x", onclick: f }, "text", child, …) */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

const ICONS = {
  play: "M4 2.5v11l9-5.5z",
  pause: "M4 2.5h3v11H4zM9 2.5h3v11H9z",
  plus: "M7 3h2v4h4v2H9v4H7V9H3V7h4z",
  minus: "M3 7h10v2H3z",
  fit: "M2 3h1.6v10H2zM12.4 3H14v10h-1.6zM4.5 8l2.6-2.4v1.6h1.8V5.6L11.5 8 8.9 10.4V8.8H7.1v1.6z",
  range: "M3 3h1.6v10H3zM11.4 3H13v10h-1.6zM5.6 7.2h4.8v1.6H5.6z",
};

/** A small picture for a button, in the color of its text. */
export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg"), path = document.createElementNS(space, "path");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** A button with its key in its hint. */
export function button(label, key, act, ...content) {
  const hint = key ? `${label} (${key})` : label;
  return element("button", { type: "button", title: hint, "aria-label": label, onclick: act }, ...content);
}

/** Keep keys from the notebook around the widget: it takes the focus back to a cell on every key
    that it hears, and some letters are its shortcuts. Keys with Ctrl or Cmd are for the page. */
export function keepKeys(root) {
  root.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (!event.ctrlKey && !event.metaKey) return;
    const taken = !document.body.dispatchEvent(new KeyboardEvent("keydown", event));
    if (taken) event.preventDefault();
  });
}

/** Call act(dark) now, and whenever the theme changes: JupyterLab's, or else the system's. Gives a
    function that ends it. */
export function followTheme(act) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const tell = () => {
    const said = document.body.dataset.jpThemeLight;
    act(said === undefined ? system.matches : said === "false");
  };
  const themes = new MutationObserver(tell);
  themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
  system.addEventListener("change", tell);
  tell();
  return () => {
    themes.disconnect();
    system.removeEventListener("change", tell);
  };
}

export const KEYS = [
  ["← →", "move"], ["+ −", "zoom"], ["0", "all of it"], ["Home End", "start, end"],
  [". ,", "next, previous action of the rank"], ["↑ ↓", "the rank above, below"],
  ["Enter", "follow its micro-batch; again: all"], ["Esc", "clear"],
  ["Space", "play, stop"], ["< >", "slower, faster"], ["[ ]", "range starts, ends at the play head or the action"],
  ["Z", "zoom into the range"], ["A", "arrows: few, all, none"], ["?", "this list"],
];

/** The line that is always there: what mouse and keys do. */
export function helpLine() {
  const words = [
    ["drag", "move"], ["wheel", "zoom"], ["Shift + drag", "measure a range"],
    ["click", "follow a micro-batch"], [". ,", "step"], ["Space", "play"], ["?", "all keys"],
  ];
  return element("p", { class: "lab-help" }, ...words.flatMap(([key, what]) => [
    element("span", {}, element("kbd", { class: "lab-key" }, key), ` ${what}`), " ",
  ]));
}

/** The list of all keys. */
export function keyList() {
  return element("dl", { class: "lab-keys", hidden: true }, ...KEYS.flatMap(([keys, what]) => [
    element("div", {}, element("dt", {}, ...keys.split(" ").map((key) => element("kbd", { class: "lab-key" }, key))),
      element("dd", {}, what)),
  ]));
}
