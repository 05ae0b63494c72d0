"""The repository's address stands in one place, and pages follow from it."""

import shutil
from pathlib import Path

import address
import links

ROOT = Path(__file__).resolve().parents[2]


def copy(to: Path, url: str) -> None:
    for name in address.places(""):
        (to / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, to / name)
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    old = f'repository = "{address.address()}"'
    assert text.count(old) == 1
    (to / "pyproject.toml").write_text(text.replace(old, f'repository = "{url}"'), "utf-8")


def test_pages_follow_from_the_address_and_nothing_is_left_without_one(tmp_path):
    copy(tmp_path, "https://github.com/some/lab/")
    assert address.main(tmp_path) == 0
    readme, hosted, cff, project = (
        (tmp_path / name).read_text("utf-8") for name in address.places("")
    )
    assert "(https://github.com/some/lab/actions/workflows/tests.yml)" in readme
    assert "https://codespaces.new/some/lab" in hosted and "mybinder.org/v2/gh/some/lab" in hosted
    assert "\nrepository-code: https://github.com/some/lab\n# end" in cff
    assert '\n[project.urls]\nRepository = "https://github.com/some/lab"\n' in project
    copy_again = (tmp_path / "pyproject.toml").read_text("utf-8").replace("some/lab/", "")
    (tmp_path / "pyproject.toml").write_text(copy_again.replace("https://github.com/", ""), "utf-8")
    assert address.main(tmp_path) == 0
    for name in address.places(""):
        assert "some/lab" not in (tmp_path / name).read_text("utf-8")


def test_the_pages_here_are_those_of_the_address_here(tmp_path):
    copy(tmp_path, address.address())
    address.main(tmp_path)
    for name in address.places(""):
        assert (tmp_path / name).read_text("utf-8") == (ROOT / name).read_text("utf-8")


def test_addresses_are_found_as_people_write_them(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "[a](https://a.org/x#y), <https://b.org/>. See https://c.org/z. http://127.0.0.1:8888"
    )
    assert list(links.addresses([page])) == ["https://a.org/x", "https://b.org/", "https://c.org/z"]
