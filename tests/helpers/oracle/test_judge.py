"""Right steps are right; what Adam hides; arguments; what a person sees of a verdict; the example
at the top of the package runs as it stands. The planted mistakes stand in mistakes/."""

import textwrap
from dataclasses import replace

import pytest
import torch

from helpers import oracle
from helpers.oracle import Comparison, Judgment, judge
from helpers.oracle.__main__ import first_difference

from .simulated import UNEQUAL, Lab, adam, make_batches, make_model, sgd

# Where a right step is judged, nothing may be off by more than other orders of additions give.
ALLOWED = {torch.float32: 1e-5, torch.float64: 1e-12}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("lengths", [(6,) * 6, UNEQUAL])
@pytest.mark.parametrize("tied", [False, True])
def test_right_steps_are_right(dtype, lengths, tied):
    for make_optimizer in (sgd, adam):
        verdict = Lab(3, lengths, dtype, tied, make_optimizer).judge()
        assert verdict.ok and verdict.mistake is None, str(verdict)
        gradients = [row for row in verdict.rows if row.kind == "gradient"]
        assert max(row.relative for row in gradients) < ALLOWED[dtype]


def test_one_rank_with_all_micro_batches_is_right():
    assert Lab(1).judge().ok


def test_adam_hides_a_factor_and_the_verdict_says_so():
    right = dict(dtype=torch.float64, make_optimizer=adam)
    verdict = Lab(**right).judge(weight=lambda tokens: 1.0)
    assert "2 micro-batches were summed" in verdict.mistake
    assert "The weights don't show it" in verdict.note and "Adam divides each" in verdict.note
    assert verdict.note in " ".join(str(verdict).split())
    assert Lab().judge(weight=lambda tokens: 1.0).note == ""  # SGD shows it


def test_weights_alone_under_adam_are_not_enough():
    here = Lab(make_optimizer=adam)
    steps = [replace(step, gradients={}) for step in here.train()]
    verdict = judge(here.right, steps)
    assert verdict.ok and "Only weights were compared, after Adam" in verdict.note


def test_rounding_that_adam_blows_up_is_no_mistake():
    here = Lab(make_optimizer=adam)
    step = here.right
    noise = torch.tensor([3e-9, -2e-9, 1e-9])  # what is left of a sum that should be zero
    with_noise = replace(
        step,
        before=step.before | {"keys.bias": torch.zeros(3)},
        gradients=step.gradients | {"keys.bias": noise},
        parts=(),
    )
    right = replace(with_noise, after=with_noise.update(with_noise.gradients))
    other = with_noise.gradients | {"keys.bias": -noise}
    after = with_noise.update(other)
    verdict = judge(right, replace(right, gradients=other, after=after))
    assert verdict.ok and "so where one is nearly zero its rounding decides" in verdict.note
    assert all(row.ok for row in verdict.rows)
    # The same weights from gradients that do not explain them are a mistake.
    assert not judge(right, replace(right, after=after)).ok


def test_nothing_to_judge_is_one_sentence():
    with pytest.raises(ValueError, match="^there is nothing to judge: give the Step of each rank"):
        judge(Lab().right, [])


def test_facts_of_two_plain_dicts_are_enough():
    """Without parts and without an optimizer, as someone else's code may give them."""
    here = Lab()
    bare = replace(here.right, parts=(), make_optimizer=None, optimizer="")
    assert judge(bare, here.train()).ok
    steps = [replace(s, gradients={n: g if g is None else 3 * g for n, g in s.gradients.items()})
             for s in Lab().train()]  # fmt: skip
    assert "3 ranks were summed" in judge(bare, steps).mistake


def row(name, error=0.0, ok=True, kind="gradient"):
    return Comparison(kind, name, 0, error, 2.0, 1e-5, ok, "" if ok else "differs")


def test_a_right_verdict_says_how_far_off():
    verdict = Judgment(None, (), "", (row("a", 4e-7), row("b", 2e-6)), 3)
    assert verdict.ok and verdict.worst.name == "b"
    first = str(verdict).splitlines()[0]
    assert (
        first
        == "RIGHT: 2 tensors on 3 ranks are those of one device; the largest difference is 1.0e-06"
    )
    assert "right  gradient  a       0     2e-07       1e-05" in str(verdict)
    alone = Judgment(None, (), "", (row("a"),), 3).headline
    assert alone.startswith("RIGHT: 1 tensor on 3 ranks is that of one device;")


def test_a_wrong_verdict_puts_the_wrong_first_and_names_the_mistake():
    verdict = Judgment(
        "all is <lost>", ("it rained",), "Note.", (row("a"), row("b", 1.0, False)), 1
    )
    text, html = str(verdict), verdict._repr_html_()
    assert text.startswith("WRONG: 1 of 2 tensors are not those of one device\n  Mistake: all is")
    assert "  Or: it rained." in text and "  Note." in text
    assert text.index("WRONG  gradient  b") < text.index("right  gradient  a")
    assert "all is &lt;lost&gt;" in html
    assert "<svg" not in html and "<style" not in html  # shown before a notebook is trusted, too
    assert verdict.worst.name == "b"


def test_a_long_table_is_cut_and_says_so():
    rows = tuple(row(f"r{n}") for n in range(40)) + tuple(row(f"w{n}", 1, False) for n in range(25))
    verdict = Judgment("no", (), "", rows, 1)
    assert "… and 45 more tensors, 5 wrong" in str(verdict)
    assert "… and 45 more tensors, 5 wrong" in verdict._repr_html_()
    assert "w19 " in str(verdict) and "w20 " not in str(verdict)
    assert "more tensors" not in verdict.table(most=65)
    assert "… and 3 more tensors, all right" in verdict.table(most=62)
    assert "… and 1 more tensor, all right" in verdict.table(most=64)


def test_the_first_difference_is_the_gradient_nearest_to_the_output():
    right, weight = row("a"), row("b", ok=False, kind="weight")
    first, last = row("c", ok=False), row("d", ok=False)
    assert first_difference(Judgment(None, (), "", (weight, first, last, right), 3)) is last
    assert first_difference(Judgment(None, (), "", (right, weight), 3)) is weight
    assert first_difference(Judgment(None, (), "", (right,), 3)) is None


def test_the_example_runs():
    text = oracle.__doc__.split("and judge:\n\n")[1].split("\n\n`gather(parts")[0]
    model = make_model()
    optimizer = sgd(list(model.parameters()))
    batches = [(ids[:-1], ids[1:]) for ids in make_batches((3, 9, 4))]

    def train_one_step(model, optimizer):
        for inputs, targets in batches:
            loss = torch.nn.functional.cross_entropy(model(inputs), targets, reduction="sum")
            (loss / 16).backward()
        optimizer.step()

    names = dict(vars(oracle))
    names |= {
        "torch": torch,
        "cross_entropy": torch.nn.functional.cross_entropy,
        "micro_batches": batches,
        "model": model,
        "optimizer": optimizer,
        "train_one_step": train_one_step,
    }
    lines = textwrap.dedent(text).splitlines()
    assert lines[-1].startswith("judge(right, steps)")
    exec("\n".join(lines[:-1]), names)  # noqa: S102
    verdict = oracle.judge(names["right"], [names["step"]])
    assert verdict.ok and len(verdict.rows) == 8 + 9  # gradients and weights
