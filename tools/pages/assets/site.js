// On every page: keep the site for a visit without a network. With little room, on a phone or with
// data saving, only what was looked at.

async function keep() {
  const workers = navigator.serviceWorker;
  await workers?.register(`${document.body.dataset.up}sw.js`);
  const small = navigator.connection?.saveData || navigator.connection?.type === "cellular"
    || matchMedia("(max-width: 640px)").matches;
  const seen = [location.href, ...performance.getEntriesByType("resource").map((one) => one.name)];
  (await workers?.ready)?.active.postMessage(small ? seen : "keep the site");
}

addEventListener("load", () => keep().catch(() => { /* opened from a file, or forbidden: it works, but only online */ }));

// What is wider than its place can be scrolled by keys, in each browser.
const wide = () => document.querySelectorAll("pre, table, .picture, .shown, math[display=block]").forEach((one) => {
  if (one.scrollWidth > one.clientWidth + 1) one.tabIndex = 0;
  else one.removeAttribute("tabindex");
});
for (const what of ["load", "resize", "toggle"]) addEventListener(what, wide, true);
