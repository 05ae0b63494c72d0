"""Wrong ways to do CO-3, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


def tried(
    tps="[d for d in divisors if d <= machine.node]",
    pps="[d for d in divisors if gpus // tp % d == 0]",
    dp="gpus // (tp * pp)",
    micros="(1, 2, 4, 8)",
    hows='("none", "selective", "full")',
    sequence="model.positions",
    batch="batch",
    more="sequence_parallel=tp > 1, zero=int(dp > 1)",
    keep="done.fits",
    better="done.seconds < best.seconds",
    give="best and best.layout",
):
    """The search with one of its parts done in another way."""
    return f"""
        divisors, best = [d for d in range(1, gpus + 1) if gpus % d == 0], None
        for tp in {tps}:
            for pp in {pps}:
                dp = {dp}
                for micro in {micros}:
                    for how in {hows}:
                        try:
                            sizes = {batch}, {sequence}, dp, pp, tp, 1, micro, how
                            done = estimate(model, Layout(*sizes, {more}), machine)
                        except ValueError:
                            continue
                        if {keep} and (best is None or {better}):
                            best = done
        return {give}
        """


MISTAKES = (
    PlantedMistake("memory forgotten", tried(keep="True"), says="does not fit:"),
    PlantedMistake(
        "the slowest", tried(better="done.seconds > best.seconds"), says="is possible: most of it"
    ),
    PlantedMistake(
        "the smallest",
        tried(better="done.memory.total < best.memory.total"),
        says="is possible: most of it is lost to",
    ),
    PlantedMistake("full recomputation", tried(hows='("full",)'), says="is possible: most of it"),
    PlantedMistake(
        "too few devices",
        tried(dp="gpus // (2 * tp * pp)"),
        says="devices, and there are 16: choose numbers",
    ),
    PlantedMistake(
        "no pipeline and no tensor parallelism",
        tried(tps="(1,)", pps="(1,)"),
        says="nothing was chosen, and there are layouts that fit",
    ),
    PlantedMistake(
        "a short sequence", tried(sequence="1024"), says="sequences of 1024 tokens, and 256 of 2048"
    ),
    PlantedMistake(
        "a smaller batch", tried(batch="batch // 2"), says="the layout is for 128 sequences"
    ),
    PlantedMistake(
        "other software",
        tried(more="sequence_parallel=tp > 1, zero=int(dp > 1), flash=True"),
        says="other software is no layout",
    ),
    PlantedMistake(
        "always tp 8",
        "return Layout(batch, model.positions, gpus // 8, 1, 8, 1, 1, 'selective')",
        says="is possible: most of it",
    ),
    PlantedMistake(
        "pp that does not divide",
        "return Layout(batch, model.positions, 1, gpus, 1, 1, 1)",
        says="a GPT of 1.3B on 16 A100: pp 16 does not divide 24 layers",
    ),
    PlantedMistake("the estimate itself", tried(give="best"), says="give a Layout, and not"),
)

ALSO_RIGHT = {
    "plain": tried(),
    "more micro-batches": tried(micros="(1, 2, 3, 4, 6, 8, 16)"),
    "by the library": """
        from helpers.cluster import search

        return search(model, machine, gpus, batch)[0].layout
        """,
}
