"""Submissions that are alike are reported, and honest ones are not."""

import zipfile

from helpers.grade import copies
from helpers.grade.copies import HOW, PUBLISHED, compared, form_of, pairs
from helpers.grade.submitted import submissions
from helpers.grade.task import load_task

LONG = '''
def add_one(number):
    """The number plus one."""
    # first the small ones
    total = 0
    for step in range(number):
        if step % 2 == 0:
            total += helper.value(step) * 2
        else:
            total -= helper.value(step) - 1
    shares = [total / (1 + part) for part in range(3)]
    return sum(shares) + max(shares) + 1
'''
RENAMED = LONG.replace("total", "x").replace("step", "i").replace("shares", "parts")
RENAMED = RENAMED.replace("# first the small ones", "# mine").replace("The number", "My number")
HONEST = """
def add_one(number):
    values = [helper.value(each) for each in range(number)]
    even, odd = sum(values[::2]), sum(value - 1 for value in values[1::2])
    total = 2 * even - odd
    best = max(total, total / 2, total / 3)
    return 1 + best + total + total / 2 + total / 3
"""


def classes(**sources: str) -> dict:
    forms = {name: {"T-1": form_of(source, ["add_one"])} for name, source in sources.items()}
    return {name.replace("_", " "): form for name, form in forms.items()}


def test_three_ways_to_be_alike_and_one_not_to_be():
    said = pairs(classes(ada=LONG, bob=LONG + "\n\n# the end", eve=RENAMED, fay=HONEST))
    assert {(p.left, p.right): p.alike["T-1"][0] for p in said} == {
        ("ada", "bob"): HOW[0], ("ada", "eve"): HOW[2], ("bob", "eve"): HOW[2],
    }  # fmt: skip
    commented = LONG.replace("small", "large")
    (pair,) = pairs(classes(ada=LONG, bob=commented))
    assert pair.alike["T-1"][0] == HOW[1]


def test_what_is_short_or_usual_weighs_nothing_but_the_published_solution_does():
    short = "def add_one(number):\n    return number + 1\n"
    assert pairs(classes(ada=short, bob=short)) == []
    many = {f"s{n}": LONG for n in range(8)} | {f"t{n}": HONEST for n in range(2)}
    found = pairs(classes(**many))
    assert {(pair.left, pair.right) for pair in found} == {("t0", "t1")}
    forms = classes(**many)
    found = pairs({PUBLISHED: forms["s0"]} | forms)
    assert sum(pair.left == PUBLISHED for pair in found) == 8


def test_of_folders_and_zips_what_cannot_be_read_is_named(small, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "class"
    for name, text in {"ada": LONG, "bob": RENAMED, "eve": "def add_one(:"}.items():
        (folder / name / "lab").mkdir(parents=True)
        (folder / name / "lab" / "work.py").write_text(text)
    (folder / "mallory.zip").write_bytes(b"PK no zip")
    with zipfile.ZipFile(folder / "deep.zip", "w") as archive:
        archive.writestr("lab/work.py", "def add_one(n):\n    return " + "(" * 5000 + ")" * 5000)
    monkeypatch.setattr(copies, "ROOT", small.root)
    task = load_task("T-1", small.tasks).task
    found, unread = compared(submissions(folder), [task], least=30)
    assert [(pair.left, pair.right) for pair in found] == [("ada", "bob")]
    assert len(unread) == 1 and unread[0].startswith("mallory: ")
    text, table = copies.text_of(found, unread), copies.csv_of(found)
    assert "ada and bob" in text and HOW[2] in table and "not compared: mallory" in text
    assert copies.main(["T-9", "--all", str(folder)]) == 2
    assert "there is no task 'T-9'" in capsys.readouterr().err
