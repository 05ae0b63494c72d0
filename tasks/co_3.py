"""CO-3: find a layout that fits and is fast."""

import dataclasses
import functools
import random

from helpers.cluster import Layout, estimate, preset, search
from helpers.cost import ModelConfig, gpt
from helpers.words import bytes_text, time_text

HINTS = (
    "estimate(model, layout, machine) is so quick that you can try every layout. Which numbers "
    "can tp be, if dp x pp x tp must be the number of devices? What does Layout(...) do with "
    "numbers that can't be a layout?",
    "Loops: tp and pp over divisors of `gpus`, dp = gpus // (tp * pp), micro_batch over 1, 2, 4 "
    "..., recompute over its three words. layout = Layout(batch, model.positions, dp, pp, tp, 1, "
    "micro_batch, recompute, sequence_parallel=tp > 1, zero=int(dp > 1)); a ValueError means the "
    "next one. Keep the estimate with .fits whose .seconds is the smallest.",
)
LESSON, MINUTES = "design_your_own", 45


def observe(module, case):
    """The fields of the Layout that the work chooses, None, or what came in its place."""
    model, machine = ModelConfig(**case["model"]), preset(case["machine"])
    found = module.choose_layout(model, machine, case["gpus"], case["batch"])
    if isinstance(found, Layout):
        return dataclasses.asdict(found)
    return None if found is None else repr(found)[:200]


SLOWER = 1.1  # how much longer than the best plain 1F1B a step may take
LLAMA_8B = ModelConfig("llama", 4096, 32, 32, 8, 128, 14336, 128256, 8192)


def cases():
    """One that needs no cutting, one that needs much, one in between, and one that is drawn."""
    heads, layers = random.choice((16, 24)), random.choice((24, 32, 36))
    machine, batch = random.choice(("A100", "H100")), random.choice((32, 64, 128))
    drawn = f"a GPT of {layers} layers with {heads} heads on 8 {machine}, batches of {batch}"
    facts = (
        ("a GPT of 1.3B on 16 A100", gpt(2048, 24, 16), "A100", 16, 256),
        ("a GPT of 175B on 512 A100", gpt(12288, 96, 96), "A100", 512, 512),
        ("Llama 3 8B on 32 H100", LLAMA_8B, "H100", 32, 64),
        (drawn, gpt(128 * heads, layers, heads), machine, 8, batch),
    )
    names = ("name", "model", "machine", "gpus", "batch")
    found = [dict(zip(names, each, strict=True)) for each in facts]
    return [case | {"model": dataclasses.asdict(case["model"])} for case in found]


@functools.cache
def fastest(model, machine, gpus, batch):
    found = search(model, preset(machine), gpus, batch)
    return next(e for e in found if e.layout.chunks == 1)


def explain(case, seen):
    model, machine = ModelConfig(**case["model"]), preset(case["machine"])
    batch, gpus = case["batch"], case["gpus"]
    if seen is None:
        return "nothing was chosen, and there are layouts that fit"
    if not isinstance(seen, dict):
        return f"give a Layout, and not {seen}"
    seen = Layout(**seen)
    if (seen.batch, seen.sequence) != (batch, model.positions):
        return (
            f"the layout is for {seen.batch} sequences of {seen.sequence} tokens, and {batch} of "
            f"{model.positions} are to be trained on"
        )
    try:
        done = estimate(model, seen, machine, gpus)
    except ValueError as error:
        return str(error)
    if seen.overlap_tp or seen.overlap_dp or seen.flash:
        return "other software is no layout: leave overlap and flash as they are"
    if not done.fits:
        needs, has = bytes_text(done.memory.total), bytes_text(machine.memory)
        return f"{seen} does not fit: {needs} a device, and there are {has}"
    best = fastest(model, case["machine"], gpus, batch)
    if done.seconds <= SLOWER * best.seconds:
        return None
    lost = {c: done.causes[c] - best.causes[c] for c in done.causes if c != "rest"}
    cause = max(lost, key=lost.get)
    return (
        f"{seen} takes {time_text(done.seconds)}, and {time_text(best.seconds)} is possible: most "
        f"of it is lost to {cause}, {time_text(lost[cause])} more"
    )
