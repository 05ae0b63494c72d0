import pytest

from helpers.grade.look import has_stub, look_at
from helpers.grade.submission import WorkFailed

STUB = 'raise NotImplementedError("Task T-1: add one. " "Write it.")'


def look(small, task, text):
    look_at(small.write("lab/work.py", text), task)


@pytest.mark.parametrize(
    "text",
    [
        "def add_one(number):\n    return number + 1\n",
        "from other import add_one\n",
        "from other import *\n",
        "add_one = lambda number: number + 1\n",
        "if True:\n    def add_one(number):\n        return 1\n",
        # A raise that may not be reached, or that is somebody else's: running it will tell.
        f"def add_one(number):\n    return number + 1\n    {STUB}\n",
        f"def add_one(number):\n    if number:\n        return 2\n    {STUB}\n",
        "def add_one(number):\n    raise NotImplementedError('later')\n",
        f"@done\ndef add_one(number):\n    {STUB}\n",
        f"def add_one(number):\n    {STUB}\nadd_one = round\n",
        f"def add_one(number):\n    try:\n        {STUB}\n    finally:\n        return 1\n",
        f"def other():\n    {STUB}\ndef add_one(number):\n    return 1\n",
    ],
)
def test_can_be_run(small, task, text):
    look(small, task, text)


@pytest.mark.parametrize(
    ("text", "kind", "sentence"),
    [
        ("def add_one(:\n", "syntax", "lab/work.py, line 1: SyntaxError: invalid syntax"),
        ("if 1:\nx = 1\n", "syntax", "lab/work.py, line 2: IndentationError"),
        ("\0", "syntax", "lab/work.py"),
        ("def add_two():\n    pass\n", "no function", "lab/work.py has no function add_one"),
        (f"def add_one(number):\n    {STUB}\n", "not done", "not done yet: Task T-1: add one. Wri"),
        (f'def add_one(number):\n    """Add."""\n    x = 1\n    {STUB}\n    return x\n',
         "not done", "not done yet: Task T-1"),
    ],
)  # fmt: skip
def test_cannot_be_run(small, task, text, kind, sentence):
    with pytest.raises(WorkFailed) as caught:
        look(small, task, text)
    assert caught.value.kind == kind
    assert caught.value.sentence.startswith(sentence)


def test_no_file(small, task):
    small.work.unlink()
    with pytest.raises(WorkFailed, match="there is no file lab/work.py in the graded folder"):
        look_at(small.work, task)


def test_a_folder_in_its_place(small, task):
    small.work.unlink()
    small.work.mkdir()
    with pytest.raises(WorkFailed) as caught:
        look_at(small.work, task)
    assert caught.value.kind == "no file"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"class A:\n    def add_one(self):\n        {STUB}\n", True),
        (f"def add_one(n):\n    return n + 1\n    {STUB}\n", True),
        ("def add_one(n):\n    raise NotImplementedError('Task T-2: x')\n", False),
        ("raise ValueError\n", False),
        ("def broken(:\n", False),
    ],
)
def test_a_stub_anywhere(small, task, text, found):
    assert has_stub(small.write("lab/work.py", text), task) == found
