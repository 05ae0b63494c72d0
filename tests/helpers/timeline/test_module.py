"""The JavaScript as one module: what the joining relies on."""

import re

from helpers.timeline.page import ASSETS, FILES, asset, module_text

NAMES = re.compile(
    r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+|\{[^}]*\}|\[[^\]]*\])", re.M
)
IMPORTS = re.compile(r'^import \{([^}]*)\} from "\./([\w.]+)";$', re.M)


def test_every_script_is_joined_or_belongs_to_the_saved_page():
    assert {path.name for path in ASSETS.glob("*.js")} == {*FILES, "standalone.js"}


def test_no_name_is_given_twice():
    names = [name for file in (*FILES, "standalone.js") for name in NAMES.findall(asset(file))]
    twice = {name for name in names if names.count(name) > 1}
    assert not twice and len(names) > 60


def test_a_file_imports_only_what_a_file_before_it_exports():
    for place, file in enumerate(FILES):
        found = IMPORTS.findall(asset(file))
        assert asset(file).count("\nimport ") + asset(file).startswith("import ") == len(found), (
            file
        )
        for names, source in found:
            assert source in FILES[:place], f"{file} imports {source}, which stands after it"
            for name in re.findall(r"\w+", names):
                assert re.search(
                    rf"^export (?:function|const|class) {name}\b", asset(source), re.M
                ), name


def test_the_module_has_one_export_and_no_import():
    text = module_text()
    assert re.findall(r"^export .*", text, re.M) == ["export default { render };"]
    assert not re.search(r"^\s*import\b", text, re.M)


def test_nothing_is_fetched():
    for path in ASSETS.iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|//cdn|@import|url\(|fetch\(|XMLHttpRequest", text), (
            path.name
        )
