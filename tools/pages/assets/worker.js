// The lab's Python, in a thread that a page can end. One question, one answer.

import { loadPyodide } from "./engine/pyodide.mjs";

// Says how much of Python is here, as it comes. SIZE: of all that is fetched below.
// LAB: the version of the lab's own part, so that a browser can't take an older one from its cache.
const plain = globalThis.fetch;
let loaded = 0, told = 0;
globalThis.fetch = async (...what) => {
  const answer = await plain(...what);
  if (!answer.ok || !answer.body) return answer;
  const counted = answer.body.pipeThrough(new TransformStream({
    transform(part, next) {
      loaded += part.byteLength;
      if (loaded - told > SIZE / 50 || loaded >= SIZE) postMessage({ loaded: Math.min(1, (told = loaded) / SIZE) });
      next.enqueue(part);
    },
  }));
  return new Response(counted, { headers: answer.headers });
};

const starting = (async () => {
  const [py, lab] = await Promise.all([
    loadPyodide({ indexURL: new URL("./engine/", import.meta.url).href }),
    fetch(new URL(`./engine/lab.zip?${LAB}`, import.meta.url)).then((answer) => {
      if (!answer.ok) throw new Error("its files are missing");
      return answer.arrayBuffer();
    }),
  ]);
  py.unpackArchive(lab, "zip", { extractDir: "/lab" });
  py.runPython("import os, sys\nos.chdir('/lab')\nsys.path[:0] = ['/lab', '/lab/puzzles']\nfrom in_browser import answered");
  return py.globals.get("answered");
})();

const broken = (error) => postMessage({ broken: error.message ?? String(error) });
starting.then(() => postMessage({ ready: true }), broken);
addEventListener("unhandledrejection", (event) => { // the loader waits forever for a file that doesn't come
  event.preventDefault();
  broken(event.reason);
});

onmessage = async ({ data: { id, question } }) => {
  try {
    const answered = await starting;
    postMessage({ id, said: JSON.parse(answered(JSON.stringify(question))) });
  } catch (error) {
    // What isn't an exception of Python has ended it: no later question has an answer.
    const over = error.name !== "PythonError";
    const line = error.message.split("\n").filter(Boolean).at(-1);
    postMessage({ id, over, failed: over ? `Python ended: ${error.message}` : line });
  }
};
