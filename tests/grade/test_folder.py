import os

import pytest

from helpers.grade.folder import Content, FolderError, write_folder
from helpers.grade.tracked import MARKER

FILES = {"a.txt": Content(b"a"), "lab/run.sh": Content(b"b", executable=True)}


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_writes_files_and_marker_and_nothing_else(tmp_path):
    out = tmp_path / "deep" / "out"
    write_folder(out, FILES)
    assert sorted(contents(out)) == [MARKER, "a.txt", "lab/run.sh"]
    assert list(out.parent.iterdir()) == [out]
    if os.name == "posix":
        assert os.access(out / "lab/run.sh", os.X_OK)
        assert not os.access(out / "a.txt", os.X_OK)


def test_is_the_same_each_time(tmp_path):
    for name in ("one", "two"):
        write_folder(tmp_path / name, FILES if name == "one" else dict(reversed(FILES.items())))
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_replaces_what_it_wrote(tmp_path):
    out = tmp_path / "out"
    write_folder(out, FILES)
    (out / ".venv").mkdir()
    write_folder(out, {"b.txt": Content(b"b")})
    assert sorted(contents(out)) == [MARKER, "b.txt"]
    assert list(tmp_path.iterdir()) == [out]


def test_takes_an_empty_folder(tmp_path):
    (tmp_path / "out").mkdir()
    write_folder(tmp_path / "out", FILES)
    assert "a.txt" in contents(tmp_path / "out")


@pytest.mark.parametrize("marker", [None, "", "[]", '{"files": 3}'])
@pytest.mark.parametrize("force", [False, True])
def test_never_replaces_a_folder_of_somebody_else(tmp_path, marker, force):
    (tmp_path / "thesis.txt").write_bytes(b"years of work")
    if marker is not None:
        (tmp_path / MARKER).write_text(marker)
    before = contents(tmp_path)
    with pytest.raises(FolderError, match="was not written by this program"):
        write_folder(tmp_path, FILES, force)
    assert contents(tmp_path) == before


def test_work_in_it_is_kept_unless_forced(tmp_path):
    out = tmp_path / "out"
    write_folder(out, FILES)
    (out / "a.txt").write_bytes(b"my solution")
    with pytest.raises(FolderError, match="a.txt has been changed since it was written"):
        write_folder(out, FILES)
    assert (out / "a.txt").read_bytes() == b"my solution"
    write_folder(out, FILES, force=True)
    assert (out / "a.txt").read_bytes() == b"a"


def test_a_file_in_its_place(tmp_path):
    (tmp_path / "out").write_text("x")
    with pytest.raises(FolderError, match="out is no folder: name another with --out"):
        write_folder(tmp_path / "out", FILES)


def test_a_failure_on_the_way_leaves_the_old_folder(tmp_path):
    out = tmp_path / "out"
    write_folder(out, FILES)
    before = contents(out)
    # A file cannot stand where a folder must be: like a full disk, it stops the writing midway.
    with pytest.raises(FolderError, match="could not be written and is as it was before"):
        write_folder(out, {"a": Content(b""), "a/b": Content(b"")})
    assert contents(out) == before
    assert list(tmp_path.iterdir()) == [out]
