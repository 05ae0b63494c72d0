// On every page: keep the site for a visit without a network.

if ("serviceWorker" in navigator) {
  navigator.serviceWorker.register(`${document.body.dataset.up}sw.js`).catch(() => {
    // A page opened from a file, or a browser that forbids it: the site works, but only online.
  });
}
