"""Wrong ways to do LA-3, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


def answer(
    part="size / n",
    ring="range(n)",
    cable="between.seconds(out[h] * part)",
    near="if near:",
    step="max(times)",
    give="2 * (n - 1) * step",
):
    """The right answer with one of its parts done in another way."""
    return f"""
        n = len(hosts)
        part = {part}
        out, near = {{}}, False
        for r in {ring}:
            h, other = hosts[r], hosts[(r + 1) % n]
            if h == other:
                near = True
            else:
                out[h] = out.get(h, 0) + 1
        times = [{cable} for h in out]
        {near}
            times.append(inside.seconds(part))
        step = {step}
        return {give}
        """


MISTAKES = (
    PlantedMistake("one round", answer(give="(n - 1) * step"), says="a ring goes round twice"),
    PlantedMistake("whole messages", answer(part="size"), says="each message is one part of n"),
    PlantedMistake(
        "a cable for each message", answer(cable="between.seconds(part)"), says="share its cable"
    ),
    PlantedMistake("the sum", answer(step="sum(times)"), says="not the sum of all"),
    PlantedMistake("the fastest", answer(step="min(times)"), says="not the first"),
    PlantedMistake("an open ring", answer(ring="range(n - 1)"), says="the ring is closed"),
    PlantedMistake(
        "nothing inside", answer(near="if near and not times:"), says="need the link inside"
    ),
    PlantedMistake("milliseconds", answer(give="2e3 * (n - 1) * step"), says="milliseconds"),
    PlantedMistake(
        "a delay for each message",
        answer(cable="out[h] * between.seconds(part)"),
        says="ranks in turn on two hosts",
    ),
    PlantedMistake("text", answer(give="str(step)"), says="give a number of seconds"),
)

ALSO_RIGHT = {"plain": answer()}
