// What a browser remembers, and the number in what somebody typed.

const unkept = {}; // what the browser wouldn't keep, for as long as the page is there

/** What is kept under a name, as {key: value}. Other tabs write, too: so read it when it's needed. */
function keptNow(name) {
  const found = {};
  try {
    Object.assign(found, JSON.parse(localStorage.getItem(name))); // all in one: an older page's
  } catch { /* none, or it's broken */ }
  try {
    for (const one of Object.keys(localStorage)) {
      if (one.startsWith(`${name}/`)) found[one.slice(name.length + 1)] = JSON.parse(localStorage.getItem(one));
    }
  } catch { /* a private window has nothing */ }
  return Object.assign(found, unkept[name]);
}

export const kept = {
  read: keptNow,
  /** Keep one value. It has an item of its own, so that two tabs can't undo each other's work. */
  put(name, key, value) {
    try {
      localStorage.setItem(`${name}/${key}`, JSON.stringify(value));
      delete unkept[name]?.[key];
    } catch {
      (unkept[name] ??= {})[key] = value;
    }
  },
};

const TYPED = /^[-+]?(\d+(_\d+)*|\d{1,3}(,\d{3})+)?(\.\d*)?(e[-+]?\d+)?$/i;

/** The number in a text, which must be one; else an Error says what to write. */
export function numberIn(text) {
  const plain = text.trim().replace("−", "-"), number = Number(plain.replace(/[,_]/g, "") || NaN);
  if (/^[-+]?\d*,\d*$/.test(plain) && !TYPED.test(plain)) {
    throw new Error("Write a decimal point, as in 2.5: a comma stands between thousands, as in 12,500.");
  }
  if (!TYPED.test(plain) || !Number.isFinite(number)) throw new Error("Write a number, such as 12 or 0.5.");
  return number;
}
