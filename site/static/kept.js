// What a browser remembers of a reader, as {key: value}; a private window forgets it.

export function kept(name) {
  try {
    return JSON.parse(localStorage.getItem(name)) ?? {};
  } catch {
    return {};
  }
}

/** Add to it what is new: another tab may have written meanwhile. */
export function keep(name, values) {
  try {
    localStorage.setItem(name, JSON.stringify({ ...kept(name), ...values }));
  } catch { /* nothing is kept */ }
}
