import { element } from "./dom.js";
import { factOf } from "./model.js";
import { bytesText, percent, timeText } from "./words.js";

// The numbers of a range of time, as a table with a row for each trace.

const hasSizes = (part) => part.send.some((i) => factOf(part, "bytes", i) > 0);
const hasCollectives = (part) => part.kinds.some((look, number) => look.collective && part.occurs[number]);

// [key, title, text of the numbers, what it means, the traces of which it says anything]
const COLUMNS = [
  ["duration", "time", (n, part) => timeText(n.duration, part.unit),
    "from the first start to the last end, or of the range"],
  ["utilisation", "utilisation", (n) => percent(n.utilisation),
    "computing time over ranks × time"],
  ["bubbleTotal", "bubble, of all time", (n) => percent(n.bubbleTotal),
    "idle time over ranks × time: (p−1)/(m+p−1) for GPipe and 1F1B", (part) => part.pipeline],
  ["bubbleIdeal", "bubble, over computing", (n) => percent(n.bubbleIdeal),
    "idle time over computing time: (p−1)/m for GPipe and 1F1B", (part) => part.pipeline],
  ["communicates", "communicating", (n) => percent(n.communicates),
    "time in which a rank computes nothing and is in a collective that all have entered, over ranks × time",
    hasCollectives],
  ["waits", "waiting", (n) => percent(n.waits),
    "time in which a rank waits and doesn't compute, over ranks × time"],
  ["finished", "finished", (n) => percent(n.finished),
    "time in which a rank has nothing left to do, over ranks × time", (part) => part.finishes],
  ["peak", "peak memory of a rank", (n) => (n.peak === null ? "–" : bytesText(n.peak)),
    "the largest value of any rank; each rank's own stands beside its strip",
    (part) => part.memory.highest > 0],
  ["messages", "messages", (n) => n.messages.toLocaleString("en-US"),
    "sent in this time", (part) => part.send.length > 0],
  ["bytes", "bytes sent", (n) => (n.bytes === null ? "–" : bytesText(n.bytes)),
    "in these messages", hasSizes],
];

/** Fill the table: numbers of each part, and which range they are of. */
export function showNumbers(table, model, numbers, range) {
  const named = model.parts.length > 1;
  const columns = COLUMNS.filter(([, , , , says]) => !says || model.parts.some(says));
  const which = range ? range.map((time) => timeText(time, model.unit)).join(" to ") : "the whole time";
  table.replaceChildren(
    element("caption", { class: "lab-caption" }, `Numbers of ${which}`),
    element("thead", {}, element("tr", {},
      ...(named ? [element("th", { scope: "col" }, "")] : []),
      ...columns.map(([, title, , hint]) => element("th", { scope: "col", title: hint }, title)))),
    element("tbody", {}, ...numbers.map((each, k) => element("tr", {},
      ...(named ? [element("th", { scope: "row" }, model.parts[k].name)] : []),
      ...columns.map(([key, , text, , says]) => element("td", { "data-key": key },
        !says || says(model.parts[k]) ? text(each, model.parts[k]) : "–"))))),
  );
}
