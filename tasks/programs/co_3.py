"""CO-3: wrong programs that the check must catch, and right ones that it must pass."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "memory forgotten",
        """
        divisors, best = [d for d in range(1, gpus + 1) if gpus % d == 0], None
        for tp in [d for d in divisors if d <= machine.node]:
            for pp in [d for d in divisors if gpus // tp % d == 0]:
                dp = gpus // (tp * pp)
                for micro in (1, 2, 4, 8):
                    for how in ("none", "selective", "full"):
                        try:
                            sizes = batch, model.positions, dp, pp, tp, 1, micro, how
                            cut = Layout(*sizes, sequence_parallel=tp > 1, zero=int(dp > 1))
                            done = estimate(model, cut, machine)
                        except ValueError:
                            continue
                        if True and (best is None or done.seconds < best.seconds):
                            best = done
        return best and best.layout
        """,
        says="does not fit:",
    ),
)

RIGHT = {
    "by the library": """
        from helpers.cluster import search

        return search(model, machine, gpus, batch)[0].layout
        """,
}
