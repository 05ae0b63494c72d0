// Keeps the site for a visit without a network: each file as this version has it, or not at all.

const KEPT = `lab-${VERSION}`; // FILES: {name: the begin of its SHA-256}; "./" is the first page
const nameOf = (url) => url.split(/[?#]/)[0].slice(registration.scope.length) || "./";
// Without these nothing works; the lessons, their pictures and Python come when they're asked for.
const FIRST = Object.keys(FILES).filter((name) => !/^(lessons|engine)\/|search\.json/.test(name));

/** Fetch a file past the browser's own cache, which may have an older one, and keep it. */
async function keep(name) {
  const cache = await caches.open(KEPT);
  if (!FILES[name] || await cache.match(name)) return;
  await put(cache, name, await fetch(name, { cache: "reload" }));
}

async function put(cache, name, answer) {
  const bytes = await answer.clone().arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const hex = Array.from(digest.slice(0, 8), (byte) => byte.toString(16).padStart(2, "0")).join("");
  if (hex !== FILES[name]) throw new Error(`${name} is of another version`);
  await cache.put(name, answer);
}

addEventListener("install", (event) => {
  event.waitUntil(Promise.all(FIRST.map(keep)).then(() => skipWaiting()));
});

addEventListener("activate", (event) => {
  event.waitUntil((async () => {
    for (const name of await caches.keys()) {
      if (name.startsWith("lab-") && name !== KEPT) await caches.delete(name);
    }
    await clients.claim();
  })());
});

// "the site": all but Python. "the engine": that. A list: what a page has loaded.
addEventListener("message", (event) => {
  const { data, source } = event;
  const engine = data === "keep the engine", all = Object.keys(FILES);
  const names = Array.isArray(data) ? data.map(nameOf) : all.filter((name) => name.startsWith("engine/") === engine);
  event.waitUntil((async () => {
    for (const name of names) await keep(name);
    if (engine) source?.postMessage("kept");
  })());
});

addEventListener("fetch", (event) => {
  const { request } = event, name = nameOf(request.url);
  if (request.method !== "GET" || !request.url.startsWith(registration.scope)) return;
  event.respondWith((async () => {
    const cache = await caches.open(KEPT), kept = await cache.match(name);
    if (kept) return kept;
    const part = name.startsWith("engine/"); // large, and worker.js names its version
    const answer = await (part ? fetch(request) : fetch(request, { cache: "no-cache" }));
    if (FILES[name] && !part && answer.ok) event.waitUntil(put(cache, name, answer.clone()).catch(() => {}));
    return answer;
  })());
});
