"""What a student has written since a notebook imported it takes its place, under every name."""

import importlib
import sys

from helpers.skipped import load_again

BEFORE = """
from helpers.skipped import task


def helped(x):
    return "as before"


class Pipe:
    @task("X-1")
    def run(self):
        raise NotImplementedError("Task X-1: run")

    @staticmethod
    @task("X-1")
    def half(x):
        raise NotImplementedError("Task X-1: half")


@task("X-2")
def work():
    raise NotImplementedError("Task X-2: work")
"""
AFTER = """
from math import sqrt
from helpers.skipped import task


def helped(x):
    return x


def twice(x):
    return 2 * sqrt(x)


class Pipe:
    @task("X-1")
    def run(self):
        return work()

    @staticmethod
    @task("X-1")
    def half(x):
        return twice(x) / 4


def work():  # its decorator has gone
    return helped(twice(4.0))
"""


def test_a_function_that_was_imported_by_name_does_the_new_thing(tmp_path, monkeypatch):
    path = tmp_path / "work_of_a_student.py"
    path.write_text(BEFORE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("work_of_a_student")
    work, pipe, half = module.work, module.Pipe(), module.Pipe.half
    path.write_text(AFTER, encoding="utf-8")
    load_again(path)
    assert work() == pipe.run() == module.twice(4.0) == 4.0
    assert half(4.0) == module.Pipe.half(4.0) == 1.0
    del sys.modules["work_of_a_student"]


def test_what_was_never_imported_is_left_alone(tmp_path):
    path = tmp_path / "never_imported.py"
    path.write_text("raise RuntimeError", encoding="utf-8")
    load_again(path)
