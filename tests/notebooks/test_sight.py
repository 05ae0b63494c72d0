"""Which lines are the idea, which cells are folded, and what no reader sees."""

import pytest

from lessons.book import read_source
from lessons.shown import as_shown
from lessons.sight import is_folded, kinds_of, shares, told


@pytest.mark.parametrize(
    "line, kind",
    [
        ("import torch", "plumbing"),
        ('sys.path[:0] = ["../primer"]', "plumbing"),
        ('flags = ["--steps", "2"]', "plumbing"),
        ('more = [*common, "--steps", "2"]', "plumbing"),
        ("net = intro.make_model(options, tokenizer)", "plumbing"),
        ("ids = next(intro.stories_of_ranks(options, tokenizer, 3))[0]", "plumbing"),
        ("found = launch(train, ranks=3)", "plumbing"),
        ('predict("L00-1", "Which?", "this", "that")', "plumbing"),
        ("e = estimate(model, layout, machine)", "idea"),
        ("mine = None", "plumbing"),
        ("%load_ext helpers.ranks", "plumbing"),
        ('print(f"{x:.1f} s")', "show"),
        ('print("in all:", total)', "show"),
        ('claim.below("a loss", after, before)', "show"),
        ('title = "The loss falls"', "show"),
        ("show(plan.trace)", "show"),
        ('game = play("cap")', "show"),
        ("print(gpipe(4, 3))", "idea"),
        ("launch(swap, ranks=2)\nx", "plumbing idea"),
        ('text = """\nrank 0: F0 B0\n"""', "idea idea idea"),
        ("for p in net.parameters():\n    p.grad /= 3", "idea idea"),
        ("for name in names:\n    print(f'{name}')", "show show"),
        ("def f():\n    import r\n    return r.x", "idea plumbing idea"),
        ("# a word\nimport ring\n# another\nx = 1", "plumbing plumbing idea idea"),
        ("with open(x) as f:\n    pass\ntry:\n    y = 1\nexcept E:\n    print(f'{y}')",
         "plumbing plumbing idea idea idea show"),
        ("halves(", "idea"),
    ],
)  # fmt: skip
def test_each_line_has_its_kind(line, kind):
    assert kinds_of(line) == kind.split()


def test_cells_without_an_idea_are_folded_unless_the_reader_writes_there():
    assert is_folded("import torch\n\nshow(picture)")
    assert is_folded('predict("L00-1", "Which?", "this", "that")')
    assert not is_folded("import torch\n\nx = torch.ones(2)")
    assert not is_folded('mine = None\nanswer("L00-1", mine)')
    assert not is_folded('check("DP-1")')


def test_the_shares_are_those_of_the_cells_in_sight(book):
    total, seen = shares(read_source(book.source))
    assert (total["idea"], seen["idea"], total.total(), seen.total()) == (5, 5, 15, 9)
    assert told({"00": (total, seen)}).splitlines()[-1].split() == "all 15 33% 9 5 2 2 56%".split()


def test_no_reader_sees_the_words_for_the_tools():
    code = (
        'x = f(quick(40, 2), str(quick("a)", b[1])))  # fmt: skip\ny = 1  # noqa: E731\nz = 2  # so'
    )
    assert as_shown(code) == 'x = f(40, str("a)"))\ny = 1\nz = 2  # so'
    assert as_shown(code, quick=True).startswith("x = f(2, str(b[1]))\n")
    assert as_shown("quick((1, quick(2, 3)), 4)") == "(1, 2)"
    with pytest.raises(ValueError, match=r"quick takes two values, .*: quick\(1\)"):
        as_shown("quick(1)")
    with pytest.raises(ValueError, match="never ends: quick"):
        as_shown("quick(1, (2)")


def test_the_notebook_has_the_full_steps_and_the_walk_the_few(book):
    text = book.source.read_text(encoding="utf-8")
    book.source.write_text(text.replace("print(halves(8))", "print(halves(quick(8, 2)))  # noqa"))
    for quick, line in ((False, "print(halves(8))"), (True, "print(halves(2))")):
        cells = read_source(book.source, quick=quick).cells
        assert [cell for cell in cells if line in cell.source.splitlines()]
