"""Cleaning removes what was built, and nothing that a person wrote."""

import clean


def test_what_is_built_goes_and_the_rest_stays(tmp_path):
    gone = ["build/student/a.py", "helpers/trace/__pycache__/x.pyc", "lab.egg-info/PKG-INFO"]
    stay = ["helpers/trace/a.py", ".venv/lib/__pycache__/y.pyc", ".git/config", "answers.ipynb"]
    for name in gone + stay:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    assert clean.main([], tmp_path) == 0
    assert not any((tmp_path / name).exists() for name in gone)
    assert all((tmp_path / name).exists() for name in stay)
    clean.main(["--all"], tmp_path)
    assert not (tmp_path / ".venv").exists()
    assert (tmp_path / "answers.ipynb").exists()
