"""CO-3: a layout that fits and is fast."""

import functools
import random

from helpers.cluster import Layout, estimate, preset, search
from helpers.cost import ModelConfig, gpt
from helpers.draw.text import bytes_text, time_text
from helpers.grade import Mistake, Submission, Task

TASK = Task(
    id="CO-3",
    title="find a layout that fits and is fast",
    file="TP/choose_layout.py",
    function="choose_layout",
    notebook="10",
    points=20,
    minutes=45,
    hints=(
        "estimate(model, layout, machine) takes less than a millisecond: you can try every layout. "
        "Which numbers can tp be, if dp x pp x tp must be the number of devices? What does "
        "Layout(...) do with numbers that do not go?",
        "Loops inside each other: tp and pp over the divisors of `gpus`, dp = gpus // (tp * pp), "
        "micro_batch over 1, 2, 4, 8 ..., recompute over its three words. Try each inside `try`, "
        "and go on at a ValueError. Keep the fastest of those with .fits.",
        "layout = Layout(batch, model.positions, dp, pp, tp, 1, micro_batch, recompute, "
        "sequence_parallel=tp > 1, zero=int(dp > 1)); done = estimate(model, layout, machine); if "
        "done.fits and done.seconds is less than the best so far, remember done.layout.",
    ),
)

SLOWER = 1.1  # how much longer than the best plain 1F1B a step may take
LLAMA_8B = ModelConfig("llama", 4096, 32, 32, 8, 128, 14336, 128256, 8192)
# Model, machine, devices, batch. One that needs no cutting, one that needs much, one in between.
CASES = {
    "a GPT of 1.3B on 16 A100": (gpt(2048, 24, 16), "A100", 16, 256),
    "a GPT of 175B on 512 A100": (gpt(12288, 96, 96), "A100", 512, 512),
    "Llama 3 8B on 32 H100": (LLAMA_8B, "H100", 32, 64),
}


def cases_of(seed):
    """The known cases, and one that is drawn."""
    draw = random.Random(seed)
    heads, layers, gpus = draw.choice((16, 24)), draw.choice((24, 32, 36)), 8
    machine, batch = draw.choice(("A100", "H100")), draw.choice((32, 64, 128))
    name = f"a GPT of {layers} layers with {heads} heads on {gpus} {machine}, batches of {batch}"
    return CASES | {name: (gpt(128 * heads, layers, heads), machine, gpus, batch)}


def work(module, seed):
    """On one rank, beside the student's code: what it chooses in each case."""
    chosen = []
    for model, machine, gpus, batch in cases_of(seed).values():
        found = module.choose_layout(model, preset(machine), gpus, batch)
        plain = found is None or isinstance(found, Layout)
        chosen.append(found if plain else repr(found)[:200])
    return chosen


def verify(submission: Submission) -> None:
    """Compare with a search. Raises Mistake or WorkFailed."""
    (answers,) = submission.on_ranks(work, 1, submission.seed)
    for (name, case), answer in zip(cases_of(submission.seed).items(), answers, strict=True):
        judge(name, case, answer)


def judge(name, case, layout):
    """Raises Mistake."""
    model, machine, gpus, batch = case
    machine = preset(machine)
    if layout is None:
        raise Mistake(f"{name}: nothing was chosen, and there are layouts that fit")
    if not isinstance(layout, Layout):
        raise Mistake(f"{name}: give a Layout, and not {layout}")
    if (layout.batch, layout.sequence) != (batch, model.positions):
        raise Mistake(
            f"{name}: the layout is for {layout.batch} sequences of {layout.sequence} tokens, and "
            f"{batch} of {model.positions} are to be trained on"
        )
    try:
        done = estimate(model, layout, machine, gpus)
    except ValueError as error:
        raise Mistake(f"{name}: {error}") from None
    if layout.overlap_tp or layout.overlap_dp or layout.flash:
        raise Mistake(f"{name}: other software is no layout: leave overlap and flash as they are")
    if not done.fits:
        raise Mistake(
            f"{name}: {layout} does not fit: {bytes_text(done.memory.total)} a device, and there "
            f"are {bytes_text(machine.memory)}"
        )
    best = fastest(*case)
    if done.seconds > SLOWER * best.seconds:
        raise Mistake(
            f"{name}: {layout} takes {time_text(done.seconds)}, and {time_text(best.seconds)} is "
            f"possible: {advice(done, best)}"
        )


@functools.cache
def fastest(model, machine, gpus, batch):
    """The best without interleaving."""
    found = search(model, preset(machine), gpus, batch)
    return next(e for e in found if e.layout.chunks == 1)


def advice(done, best):
    """Where the time goes that the best layout saves."""
    lost = {
        cause: done.causes[cause] - best.causes[cause] for cause in done.causes if cause != "rest"
    }
    cause = max(lost, key=lost.get)
    return f"most of it is lost to {cause}, {time_text(lost[cause])} more"
