"""Each mistake that the oracle knows is planted, and told by its own sentence."""

import pytest
import torch

from .simulated import UNEQUAL, Lab, adam, mean_over_ranks, sgd, step_all


def parameters(here, *names):
    """On each rank: those with a gradient whose names begin so."""
    for rank, model in enumerate(here.models):
        for name, p in model.named_parameters():
            if p.grad is not None and name.startswith(names or ("",)):
                yield rank, p


def nothing(*_):
    """Leave all as it is."""


def times(weight, by_tokens=False):
    return {"weight": lambda here, tokens: weight * tokens if by_tokens else weight}


def scaled(factor, *names, alone=False):
    """The mean is times `factor`, of the parameters whose names begin so; `alone`: no mean."""

    def average(here):
        if not alone:
            mean_over_ranks(here)
        for _, p in parameters(here, *names):
            p.grad *= factor

    return {"average": average}


def weights_averaged(here):
    step_all(here)
    with torch.no_grad():
        for column in zip(*(model.parameters() for model in here.models), strict=True):
            mean = sum(column) / len(column)
            for p in column:
                p.copy_(mean)


def averaged_but(*ranks, names=("",)):
    """The mean goes to all tensors but these of some ranks."""

    def average(here):
        own = [(p, p.grad.clone()) for rank, p in parameters(here, *names) if rank in ranks]
        mean_over_ranks(here)
        for p, gradient in own:
            p.grad = gradient

    return {"average": average}


def in_groups(*groups):
    return {"average": lambda here: [mean_over_ranks(here, group) for group in groups]}


def a_frozen_one_got(value):
    def average(here):
        mean_over_ranks(here)
        for model in here.models:
            model.middle.grad = torch.full((5,), value)

    return {"average": average}


def cut_off(here):
    for model in here.models:
        forward = model.layers[1].forward
        model.layers[0].register_forward_hook(lambda layer, args, out: out.detach())
        model.embed.register_forward_hook(lambda layer, args, out: out.detach())
        model.layers[1].forward = lambda x, forward=forward: forward(x.detach())


def frozen(*layers):
    def change(here):
        for model in here.models:
            for layer in layers:
                model.layers[layer].requires_grad_(False)

    return {"change": change}


def one_use_is_cut_off(here):
    for model in here.models:
        model.head.forward = lambda x, w=model.head.weight: x @ w.detach().T


def untied(add, wrong=None):
    """The two uses of one tensor are two tensors, as on the two ends of a pipeline."""

    def change(here):
        (model,) = here.models
        model.head.weight = torch.nn.Parameter(model.head.weight.detach().clone())
        here.optimizers = [sgd(list(model.parameters()))]

    def average(here):
        (model,) = here.models
        if add:
            total = model.head.weight.grad + model.embed.weight.grad
            model.head.weight.grad, model.embed.weight.grad = total, total.clone()
        if wrong:
            getattr(model, wrong).weight.grad[0] += 0.5

    return {"tied": True, "n_ranks": 1, "change": change, "average": average}


def noise_in_a_layer(here):
    for p in here.models[0].layers[1].parameters():
        p.grad += 0.01 * torch.randn(p.shape, generator=torch.Generator().manual_seed(3))


def short(dtype):
    return {"average": lambda here: mean_over_ranks(here, dtype=dtype)}


def stepped_too_early(here):
    step_all(here)
    mean_over_ranks(here)


def zeroed_too_early(here):
    step_all(here)
    for model in here.models:
        model.zero_grad()


def telling(more):
    return {"told": lambda held: held | more(held)}


