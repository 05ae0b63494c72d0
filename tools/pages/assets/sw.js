// Keeps the pages at the first visit, and the Python once a page has started it.

const KEPT = `lab-${VERSION}`;
// Past the browser's own cache: what lies there may be of the version before this one.
const fresh = (name) => new Request(name, { cache: "reload" });

addEventListener("install", (event) => {
  event.waitUntil(caches.open(KEPT).then((cache) => cache.addAll(FILES.pages.map(fresh)))
    .then(() => skipWaiting()));
});

addEventListener("activate", (event) => {
  event.waitUntil((async () => {
    for (const name of await caches.keys()) {
      if (name.startsWith("lab-") && name !== KEPT) await caches.delete(name);
    }
    await clients.claim();
  })());
});

addEventListener("message", (event) => {
  if (event.data !== "keep the engine") return;
  event.waitUntil(caches.open(KEPT).then(async (cache) => {
    for (const name of FILES.engine) {
      if (!(await cache.match(name))) await cache.add(fresh(name));
    }
    event.source?.postMessage("kept");
  }));
});

addEventListener("fetch", (event) => {
  if (event.request.method !== "GET" || new URL(event.request.url).origin !== location.origin) return;
  event.respondWith((async () => {
    const kept = await caches.match(event.request, { ignoreSearch: true });
    if (kept) return kept;
    const part = event.request.url.includes("/engine/"); // large, and worker.js names its version
    return part ? fetch(event.request) : fetch(event.request, { cache: "no-cache" });
  })());
});
