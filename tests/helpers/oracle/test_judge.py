"""The oracle finds right steps right, sees what Adam hides, and says how far off the rest is."""

import pickle
import textwrap
from dataclasses import replace

import pytest
import torch

from helpers import oracle
from helpers.oracle import Judgment, differences, gather, judge, one_step, snapshot
from helpers.oracle.__main__ import first_difference
from tests.said import said

from .simulated import UNEQUAL, Lab, adam, changed, loss_of, make_batches, make_model, sgd

# Where a right step is judged, nothing may be off by more than other orders of additions give.
ALLOWED = {torch.float32: 1e-5, torch.float64: 1e-12}


@pytest.mark.parametrize("dtype", ALLOWED)
@pytest.mark.parametrize("tied", [False, True])
def test_right_steps_are_right(dtype, tied):
    for lengths in ((6,) * 6, UNEQUAL):
        for ranks, make_optimizer in ((3, sgd), (3, adam), (1, sgd)):
            verdict = Lab(ranks, lengths, dtype, tied, make_optimizer).judge()
            assert verdict.ok and verdict.mistake is None, str(verdict)
            gradients = [row for row in verdict.rows if row.kind == "gradient"]
            assert max(row.relative for row in gradients) < ALLOWED[dtype]


def test_adam_hides_a_factor_and_the_verdict_says_so():
    twice = {"weight": lambda here, tokens: 1.0}
    verdict = Lab(dtype=torch.float64, make_optimizer=adam, **twice).judge()
    assert "2 micro-batches were summed" in verdict.mistake
    assert "The weights don't show it" in verdict.note and "Adam divides each" in verdict.note
    assert verdict.note in " ".join(str(verdict).split())
    assert Lab(**twice).judge().note == ""  # SGD shows it
    here = Lab(make_optimizer=adam)
    verdict = judge(here.right, [replace(step, gradients={}) for step in here.train()])
    assert verdict.ok and "Only weights were compared, after Adam" in verdict.note


def test_rounding_that_adam_blows_up_is_no_mistake():
    step = replace(Lab(make_optimizer=adam).right, parts=())
    noise = torch.tensor([3e-9, -2e-9, 1e-9])  # what is left of a sum that should be zero
    before = step.before | {"keys.bias": torch.zeros(3)}
    one, other = (
        replace(step, before=before, gradients=step.gradients | {"keys.bias": sign * noise})
        for sign in (1, -1)
    )
    one, other = (replace(each, after=each.update(each.gradients)) for each in (one, other))
    verdict = judge(one, other)
    assert verdict.ok and "so where one is nearly zero its rounding decides" in verdict.note
    assert all(row.ok for row in verdict.rows)
    # The same weights from gradients that do not explain them are a mistake.
    assert not judge(one, replace(one, after=other.after)).ok


def test_facts_of_two_plain_dicts_are_enough():
    """Without parts and without an optimizer, as someone else's code may give them."""
    here = Lab()
    bare, steps = replace(here.right, parts=(), make_optimizer=None, optimizer=""), here.train()
    assert judge(bare, steps).ok
    three = [{n: g if g is None else 3 * g for n, g in step.gradients.items()} for step in steps]
    steps = [replace(step, gradients=g) for step, g in zip(steps, three, strict=True)]
    assert "3 ranks were summed" in judge(bare, steps).mistake
    assert "there is nothing to judge: give the Step of each rank" in said(judge, bare, [])


def row(name, error=0.0, ok=True):
    return oracle.Comparison("gradient", name, 0, error, 2.0, 1e-5, ok, "" if ok else "differs")


def test_a_verdict_says_how_far_off_and_puts_the_wrong_first():
    text = str(Judgment(None, (), "", (row("a", 4e-7), row("b", 2e-6)), 2))
    assert text.splitlines()[0] == (
        "RIGHT: 2 tensors on 2 ranks are those of one device; the largest difference is 1.0e-06"
    )
    assert "right  gradient  a       0     2e-07       1e-05" in text
    alone = Judgment(None, (), "", (row("a"),), 3).headline
    assert alone.startswith("RIGHT: 1 tensor on 3 ranks is that of one device;")
    rows = row("a"), row("b", 1.0, False)
    verdict = Judgment("all is <lost>", ("it rained",), "Note.", rows, 1)
    text, html = str(verdict), verdict._repr_html_()
    assert text.startswith("WRONG: 1 of 2 tensors are not those of one device\n  Mistake: all is")
    assert "  Or: it rained." in text and "  Note." in text
    assert text.index("WRONG  gradient  b") < text.index("right  gradient  a")
    assert "all is &lt;lost&gt;" in html
    many = tuple(row(f"r{n}") for n in range(40)) + tuple(row(f"w{n}", 1, False) for n in range(25))
    verdict = Judgment("no", (), "", many, 1)
    assert first_difference(verdict) is many[-1]  # the gradient nearest to the output
    assert "… and 45 more tensors, 5 wrong" in str(verdict)
    assert "w19 " in str(verdict) and "w20 " not in str(verdict)
    assert "more tensors" not in verdict.table(most=65)
    assert "… and 1 more tensor, all right" in verdict.table(most=64)


