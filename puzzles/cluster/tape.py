"""What each rank did, as plain data, and the same done again.

A step runs in one process with the cluster, and in Python nothing can hide from it there. So who
judges it takes the tape of each rank, and does all of it again on a cluster of its own, where no
line of the step has ever run: a tape that claims too much is refused there.
"""

import gc
import json
from collections.abc import Callable
from pathlib import Path

from cluster.communication import NEEDS
from cluster.errors import PuzzleError
from cluster.model import Model, run
from cluster.outcome import Outcome, cluster_of, outcome
from cluster.rank import NAMES
from cluster.script import where

VERSION = 1
MOST = 50_000_000  # characters; a step of part 4 on 32 ranks and 64 layers takes 1.7 million
CHANGED = "the submission has changed what the cluster wrote down"
# The kinds of what stands in a row, by its first word.
ROWS = {
    word: [str, *kinds]
    for word, kinds in {
        "free": (int,),
        "load": (int, int, int),
        "input": (str,),
        "empty": (int,),
        "forward": (int, int, int),
        "loss": (int,),
        "backward": (int, int, int, int),
        "update": (int, int, int, int),
        "final": (int, int),
        "add": (int, int),
        "combine": (int, int),
        "shard": (int, int, int),
        "send": (int, int),
        "receive": (int,),
        "take": (int,),
        "group": (list,),
        "collective": (str, int, int),
        "put": (str, int, int),
        "drop": (str, int),
    }.items()
}


def tape_of(models) -> str:
    """The tape of a run that was started with keep_tape=True, as JSON."""
    cluster = cluster_of(models)
    first = cluster.ranks[0]
    if any(rank.tape is None for rank in cluster.ranks):
        raise PuzzleError("this run kept no tape: start it with keep_tape=True")
    ranks = [[_plain(row) for row in rank.tape] for rank in cluster.ranks]
    case = [cluster.world_size, first.layers, first.batch]
    return json.dumps({"version": VERSION, "case": case, "ranks": ranks})


def record(step: Callable, case: dict, seconds: float, path: Path) -> dict[str, str]:
    """Run a step for a judge elsewhere: {"tape": …}, or {"error": why the cluster refused it}.

    Whatever else the step raises is raised.

    Args:
        step: the training step.
        case: ranks, layers, samples; more: the step's own arguments; profile; if it isn't the
            profile's own, machine.
        seconds: after which the step is stopped.
        path: the file of the step; an error says on which line of it it arose.
    """
    try:
        models = run(
            step,
            *sizes(case),
            *case["more"],
            profile=case["profile"],
            machine=case.get("machine"),
            keep_tape=True,
            seconds=seconds,
        )
        return {"tape": tape_of(models)}
    except PuzzleError as error:
        place = where(error, path)
        return {"error": f"{error} (at {place})" if place else str(error)}


def outcome_of(recorded: object, case: dict, seconds: float) -> Outcome:
    """What the step of a case took, from what `record` gave, or whatever stands in its place.

    Raises PuzzleError: there is no tape, or the tape is wrong.
    """
    match recorded:
        case {"tape": str(tape)}:
            settings = {"profile": case["profile"], "machine": case.get("machine")}
            return outcome(replay(tape, sizes(case), seconds=seconds, **settings))
        case {"error": str(sentence)}:
            raise PuzzleError(sentence)
    raise PuzzleError(f"what came back is no tape: {CHANGED}")


def sizes(case: dict) -> tuple[int, int, int]:
    """Ranks, layers and samples of a case."""
    return case["ranks"], case["layers"], case["samples"]


def replay(tape: str, case: tuple[int, int, int], **settings) -> list[Model]:
    """Do again what a tape says, on a new cluster, and return its models.

    case: ranks, layers, samples, which the tape must be of. settings: as for `run`.
    Raises PuzzleError: the tape is broken, or it does what no cluster would do, or takes too long.
    Whoever made the tape also chooses how much memory this takes, up to some GB.
    """
    return run(_again, *case, read_tape(tape, case), **settings)


