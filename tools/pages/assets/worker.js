// The lab's Python, in a thread that a page can end. One question, one answer.

import { loadPyodide } from "./engine/pyodide.mjs";

const starting = (async () => {
  const [py, lab] = await Promise.all([
    loadPyodide({ indexURL: new URL("./engine/", import.meta.url).href }),
    fetch(new URL("./engine/lab.zip", import.meta.url)).then((answer) => answer.arrayBuffer()),
  ]);
  py.unpackArchive(lab, "zip", { extractDir: "/lab" });
  py.runPython("import os, sys\nos.chdir('/lab')\nsys.path[:0] = ['/lab', '/lab/puzzles']\nfrom in_browser import answered");
  return py.globals.get("answered");
})();

starting.then(() => postMessage({ ready: true }), (error) => postMessage({ broken: String(error) }));

onmessage = async ({ data: { id, question } }) => {
  try {
    const answered = await starting;
    const pair = answered(JSON.stringify(question));
    const [text, bytes] = pair.toJs();
    pair.destroy();
    const body = new Uint8Array(bytes);
    postMessage({ id, said: JSON.parse(text), body }, [body.buffer]);
  } catch (error) {
    postMessage({ id, failed: String(error).split("\n").filter(Boolean).at(-1) });
  }
};
