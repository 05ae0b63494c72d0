// What the timeline and the game share; it stands before either of them in one module.

export function element(name, className, parent, text = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  parent.append(made);
  return made;
}

/** Ticks at 1, 2 or 5 times a power of ten. */
export function ticks(from, to, most) {
  const raw = (to - from) / Math.max(most, 1), power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((each) => each * power >= raw * (1 - 1e-9)), found = [];
  for (let n = Math.ceil(from / step); n * step <= to * (1 + 1e-9); n++) found.push(n * step);
  return found.map((each) => Number(each.toPrecision(12)));
}

/** Keep keys from the notebook, which has shortcuts of its own; those with Ctrl still reach it. */
export function keepKeys(root) {
  root.addEventListener("keydown", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
  });
}

/**
 * Show a widget on a page without a kernel; the model that's returned holds its state.
 * changed(state): is told what the widget has changed.
 */
export function mountWidget(render, el, state, changed = () => {}) {
  const heard = new Map();
  const model = {
    get: (name) => state[name],
    set: (name, value) => {
      state[name] = value;
      heard.get(`change:${name}`)?.forEach((tell) => tell());
    },
    on: (name, tell) => heard.set(name, [...(heard.get(name) ?? []), tell]),
    off: () => heard.clear(),
    save_changes: () => changed(state),
  };
  render({ model, el });
  return model;
}
