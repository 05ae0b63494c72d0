"""A plan on real processes: paced, to lay it over the plan; then training, and a verdict."""

import sys
from importlib import import_module
from pathlib import Path

from helpers.pipeline import Pace, run_paced
from helpers.play.answers import answer, board_of
from helpers.play.board import Board, Refused
from helpers.ranks import RankFailed
from helpers.schedules import KINDS
from helpers.simulate import simulate

SCRIPTS = Path(__file__).resolve().parents[2] / "PP/schedules"
SECONDS = 1.5  # that a paced step is meant to take
SHORTEST = 0.012  # seconds of the shortest action: a process that sleeps wakes up late
MOST_RANKS = 8


def answered(question: dict) -> dict:
    """Answer a page beside which processes can run: it may ask for "run" and "train" as well."""
    do = {"run": run, "train": train}.get(question.get("do"))
    if do is None:
        return answer(question)
    try:
        return do(board_of(question))
    except (RankFailed, OSError, ValueError, KeyError, TypeError) as error:
        return {"refused": str(error), "needs": []}


def run(board: Board) -> dict:
    """Run a complete plan once on processes that sleep where a model would compute.

    Returns:
        `said`, and `measured`: for each rank, when each action started and ended, in the plan's
        seconds.
    """
    _require(board)
    level, costs = board.level, board.level.costs
    shortest = min(level.seconds(action) for action in board.placed)
    scale = max(SECONDS / board.simulated.step_time, SHORTEST / shortest)
    times = (costs.forward, costs.input_grad, costs.weight_grad)
    pace = Pace(*([x * scale for x in row] for row in times))
    done = run_paced(board.schedule, pace)
    events = [e for e in done.trace.from_zero().events if e.kind in KINDS]
    measured: list[list[dict]] = [[] for _ in range(level.ranks)]
    for e in events:
        name = f"{e.info['stage']}{e.kind}{e.info['micro_batch']}"
        measured[e.rank].append({"name": name, "start": e.start / scale, "end": e.end / scale})
    took = max(e.end for e in events)
    planned = simulate(board.schedule, pace.costs()).step_time
    free = " without the time of messages" if level.latency else ""
    said = f"Planned{free} {planned:.2f} s, measured {took:.2f} s ({took / planned - 1:+.1%}). "
    said += f"The ranks kept {list(done.most_kept)} micro-batches at most."
    return {"said": said, "measured": measured}


def train(board: Board) -> dict:
    """Train a LLaMA one step by a complete plan; the oracle's verdict on its gradients."""
    _require(board)
    if str(SCRIPTS) not in sys.path:
        sys.path.append(str(SCRIPTS))
    judged, loss = import_module("prove").prove(board.schedule)
    mistake = "" if judged.ok else f" Mistake: {judged.mistake}."
    return {"right": judged.ok, "said": f"Trained: loss {loss:.3f}. {judged.headline}.{mistake}"}


def _require(board: Board) -> None:
    if not board.complete:
        raise Refused("the plan isn't complete: place what is missing, or let it be finished")
    if board.level.ranks > MOST_RANKS:
        raise Refused(f"a plan of more than {MOST_RANKS} ranks isn't run here")
