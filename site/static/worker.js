// The lab's Python, in a thread that a page can end. One question, one answer.

import { loadPyodide } from "./engine/pyodide.mjs";

const starting = (async () => {
  const [python, lab] = await Promise.all([
    loadPyodide({ indexURL: new URL("./engine/", import.meta.url).href }),
    fetch(new URL("./lab.zip", import.meta.url)).then((answer) => answer.arrayBuffer()),
  ]);
  python.unpackArchive(lab, "zip", { extractDir: "/lab" });
  python.runPython("import sys\nsys.path.insert(0, '/lab')\nfrom in_browser import answered");
  return python.globals.get("answered");
})();
const broken = (error) => postMessage({ broken: error.message ?? String(error) });
starting.then(() => postMessage({ ready: true }), broken);
addEventListener("unhandledrejection", (event) => { // the loader waits forever for a missing file
  event.preventDefault();
  broken(event.reason);
});

onmessage = async ({ data: { id, question } }) => {
  try {
    postMessage({ id, said: JSON.parse((await starting)(JSON.stringify(question))) });
  } catch (error) {
    postMessage({ id, failed: error.message.split("\n").filter(Boolean).at(-1) });
  }
};
