// Run tests under the Python of a browser, which has no torch, no processes and no threads:
//
//     python -m pip install --target build/packages pytest
//     node tools/in_pyodide.mjs [FOLDER OR FILE OF tests/ …]
//
// Without a name: the packages of the site's pages that need nothing but Python. A file whose
// imports can't be had there is left out, by name. Pyodide is the one of the site, fetched once.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const engine = join(root, "build/pyodide");
const facts = readFileSync(join(root, "tools/pages/vendored.py"), "utf8");
const [, version, hash] = /"pyodide\/-\/pyodide-(.+)": \(\s+"(.+)",/.exec(facts);
const PURE = "trace draw waits cost schedules grid simulate search cluster timeline play";
const ELSEWHERE = /\b(torch|numpy|matplotlib|PIL|subprocess|playwright|simplellm|helpers\.(ranks|lesson)|helpers\.play\.widget|design)\b/;

function refuse(why) {
  console.error(why);
  process.exit(2);
}

function* files(place) {
  const path = join(root, "tests", place);
  if (!existsSync(path)) refuse(`there is no tests/${place}`);
  const names = place.endsWith(".py") ? [""] : readdirSync(path);
  for (const name of names.filter((n) => !n || /^test_.*\.py$/.test(n))) yield join(path, name);
}

const asked = process.argv.slice(2);
const pure = PURE.split(" ").map((name) => `helpers/${name}`);
const places = asked.length ? asked.map((name) => name.replace(/^tests\//, "")) : pure;
const all = places.flatMap((place) => [...files(place)]);
const read = (path) => (existsSync(path) ? readFileSync(path, "utf8") : "");
const needs = (path) => ELSEWHERE.test(read(path) + read(join(dirname(path), "conftest.py")));
const left = all.filter(needs);
const tests = all.filter((path) => !left.includes(path)).map((path) => path.slice(root.length + 1));
console.log(`left out: ${left.map((path) => path.slice(root.length + 1)).join(", ") || "nothing"}`);

if (!tests.length) refuse("none of these tests can run without what is installed elsewhere");
if (!existsSync(join(root, "build/packages/pytest")))
  refuse("pytest is missing: python -m pip install --target build/packages pytest");
await unpack();
const { loadPyodide } = await import(pathToFileURL(join(engine, "pyodide.mjs")));
const python = await loadPyodide({ indexURL: engine });
python.mountNodeFS("/lab", root);
python.globals.set("tests", tests);
process.exit(
  python.runPython(`
import os, sys
os.chdir("/lab")
sys.dont_write_bytecode = True
sys.path[:0] = ["/lab", "/lab/build/packages"]
import pytest
flags = ["-q", "-c", "/dev/null", "--rootdir=/lab", "--import-mode=importlib"]
print(sys.version)
elsewhere = "png or shows_images or trusts_nothing or this_machine"  # with matplotlib or torch
int(pytest.main([*flags, "-p", "no:cacheprovider", "-k", f"not ({elsewhere})", *tests]))
`),
);

async function unpack() {
  const archive = process.env.PYODIDE ?? join(root, `build/pyodide-${version}.tgz`);
  mkdirSync(engine, { recursive: true });
  if (!existsSync(archive)) {
    const answer = await fetch(`https://registry.npmjs.org/pyodide/-/pyodide-${version}.tgz`);
    if (!answer.ok) throw new Error(`${answer.url} answers ${answer.status}`);
    writeFileSync(archive, Buffer.from(await answer.arrayBuffer()));
  }
  const found = createHash("sha512").update(readFileSync(archive)).digest("base64");
  if (found !== hash) throw new Error(`${archive} isn't Pyodide ${version}: its hash differs. Remove it, and run this again`);
  execFileSync("tar", ["xzf", archive, "-C", engine, "--strip-components=1"]);
}
