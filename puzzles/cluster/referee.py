"""Judge the tapes of a submission in a process of its own, with limits: whoever made a tape also
chooses how much time and memory it takes to play it again."""

from dataclasses import asdict

from cluster.apart import GIGABYTES, ask_apart
from cluster.errors import PuzzleError
from cluster.outcome import Outcome, outcome
from cluster.tape import replay


def outcomes_of(
    tapes: list[str], cases: list, seconds: float, gigabytes: float = GIGABYTES
) -> list[Outcome]:
    """The outcome of each tape, for `submission.Case`s.

    seconds: for each. Raises PuzzleError: the first tape that is wrong, or takes too much.
    """
    order = {"tapes": tapes, "cases": [[*case] for case in cases], "seconds": seconds}
    found, why = ask_apart(
        "cluster.referee",
        order,
        10 + seconds * len(cases),
        "judging what the step did",
        gigabytes,
    )
    if why:
        raise PuzzleError(why)
    if isinstance(found, str):
        raise PuzzleError(found)
    return [Outcome(**facts) for facts in found]


def answer(order: dict) -> list[dict] | str:
    """In that process: the facts of all outcomes, or what is wrong with a tape."""
    found = []
    try:
        for tape, (ranks, layers, samples, _, settings) in zip(
            order["tapes"], order["cases"], strict=True
        ):
            case = ranks, layers, samples
            models = replay(tape, case, seconds=order["seconds"], **settings)
            found.append(asdict(outcome(models)))
    except PuzzleError as error:
        return str(error)
    except MemoryError:
        return f"judging what the step did takes more than {order['gigabytes']:g} GB of memory"
    return found