def test_the_example_runs():
    text = oracle.__doc__.split("and judge:\n\n")[1].split("\n\n`gather(parts")[0]
    example, _, last = textwrap.dedent(text).rpartition("\n")
    assert last.startswith("judge(right, steps)")
    model, cross_entropy = make_model(), torch.nn.functional.cross_entropy
    batches = [(ids[:-1], ids[1:]) for ids in make_batches((3, 9, 4))]

    def train_one_step(model, optimizer):
        for inputs, targets in batches:
            (cross_entropy(model(inputs), targets, reduction="sum") / 16).backward()
        optimizer.step()

    names = {**vars(oracle), "torch": torch, "micro_batches": batches, "model": model}
    names |= {"cross_entropy": cross_entropy, "train_one_step": train_one_step}
    names["optimizer"] = sgd([*model.parameters()])
    exec(example, names)  # noqa: S102
    verdict = oracle.judge(names["right"], [names["step"]])
    assert verdict.ok and len(verdict.rows) == 8 + 9  # gradients and weights


A = torch.tensor([[1.0, -2.0], [3.0, 4.0]])
B = torch.tensor([0.5, 0.25])
ZERO, NOISE = torch.zeros(2), torch.tensor([3e-8, -1e-8])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_rounding_of_the_dtype_is_allowed_and_more_is_not(dtype):
    eps = torch.finfo(dtype).eps
    expected = torch.linspace(-1, 1, 11).to(dtype)
    much = {2: 64, 4: 400, 8: 2e4}[expected.element_size()]
    near, far = ((expected.double() + steps * eps).to(dtype) for steps in (1, much))
    assert differences({"a": expected}, {"a": near}) == []
    assert [d.kind for d in differences({"a": expected}, {"a": far})] == ["value"]


ODD = torch.tensor([1.0, float("inf"), float("nan")])
NONE, OFF = "a: is None, or is not there at all", "differs by up to"
DIFFERENT = [  # what is expected, what is there, and what is said of the one tensor that is wrong
    ({"a": A}, {}, "missing", NONE),
    ({"a": A}, {"a": None}, "missing", NONE),
    ({"a": A}, {"a": A[0]}, "shape", "a: has the shape (2,) in place of (2, 2)"),
    ({"a": A}, {"a": A.double()}, "dtype", "a: has the dtype float64 in place of float32"),
    ({"a": A}, {"a": A * float("nan")}, "not finite", "a: holds NaN or infinity"),
    ({"a": A}, {"a": A + 0.5}, "value", f"a: {OFF} 0.5, where the largest entry should b"),
    ({"a": A}, {"a": A, "b": B}, "unexpected", "b: is there, and nobody expected it"),
    ({"a": None}, {"a": A}, "unexpected", "a: is there, and should be None"),
    ({"a": A.int()}, {"a": A.int() + 1}, "value", f"a: {OFF} 1, where the largest"),
    ({"a": A > 2}, {"a": A > 3}, "value", f"a: {OFF} 1, where the largest"),
    ({"odd": ODD}, {"odd": torch.tensor([1.0, 5.0, float("nan")])}, "not finite", "odd: "),
    # What is nearly zero is measured by the largest of all.
    ({"a": A, "zero": ZERO}, {"a": A, "zero": ZERO + 1e-3}, "value", "zero: "),
    ({"sum": NOISE}, {"sum": -NOISE}, "value", "sum: "),
    ({"a": A, "small": B / 20}, {"a": A, "small": B / 20 + 1e-6}, "value", "small: "),
]


@pytest.mark.parametrize("expected, actual, kind, sentence", DIFFERENT)
def test_each_kind_of_difference(expected, actual, kind, sentence):
    (found,) = differences(expected, actual)
    assert found.kind == kind and f"{found.name}: {found.text}".startswith(sentence)


def test_what_is_no_difference_and_factors_and_tolerances():
    right = {"odd": ODD, "a": A, "none": None, "empty": torch.empty(0), "zero": ZERO, "sum": NOISE}
    near = right | {"odd": ODD.clone(), "zero": ZERO + 1e-6, "sum": -NOISE}
    assert differences(right, near) == []
    assert differences({"a": A}, {"a": A + 0.1}, tolerance=0.1) == []
    assert differences({"a": A}, {"a": A * (1 + 1e-6)}, tolerance=0.0) != []
    (found,) = differences({"a": A}, {"a": A + torch.tensor([0.5, -1.0])})
    assert (found.error, found.scale) == (1.0, 4.0)
    tensors = {"a": A, "b": B}
    assert oracle.common_factor(tensors, {"a": 3 * A, "b": 3 * B}) == pytest.approx(3)
    for other in ({"a": 3 * A, "b": 2 * B}, {"a": 3 * A}, {"a": 3 * A, "b": B[:1]}):
        assert oracle.common_factor(tensors, other) is None
    assert oracle.common_factor({"a": 0 * A}, {"a": A}) is oracle.common_factor({}, {}) is None