HEAD = "head.weight"
ALONE, UNEVEN = {"average": nothing}, {"lengths": UNEQUAL}
ONE, TIED = {"n_ranks": 1}, {"tied": True}
ADAM, TWO = {"make_optimizer": adam}, {"n_ranks": 2, "lengths": (6,) * 4}
FOUR = {"lengths": (6, 4, 5, 7), "n_ranks": 1}
SUMMED = {"average": lambda here: mean_over_ranks(here, divide=False)}
WEIGHTS = ALONE | {"step": weights_averaged}
EARLY = {"average": nothing, "step": stepped_too_early}
LAST = ALONE | {"taken": lambda own: own[-1:]}
FIRST = {"taken": lambda own: own[:1]}
TABLE = [  # words of the sentence, and of another cause of the same numbers; what is spoiled
    # averages
    ("never written back into p.grad", ALONE),
    ("has its own gradients divided by world_size: nothing", scaled(1 / 3, alone=True)),
    ("Only plain SGD gives the same weights both ways (as it did here)", WEIGHTS),
    ("the weights were averaged where the gradients were meant", WEIGHTS | ADAM | times(0.5)),
    ("only in layers.0 to layers.2, and all else is right: every rank st",
     averaged_but(0, 1, 2, names=("layers",))),
    ("only some ranks are right: rank 0 has the gradients of one device, ranks 1, 2",
     averaged_but(1, 2)),
    ("rank 0 has that of ranks 0, 1 alone, and ranks 0, 1, 2 hold the same w", in_groups([0, 1])),
    ("over the wrong group: rank 0 has that of ranks 0, 1 alone, and ranks 0, 1, 2, 3",
     {"lengths": (6,) * 8, "n_ranks": 4} | in_groups([0, 1], [2, 3])),
    # factors
    ("3 times too large: the gradients of 3 ranks were summed", SUMMED),
    ("6 times too large: those of 2 micro-batches were summed, and those of 3 ranks too Or: the "
     "loss is a sum over tokens (36 in all)", times(1.0) | SUMMED),
    ("2 times too large: the gradients of 2 micro-batches were summed Or: of 2 ranks were summed",
     TWO | times(1.0)),
    ("the gradients of 2 micro-batches were summed", UNEVEN | times(1.0)),
    ("a mean of means: the ranks count alike, though they have 3, 9, 5 tokens",
     {"lengths": (3, 9, 5)} | times(1.0)),
    ("the ranks count alike, though they have 6, 18 tokens Or: the micro-batches count alike",
     {"n_ranks": 2, "lengths": (3, 3, 9, 9)} | times(0.5)),
    ("micro-batches count alike, though they have 3, 9, 4, 7", UNEVEN | times(0.5)),
    ("the loss is a sum over tokens (40 in all)", UNEVEN | times(1, by_tokens=True)),
    ("of 3 micro-batches were summed Or: of 3 ranks were summed",
     {"lengths": (2, 5, 3, 8, 6, 4, 9, 7, 3)} | times(9 / 47, by_tokens=True)),
    ("2 times too small: it was divided twice for the 2 micro", times(1 / 4)),
    ("6 times too small: it was divided twice for the 3 ranks and the 2 micro", times(1 / 12)),
    ("2 times too small: it was divided twice for the 2 ranks: divide Or: for the 2 micro-batches: "
     "divide the loss of", TWO | scaled(1 / 2)),
    ("is 0.5 times what it should be, with 3 ranks and 1 micro-batch each:",
     {"lengths": (6,) * 3} | scaled(1 / 2)),
    ("every gradient is 0.7 times what it should be, with 3 ra", times(0.35)),
    ("only in embed to layers.0, and all else is right: every gradient is 6 times too large: the "
     "gradients of 6 micro-batches were summed Or: a sum over tokens (36 in all)",
     ONE | scaled(6, "embed", "layers.0")),
    ("only in layers.1.bias, and all else is right: every gradient is 3 times too large",
     scaled(3, "layers.1.bias")),
    # micro-batches
    ("only the last micro-batch of each rank counts", {"clear": True}),
    ("only the first micro-batch of each rank counts", FIRST),
    ("the micro-batches count 1, 0, 1, 1 times, where each should count once: look for one that is "
     "left out", FOUR | {"taken": lambda own: own[:1] + own[2:]}),
    ("the micro-batches count 1, 1, 2, 1 times", FOUR | {"taken": lambda own: [*own, own[2]]}),
    ("count 0, 3, 0, 0, 0, 0 times in the gradients of rank 0, where each should", LAST),
    # some tensors
    ("'middle' moved by up to 0.01 on rank 0: leave it out of the optimizer",
     {"step": lambda here: [step_all(here), *(m.middle.data.mul_(0.99) for m in here.models)]}),
    ("'middle' moved by up to 0.5 on rank 0: a gradient was written to it", a_frozen_one_got(1.0)),
    ("the backward stops before 'layers.1.weight' is passed on: 'layers.0.bias'",
     {"change": cut_off}),
    ("no gradient for layers.1.weight, layers.1.bias, layers.2.weight, …, and", frozen(1, 2)),
    ("the tied parameter embed.weight = head.weight counts twice", TIED | scaled(2, "embed")),
    ("only the tied parameter embed.weight = head.weight is wrong",
     TIED | {"change": one_use_is_cut_off}),
    ("has 2 gradients that were never added", untied(add=False)),
    ("only the tied parameter embed.weight = head.weight is wrong", untied(True, "embed")),
    ("2 of 8 gradients differ, most of all 'layers.1.", ONE | {"average": noise_in_a_layer}),
    # digits and steps
    ("the gradients have the digits of bfloat16 alone", short(torch.bfloat16)),
    ("have the digits of float32 alone", {"dtype": torch.float64} | short(torch.float32)),
    ("the optimizer stepped before the averaging", EARLY),
    ("the optimizer stepped before the averaging", EARLY | UNEVEN | ADAM),
    ("no weight has moved", {"step": nothing}),
    ("every weight moved 2 times as far", {"step": lambda here: [step_all(here), step_all(here)]}),
    ("the weights after the step are not on rank 2",
     {"step": lambda here: [optimizer.step() for optimizer in here.optimizers[:2]]}),
    # what cannot be compared
    ("rank 1 starts from other weights than the one device ('embed.weight' differs by",
     {"seeds": (0, 7, 0)}),
    ("no parameter has a gradient: call backward(), and take", {"step": zeroed_too_early}),
    ("the gradient of 'embed.weight' on rank 0 holds NaN or inf", times(float("nan"))),
    ("and the other side 'module.", {"told": lambda d: {f"module.{n}": t for n, t in d.items()}}),
    ("'head.weight' is nowhere on", {"told": lambda d: {n: d[n] for n in d if "head" not in n}}),
    ("the tensor 'new' on rank 0 is not in the one dev", telling(lambda d: {"new": torch.ones(2)})),
    ("has the shape (4, 5) in place of (11, 5", telling(lambda d: {HEAD: torch.ones(4, 5)})),
    ("has the dtype float64 in", telling(lambda d: {HEAD: d[HEAD].double()})),
    ("rank 0 says nothing: its step has no w", {"told": lambda d: {}}),
]  # fmt: skip


@pytest.mark.parametrize("words, spoiled", TABLE)
def test_a_mistake_is_named_and_whatever_else_explains_the_numbers(words, spoiled):
    verdict = Lab(**spoiled).judge()
    said, told = words.split(" Or: "), (verdict.mistake, *verdict.also)
    assert not verdict.ok and len(said) == len(told), verdict
    assert all(each in sentence for each, sentence in zip(said, told, strict=True)), verdict
    assert "\n" not in verdict.mistake and str(verdict).startswith("WRONG")


def test_what_is_no_mistake():
    verdict = Lab(**a_frozen_one_got(0.0)).judge()
    assert verdict.ok and "RIGHT: 17 tensors on 3 ranks" in str(verdict), "zeros for what is frozen"
    assert Lab(**untied(add=True)).judge().ok, "two copies that are added"
