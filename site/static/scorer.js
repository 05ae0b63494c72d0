// Sphinx has set up its search before this. A lesson ranks before everything else.
Scorer.score = ([name, , , , score]) => score + (name.startsWith("lessons/") ? 40 : 0);

// An excerpt is from the page's own sentences: not from its code, its results or its folds.
const textOf = Search.htmlToText;
Search.htmlToText = (html, anchor) => {
  const page = new DOMParser().parseFromString(html, "text/html");
  page.querySelectorAll("h1, .times, .cell, summary, math[display=block], footer").forEach((one) => one.remove());
  return textOf(page.documentElement.outerHTML, anchor);
};
