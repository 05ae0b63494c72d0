import { element } from "./dom.js";
import { bytesText, percent, timeText } from "./words.js";

// The numbers of a range of time, as a table with a row for each trace.

// [key, title, text of the numbers, what it means]
const COLUMNS = [
  ["duration", "time", (n) => timeText(n.duration),
    "from the first start to the last end, or of the range"],
  ["utilisation", "utilisation", (n) => percent(n.utilisation),
    "computing time over ranks × time"],
  ["bubbleTotal", "bubble, of all time", (n) => percent(n.bubbleTotal),
    "idle time over ranks × time: (p−1)/(m+p−1) for GPipe and 1F1B"],
  ["bubbleIdeal", "bubble, over computing", (n) => percent(n.bubbleIdeal),
    "idle time over computing time: (p−1)/m for GPipe and 1F1B"],
  ["waits", "waiting", (n) => percent(n.waits),
    "time in which a rank waits, and no message of its own is on the way, over ranks × time"],
  ["peak", "peak memory of a rank", (n) => (n.peak === null ? "–" : bytesText(n.peak)),
    "the largest value of any rank; each rank's own stands beside its strip"],
  ["messages", "messages", (n) => n.messages.toLocaleString("en-US"),
    "sent in this time"],
  ["bytes", "bytes sent", (n) => (n.bytes === null ? "–" : bytesText(n.bytes)),
    "in these messages"],
];

/** Fill the table: numbers of each part, and which range they are of. */
export function showNumbers(table, model, numbers, range) {
  const named = model.parts.length > 1;
  const which = range ? `${timeText(range[0])} to ${timeText(range[1])}` : "the whole time";
  table.replaceChildren(
    element("caption", { class: "lab-caption" }, `Numbers of ${which}`),
    element("thead", {}, element("tr", {},
      ...(named ? [element("th", { scope: "col" }, "")] : []),
      ...COLUMNS.map(([, title, , hint]) => element("th", { scope: "col", title: hint }, title)))),
    element("tbody", {}, ...numbers.map((each, k) => element("tr", {},
      ...(named ? [element("th", { scope: "row" }, model.parts[k].name)] : []),
      ...COLUMNS.map(([key, , text]) => element("td", { "data-key": key }, text(each)))))),
  );
}
