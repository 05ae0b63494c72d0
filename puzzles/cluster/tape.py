"""What each rank did, as plain data, and the same done again.

A step runs in one process with the cluster, and in Python nothing can hide from it there. So who
judges it takes the tape of each rank, and does all of it again on a cluster of its own, where no
line of the step has ever run: a tape that claims too much is refused there.
"""

import gc
import json
from collections.abc import Callable
from pathlib import Path

from cluster.communication import NEEDS, Pending
from cluster.errors import PuzzleError
from cluster.facts import numbers_in
from cluster.model import Model, run
from cluster.outcome import Outcome, cluster_of, outcome
from cluster.rank import NAMES, Storage
from cluster.script import where
from cluster.values import Value

VERSION = 1
MOST = 50_000_000  # characters; a step of part 4 on 32 ranks and 64 layers takes 1.7 million
CHANGED = "the submission has changed what the cluster wrote down"


def tape_of(models) -> str:
    """The tape of a run that was started with keep_tape=True, as JSON."""
    cluster = cluster_of(models)
    first = cluster.ranks[0]
    if any(rank.tape is None for rank in cluster.ranks):
        raise PuzzleError("this run kept no tape: start it with keep_tape=True")
    ranks = [rank.tape for rank in cluster.ranks]
    case = [cluster.world_size, first.layers, first.batch]
    return json.dumps({"version": VERSION, "case": case, "ranks": ranks})


def record(step: Callable, case: dict, seconds: float, path: Path) -> dict[str, str]:
    """Run a step for a judge elsewhere: {"tape": …}, or {"error": why the cluster refused it}.

    Whatever else the step raises is raised.

    Args:
        step: the training step.
        case: ranks, layers, samples; more: the step's own arguments; profile.
        seconds: after which the step is stopped.
        path: the file of the step; an error says on which line of it it arose.
    """
    try:
        models = run(
            step,
            *sizes(case),
            *case["more"],
            profile=case["profile"],
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
            return outcome(replay(tape, sizes(case), seconds=seconds, profile=case["profile"]))
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
            if row[0] not in ROWS or ROWS[row[0]][0] != [*map(type, row[1:])]:
                raise _no_row(number)
    return ranks


def _no_row(number: int) -> PuzzleError:
    return PuzzleError(f"rank {number}: a row of the tape makes no sense: {CHANGED}")


async def _again(model: Model, tapes: list) -> Model:
    """The step that a tape describes."""
    player = Player(model)
    for op, *rest in tapes[model.rank]:
        try:
            if op == "take":
                player.keep(await player.pending.pop(*rest))
            else:
                player.keep(ROWS[op][1](player, model, player.values, *rest))
        except PuzzleError:
            raise
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            raise _no_row(model.rank) from None
    return model


class Player:
    """values, pending, groups: what is there, by the numbers of the tape."""

    def __init__(self, model: Model):
        self.model, self.values, self.pending, self.groups = model, {}, {}, []

    def keep(self, made) -> None:
        """Keep what a row has made."""
        for each in made if isinstance(made, tuple) else (made,):
            if isinstance(each, Value):
                self.values[each._number] = each
            elif isinstance(each, Pending):
                self.pending[each.number] = each

    def free(self, number: int) -> None:
        self.values.pop(number, None)

    def place(self, name: str) -> Storage:
        return self.model.storage()[NAMES.index(name)]

    def collective(self, op: str, number: int, group: int) -> Pending:
        if op not in NEEDS:
            raise KeyError(op)
        return getattr(self.groups[group], op)(self.values[number])

    def samples(self, mask: str) -> frozenset[int]:
        bits = int(mask, 16)
        if bits >> self.model.global_batch_size:
            raise ValueError(mask)
        return numbers_in(bits)


# Of each row, by its first word: the kinds of what stands behind it, and what is done.
ROWS: dict[str, tuple[list[type], Callable | None]] = {
    "free": ([int], lambda p, m, v, number: p.free(number)),
    "load": ([int] * 3, lambda p, m, v, *which: m.load_weights(*which)),
    "input": ([str], lambda p, m, v, mask: m.get_input_activation(p.samples(mask))),
    "empty": ([int], lambda p, m, v, layer: m.empty_grad(layer)),
    "forward": ([int] * 3, lambda p, m, v, layer, x, w: m.forward(layer, v[x], v[w])),
    "loss": ([int], lambda p, m, v, x: m.loss(v[x])),
    "backward": ([int] * 4, lambda p, m, v, layer, x, g, w: m.backward(layer, v[x], v[g], v[w])),
    "update": ([int] * 4, lambda p, m, v, layer, g, w, s: m.update(layer, v[g], v[w], v[s])),
    "final": ([int] * 2, lambda p, m, v, layer, w: m.set_final_weight(layer, v[w])),
    "add": ([int] * 2, lambda p, m, v, a, b: v[a] + v[b]),
    "combine": ([int] * 2, lambda p, m, v, a, b: v[a].combine(v[b])),
    "shard": ([int] * 3, lambda p, m, v, a, shard, parts: v[a].shard(shard, parts)),
    "send": ([int] * 2, lambda p, m, v, target, x: m.send(target, v[x])),
    "receive": ([int], lambda p, m, v, source: m.receive(source)),
    "take": ([int], None),  # which is awaited
    "group": ([list], lambda p, m, v, ranks: p.groups.append(m.group(ranks))),
    "collective": ([str, int, int], lambda p, m, v, *which: p.collective(*which)),
    "put": ([str, int, int], lambda p, m, v, name, key, x: p.place(name).update({key: v[x]})),
    "drop": ([str, int], lambda p, m, v, name, key: p.place(name).__delitem__(key)),
}
