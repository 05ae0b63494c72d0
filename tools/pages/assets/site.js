// On every page: keep the site for a visit without a network.

async function keep() {
  await navigator.serviceWorker?.register(`${document.body.dataset.up}sw.js`);
}

keep().catch(() => { /* a page opened from a file, or a browser that forbids it: the site works, but only online */ });
