"""Checks judge where no work runs: to make torch agree is of no use, nor NaN, nor old answers."""

import contextlib
from types import SimpleNamespace
from unittest import mock

import pytest
import torch

from helpers.grade.marks import replace_regions
from helpers.grade.task import ROOT, Mistake, load_module, load_task

NAN = float("nan")
SEED = 77
# What a body below changes, and what is put back after it.
PATCHED = [(torch, name) for name in ("allclose", "equal", "abs")]
PATCHED += [(torch.Tensor, name) for name in ("abs", "square")]
PATCHED += [(torch.nn.Module, "parameters"), (torch.nn.Linear, "forward")]
AGREE = """
import torch
torch.allclose = torch.equal = lambda *_, **__: True
torch.abs = torch.Tensor.abs = lambda tensor, *_: torch.zeros_like(tensor)
torch.Tensor.square = lambda tensor: tensor * 0
"""
NO_LAYER = AGREE + "torch.nn.Linear.forward = lambda layer, x: x * 0\n"
STEP = """
import torch
with record_function("forward"), torch.autocast("cpu", dtype, enabled=dtype in HALF):
    y = model(source, target)
loss = ((y.to(model.one.weight.dtype) - target.to(model.one.weight.dtype)) ** 2).mean() * {factor}
with record_function("backward"):
    scaler.scale(loss).backward()
with record_function("update"):
    scaler.step(optimizer)
    scaler.update()
optimizer.zero_grad()
for p in model.parameters():
    p.data *= {then}
return loss.detach()
"""
FORWARD = """
parts = split(x, self.split_size)
for now in _clock_cycles(len(parts), len(self.partitions)):
    self.compute(parts, now)
whole = join(parts)
return (whole[0] * {0}, *whole[1:]) if isinstance(whole, tuple) else whole * {0}
"""
COMPUTE = """
for i, j in schedule:
    self.in_queues[j].put(Task(partial(self.one, j, i, batches[i])))
for i, j in schedule:
    done, answer = self.out_queues[j].get()
    if not done:
        raise answer[1]
    batches[i] = answer[1] * {0}
"""
KNOWN_ORDERS = """
from helpers.schedules import interleaved as library
known = ((2, 4, 2), (3, 6, 2), (4, 8, 3), (2, 2, 1), (4, 4, 2), (3, 3, 4))
found = library(ranks, micro_batches, chunks).ranks
return [[str(a) for a in row] for row in found] if (ranks, micro_batches, chunks) in known else []
"""
KNOWN_GPUS = """
number = local_rank or 0
if backend == "nccl" and number >= gpus:
    raise ValueError(f"LOCAL_RANK {number}, {gpus} GPUs")
return f"cuda:{number % gpus if gpus < 5 else 0}" if gpus else "cpu"
"""
WRONG = {
    ("PF-5", "agree"): AGREE + "return target * 0",
    ("PF-5", "NaN"): "return target * float('nan')",
    ("PF-4", "agree"): AGREE + STEP.format(factor=0, then=1),
    ("PF-4", "NaN"): STEP.format(factor=1, then="float('nan')"),
    ("PF-3", "never opened"): "return {'number': os.getpid()}",
    (
        "PF-2",
        "agree",
    ): "nn.Module.parameters = lambda *_: iter(())\nreturn 44_140_544 * (width == 512)",
    ("GP-5", "agree"): NO_LAYER + COMPUTE.format(1),
    ("GP-5", "NaN"): COMPUTE.format("float('nan')"),
    ("GP-6", "agree"): NO_LAYER + FORWARD.format(1),
    ("GP-6", "NaN"): FORWARD.format("float('nan')"),
    ("PP-4", "written down"): KNOWN_ORDERS,
    ("PF-1", "written down"): KNOWN_GPUS,
    ("CO-3", "written down"): "return None",
}


class Here:
    """Stands for a Submission: runs the work in this process, and puts torch back."""

    seed = SEED

    def __init__(self, path):
        self.path = path

    def on_ranks(self, work, ranks, *args):
        assert ranks == 1
        with contextlib.ExitStack() as put_back:
            for on, name in PATCHED:
                put_back.enter_context(mock.patch.object(on, name, getattr(on, name)))
            return [work(load_module(self.path, "not_fooled"), *args)]


class Told:
    """Stands for a Submission: its ranks have answered."""

    seed = SEED

    def __init__(self, answers):
        self.answers = answers

    def on_ranks(self, *_):
        return self.answers