def read_tape(tape: str, case: tuple[int, int, int]) -> list[list]:
    """The rows of each rank, every one of the shape that `ROWS` says. Raises PuzzleError."""
    if len(tape) > MOST:
        raise PuzzleError(f"the tape has more than {MOST:,} characters: {CHANGED}")
    collects = gc.isenabled()
    gc.disable()  # a million rows make no circles, and looking for them takes most of the time
    try:
        table = json.loads(tape)
    except (ValueError, RecursionError):
        table = None
    finally:
        if collects:
            gc.enable()
    ranks = table.get("ranks") if isinstance(table, dict) else None
    if not isinstance(ranks, list) or not all(isinstance(rows, list) for rows in ranks):
        raise PuzzleError(f"this is no tape of a run: {CHANGED}")
    if table.get("version") != VERSION or table.get("case") != list(case) or len(ranks) != case[0]:
        raise PuzzleError(
            f"this is no tape of a run on {tuple(case)} (ranks, layers, samples): {CHANGED}"
        )
    for number, rows in enumerate(ranks):
        for row in rows:
            if type(row) is not list or not row or type(row[0]) is not str:
                raise _no_row(number)
            if ROWS.get(row[0]) != [*map(type, row)]:
                raise _no_row(number)
    return ranks


def _no_row(number: int) -> PuzzleError:
    return PuzzleError(f"rank {number}: a row of the tape makes no sense: {CHANGED}")


async def _again(model: Model, tapes: list) -> Model:
    """The step that a tape describes."""
    player = Player(model)
    for row in tapes[model.rank]:
        try:
            player.play(row)
            if row[0] == "take":
                player.keep(await player.pending.pop(row[1]))
        except PuzzleError:
            raise
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            raise _no_row(model.rank) from None
    return model


class Player:
    """values, pending, groups: what is there, by the numbers of the tape."""

    def __init__(self, model: Model):
        self.model, self.values, self.pending, self.groups = model, {}, {}, []

    def keep(self, *made) -> None:
        for value in made:
            if value is not None:
                self.values[value._number] = value

    def play(self, row: list) -> None:
        """Do one row."""
        op, *rest = row
        if op == "free":
            self.values.pop(rest[0], None)
        elif op in PLAIN:
            self.keep(*PLAIN[op](self.model, self.values, *rest))
        elif op in ("send", "receive", "collective"):
            pending = self.start(op, rest)
            self.pending[pending.number] = pending
        elif op == "group":
            self.groups.append(self.model.group(rest[0]))
        elif op in ("put", "drop"):
            place = self.model.storage()[NAMES.index(rest[0])]
            if op == "put":
                place[rest[1]] = self.values[rest[2]]
            else:
                del place[rest[1]]
        elif op != "take":
            raise KeyError(op)

    def start(self, op: str, rest: list):
        """Start a message or a collective."""
        if op == "send":
            return self.model.send(rest[0], self.values[rest[1]])
        if op == "receive":
            return self.model.receive(rest[0])
        kind, number, group = rest
        if kind not in NEEDS:
            raise KeyError(kind)
        return getattr(self.groups[group], kind)(self.values[number])


def _samples(mask: str, batch: int) -> list[int]:
    bits = int(mask, 16)
    if bits >> batch:
        raise ValueError(mask)
    return [i for i in range(bits.bit_length()) if bits >> i & 1]


PLAIN: dict[str, Callable] = {
    "load": lambda m, v, *which: m.load_weights(*which),
    "input": lambda m, v, mask: (m.get_input_activation(_samples(mask, m.global_batch_size)),),
    "empty": lambda m, v, layer: (m.empty_grad(layer),),
    "forward": lambda m, v, layer, x, w: (m.forward(layer, v[x], v[w]),),
    "loss": lambda m, v, x: (m.loss(v[x]),),
    "backward": lambda m, v, layer, x, g, w: m.backward(layer, v[x], v[g], v[w]),
    "update": lambda m, v, layer, g, w, s: m.update(layer, v[g], v[w], v[s]),
    "final": lambda m, v, layer, w: (m.set_final_weight(layer, v[w]),),
    "add": lambda m, v, a, b: (v[a] + v[b],),
    "combine": lambda m, v, a, b: (v[a].combine(v[b]),),
    "shard": lambda m, v, a, shard, parts: (v[a].shard(shard, parts),),
}


def _plain(row: tuple) -> list:
    """A row in the kinds that JSON has; a mask of samples in hexadecimal."""
    if row[0] == "input":
        return ["input", f"{row[1]:x}"]
    return list(row)
