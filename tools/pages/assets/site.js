// What is wider than its place can be scrolled by keys, in each browser.
const wide = () => document.querySelectorAll("pre, table, .picture, .shown, math[display=block]").forEach((one) => {
  if (one.scrollWidth > one.clientWidth + 1) one.tabIndex = 0;
  else one.removeAttribute("tabindex");
});
for (const what of ["load", "resize", "toggle"]) addEventListener(what, wide, true);