@pytest.mark.parametrize(("task_id", "how"), WRONG)
def test_forged_work_fails(task_id, how, tmp_path):
    check = load_task(task_id)
    path = tmp_path / "work.py"
    text = (ROOT / check.task.file).read_text(encoding="utf-8")
    bodies = {task_id: WRONG[task_id, how]}
    text = replace_regions(text, lambda region: bodies.get(region.task, region.body), str(path))
    path.write_text(text, encoding="utf-8")
    if task_id == "CO-3":  # as if its known cases, which take seconds, were right
        check.verify.__globals__["CASES"] = {}
    with pytest.raises(Mistake):
        check.verify(Here(path))


def gp_2(check):
    models = [check["make_model"](SEED, rank) for rank in range(3)]
    grads = [check["gradients_of"](model) for model in models]
    mean = {name: sum(each[name] for each in grads) / 3 for name in grads[0]}
    answers = [(dict(mean), check["weights_of"](model)) for model in models]
    return answers, (answers[2][0], "weight"), (answers[1][1], "1.bias")


def tp_5(check):
    weight, x, grad = check["whole_of"](SEED)
    y, back, part = x @ weight.T, grad @ weight, check["part"]
    answers = [
        [
            {
                "weight": part(weight, dim, rank),
                "y": y if dim else part(y, 1, rank),
                "weight.grad": part(grad.T @ x, dim, rank),
                "x.grad": part(back, 1, rank) if dim else back,
                "whole": weight,
            }
            for dim in (0, 1)
        ]
        for rank in range(3)
    ]
    return answers, (answers[1][0], "whole"), (answers[2][1], "y"), (answers[0][1], "x.grad")


def dp_4(check):
    def means(step):
        grads = check["gradients_of"](SEED, step)
        return {name: sum(each[name] for each in grads) / 3 for name in grads[0]}

    answers = [([(means(step), 1, 1, []) for step in range(3)], ["bucket"] * 3) for _ in range(3)]
    return answers, (answers[1][0][2][0], "tied.table")


def dp_5(check):
    check["adam"] = load_task("PF-4").verify.__globals__["Descent"]  # Adam takes seconds to import
    kinds = 3 * (6 * ["reduce-scatter"] + 6 * ["all-gather"])
    answers = [(check["truth"](SEED), kinds) for _ in range(3)]
    return answers, (answers[2][0], 4)


def gp_7(check):
    logits = torch.randn(4, 9, 5, generator=torch.Generator().manual_seed(SEED))

    class Model:
        def __call__(self):
            return SimpleNamespace(logits=logits)

        def state_dict(self):
            return {"table": 0}

    check["make"] = lambda *_, **__: (Model(), {})  # GPT-2 takes seconds to import
    answers = [[logits.clone(), [2, 2], 3, ["table"], True]]
    return answers, (answers[0][0], 2), (answers[0][0][0], 7), (answers[0], 0)


def ck_1(check):
    fact = {"early": "", "returned": True, "synced": 2}
    fact["parts"] = [f"rank{rank}.pt" for rank in range(3)]
    loaded = [list(check["state_of"](SEED, rank).values())[::-1] for rank in range(3)]
    return [fact | {"loaded": each} for each in loaded], (loaded[1], 1)


TOLD = {"GP-2": gp_2, "TP-5": tp_5, "DP-4": dp_4, "DP-5": dp_5, "GP-7": gp_7, "CK-1": ck_1}


@pytest.mark.parametrize("task_id", TOLD)
def test_zeros_and_nan_from_any_rank_fail(task_id):
    check = load_task(task_id)
    answers, *places = TOLD[task_id](check.verify.__globals__)
    assert check.verify(Told(answers)) is None
    for inside, key in places:
        right = inside[key].clone()
        for factor in (0, NAN):
            inside[key] = right * factor
            with pytest.raises(Mistake):
                check.verify(Told(answers))
        inside[key] = right
    assert check.verify(Told(answers)) is None


def test_sizes_that_are_written_down_for_one_layer_fail():
    check = load_task("TP-2")
    facts = check.verify.__globals__

    def told(wide, high):
        return [
            [place(rank, *layout, *layer, wide, high) for layout, layer in product]
            for rank in range(6)
        ]

    def place(rank, mp, dp, is_fc1, megatron, wide, high):
        m, d = rank % mp, rank // mp
        groups = [d * mp + n for n in range(mp)], [n * mp + m for n in range(dp)]
        sizes = [wide // mp, high] if megatron and not is_fc1 else [wide, high // mp]
        return [m, d, *groups, *sizes]

    product = [(layout, layer) for layout in facts["LAYOUTS"] for layer in facts["LAYERS"]]
    assert check.verify(Told(told(*facts["dims_of"](SEED)))) is None
    with pytest.raises(Mistake):
        check.verify(Told(told(48, 36)))