def test_one_step_leaves_the_model_alone_and_tells_the_parts():
    model, batches = make_model(), make_batches((3, 9, 4))
    model.idle = torch.nn.Parameter(torch.ones(2))  # no micro-batch reaches it
    step = one_step(model, loss_of, batches, sgd)
    assert step.gradients["idle"] is step.gradients["middle"] is None
    assert all(p.grad is None for p in model.parameters())
    for name, p in model.named_parameters():
        assert torch.equal(step.before[name], p)
        found = step.gradients[name]
        moved = 0 if found is None else 0.5 * found
        assert torch.equal(step.after[name], step.before[name] - moved)
    assert [part.tokens for part in step.parts] == [3, 9, 4]
    tied = one_step(make_model(tied=True), lambda m, b: loss_of(m, b)[0], batches, sgd)
    assert [part.tokens for part in tied.parts] == [1, 1, 1]  # of a loss alone
    assert tied.ties == {"embed.weight": ("embed.weight", "head.weight")}
    assert "head.weight" not in tied.gradients and "head.weight" not in tied.after


def test_wrong_losses_are_one_sentence():
    for loss, words in (
        (lambda w: (w.sum(), 0), "micro-batch 0 has 0 tokens: loss_of must give"),
        (lambda w: (w.sum() * float("nan"), 3), "the loss of micro-batch 0 is nan"),
        (lambda w: (w[0, :2], 3), "loss_of must give one finite number"),
    ):
        given = make_model(), lambda model, batch, loss=loss: loss(model.head.weight), [0], sgd
        assert words in said(one_step, *given)
    nothing = said(one_step, make_model(), None, [], sgd)
    assert nothing.startswith("one_step got no micro-batches: give at least one")


def test_a_snapshot_is_a_copy_and_can_be_sent():
    here = Lab(1)
    (step,) = pickle.loads(pickle.dumps(here.train()))
    (model,) = here.models
    assert not torch.equal(step.before["head.weight"], step.after["head.weight"])
    now = pickle.loads(pickle.dumps(snapshot(model)))
    assert torch.equal(step.gradients["head.weight"], now.gradients["head.weight"])
    model.head.weight.grad.zero_()
    assert snapshot(model).gradients["head.weight"].any() != now.gradients["head.weight"].any()


def stages(step, cut=("layers.1", "layers.2", "head")):
    """The step of the whole model as two ranks hold it."""

    def of(last):
        return changed(step, lambda held: {n: held[n] for n in held if n.startswith(cut) == last})

    return [replace(of(last), ties={}) for last in (False, True)]


def test_stages_and_replicas_make_up_the_model_in_its_order():
    here = Lab(3)
    steps = here.train()
    whole = gather(stages(steps[0])[::-1], names=here.right.before)
    assert list(whole.before) == list(whole.after) == list(here.right.before)
    assert judge(here.right, [gather(stages(step), here.right.before) for step in steps]).ok
    assert judge(here.right, gather(steps, here.right.before)).ok  # replicas that hold the same


def test_a_tied_parameter_on_both_ends_may_have_either_name():
    here = Lab(1, tied=True)
    first, last = stages(here.train()[0])
    ends = {}
    for kind in ("before", "gradients", "after"):
        ends[kind] = getattr(last, kind) | {"head.weight": getattr(first, kind)["embed.weight"]}
    whole = gather([first, replace(last, **ends)], here.right.before)
    assert "head.weight" in whole.before and judge(here.right, whole).ok
    half = ends["gradients"] | {"head.weight": 0.5 * ends["gradients"]["head.weight"]}
    half_first = first.gradients | {"embed.weight": half["head.weight"]}
    parts = [replace(first, gradients=half_first), replace(last, **ends | {"gradients": half})]
    assert "2 gradients that were never added" in judge(here.right, gather(parts)).mistake


def test_parts_that_make_up_no_model_are_refused():
    here = Lab(1)
    first, last = stages(here.train()[0])
    other = {"head.weight": last.gradients["head.weight"] + 0.5}
    other = replace(last, gradients=other, before={}, after={})
    before = {f"model.{name}": value for name, value in here.right.before.items()}
    for parts, names, words in (
        (
            [first, last, other],
            (),
            "ranks 1 and 2 both hold the gradient of 'head.weight', and on r",
        ),
        ([first], here.right.before, "nobody holds the weight before the step of 'layers.1.weig"),
        ([replace(here.right, before=before)], here.right.before, "(the ranks hold 'model."),
        ([], (), "there is nothing to gather"),
    ):
        assert words in said(gather, parts, names, error=oracle.GatherError)
