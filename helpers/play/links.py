"""A plan that travels: in a link, or as the CSV of torch.distributed.pipelining.

A link ends in ``#level=cap&plan=F0-F1-B0_F0-B0``: ranks stand between ``_``, and each action names
its stage, as in 2F0, unless rank r holds stage r alone. A pair, F3&B1, is F3~B1 there, because an
address ends a field at a &; one that is written with its & is read too.
"""

import re
from urllib.parse import parse_qsl, urlencode

from helpers.play.board import Board, Level, Refused
from helpers.play.levels import OWN, level_of
from helpers.schedules import Action, Schedule, from_csv, parse
from helpers.schedules.schedule import cells_of
from helpers.words import many

MOST = 200_000  # characters of a file or a link


def to_link(board: Board, costs: dict | None = None) -> str:
    """Return the part of a link after its #."""
    rows = [" ".join(cells) for _, cells in cells_of(board.schedule)]
    fields = {"level": board.level.id} | (costs or {})
    return urlencode(fields | {"plan": "_".join(rows).replace(" ", "-").replace("&", "~")})


def from_link(text: str) -> tuple[Board, dict]:
    """Return the plan of a link, and its costs where its level is "own".

    Raises:
        ValueError: for a link that is broken, or a plan that isn't legal in its level.
    """
    said = re.sub(r"&(?=\d*[FBIW]\d)", "~", _short(text).rpartition("#")[2])
    fields = dict(parse_qsl(said, keep_blank_values=True))
    unknown = sorted(set(fields) - {"level", "plan", *OWN})
    if unknown or not fields.get("level"):
        what = f"{unknown[0][:40]!r} means nothing" if unknown else "it names no level"
        raise ValueError(f"the link is broken: {what}; copy it again, to its end")
    costs = {key: fields[key] for key in OWN if key in fields}
    level = level_of(fields["level"], costs)
    if not fields.get("plan"):
        return Board(level), costs
    rows = fields["plan"].replace("~", "&").split("_")
    text = "\n".join(f"rank {n}: {row.replace('-', ' ')}" for n, row in enumerate(rows))
    return on_board(parse(text), level, "the link"), costs


def read(text: str, level: Level) -> tuple[Board, dict | None]:
    """Return the plan in a text: a link, torch's CSV, or a line for each rank.

    level: of a plan that names none. The costs are None where the text has no level of its own.
    """
    text = _short(text).strip()
    if text.startswith("#") or "level=" in text.split("\n")[0]:
        return from_link(text)
    schedule = parse(text) if text.lower().startswith("rank") else from_csv(text)
    return on_board(schedule, level, "the file"), None


def on_board(plan: Schedule, level: Level, where: str) -> Board:
    """Return the plan as a board of this level.

    Raises:
        ValueError: with a sentence, if it has other ranks, stages or micro-batches, or isn't legal.
    """
    if plan.size != level.ranks:
        raise ValueError(
            f"{where} is a plan for {many(plan.size, 'rank')}, and this level has {level.ranks}: "
            "choose a level with as many, or your own costs"
        )
    known = {
        Action(kind, stage, i)
        for kind in level.kinds
        for stage in range(len(level.places))
        for i in range(level.micro_batches)
    }
    for order in plan.ranks:
        for action in order:
            if action not in known:
                raise ValueError(
                    f"{where} has {action}, and this level has stages 0 to "
                    f"{len(level.places) - 1}, micro-batches 0 to {level.micro_batches - 1} and "
                    f"the actions {', '.join(level.kinds)}"
                )
    paired = (plan.turn_at(rank, n) for rank, row in enumerate(plan.pairs) for n in row)
    board = Board(level, plan.ranks, frozenset(turn for turn in paired if len(turn) == 2))
    problem = board.problem()
    if problem is not None:
        raise Refused(problem)
    return board


def _short(text: str) -> str:
    if len(text) > MOST:
        raise ValueError(f"that's {len(text):,} characters: a plan has {MOST:,} at most")
    return text
