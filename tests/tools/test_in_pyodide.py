"""What `node tools/in_pyodide.mjs` takes from other files, without a Node: or it can't start."""

import re
import sys
from pathlib import Path

from pages.vendored import PACKAGES

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "tools/in_pyodide.mjs").read_text(encoding="utf-8")


def test_it_finds_the_sites_pyodide():
    pattern = re.search(r"= /(.+)/\.exec\(facts\)", TEXT)[1]
    facts = (ROOT / "tools/pages/vendored.py").read_text(encoding="utf-8")
    version, digest = re.search(pattern, facts).groups()
    assert PACKAGES[f"pyodide/-/pyodide-{version}"][0] == digest


def test_what_it_runs_imports_what_is_there():
    left = re.search(r"ELSEWHERE = /(.+)/;", TEXT)[1]
    for name in re.search(r'PURE = "(.+)"', TEXT)[1].split():
        texts = [
            path.read_text("utf-8") for path in (ROOT / "tests/helpers" / name).glob("test_*.py")
        ]
        assert texts, name
        texts = [text for text in texts if not re.search(left, text)]
        for text in texts:
            found = re.findall(r"^(?:from|import) ([\w.]+)", text, re.M)
            for shared in (name for name in found if name.startswith("tests.")):
                texts.append((ROOT / f"{shared.replace('.', '/')}.py").read_text("utf-8"))
                assert not re.search(left, texts[-1]), shared
            others = {name.partition(".")[0] for name in found} - sys.stdlib_module_names
            assert not others - {"helpers", "bench", "pytest", "tests"}, others
