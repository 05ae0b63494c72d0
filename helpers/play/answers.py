"""One question of the page, one answer: plain data in, plain data out, nothing kept in between.

    answer({"do": "open", "level": "cap"})
    answer({"do": "place", "level": "cap", "plan": "F0_", "action": "1F0"})

Every question names the level and the plan that is on the page; an answer has the new plan, its
times and numbers, or `refused` with the reason, and the page stays as it is.
"""

import re
from functools import lru_cache

from helpers.play import finish, links
from helpers.play.board import ROUNDING, Board, Level, Refused
from helpers.play.levels import LEVELS, OWN, level_of
from helpers.schedules import Action, parse, to_csv
from helpers.schedules.schedule import cells_of, read_action
from helpers.syllabus import LESSONS

WHY = {
    "dependency": "rank {until} has yet to compute what {action} needs",
    "imbalance": "rank {until} is slower, and computes what {action} needs",
    "message": "what {action} needs is on its way from rank {until}",
    "memory": "there's no room for the next forward until {action} is done",
}
SHOWN = ("hint", "cap", "aim", "target", "kinds", "steps", "micro_batches", "least")  # of a level


def answer(question: dict) -> dict:
    """Answer one question of the page; never raises for what a page may ask."""
    try:
        return _answered(question)
    except Refused as refused:
        words = str(refused)
        if question.get("do") == "place":  # the player knows where it was to go
            words = re.sub(r"^rank \d+, position \d+: ", "", words)
        return {"refused": words, "needs": [str(action) for action in refused.needs]}
    except (ValueError, TypeError, KeyError) as error:
        return {"refused": str(error) or type(error).__name__, "needs": []}


def _answered(question: dict) -> dict:
    do = question["do"]
    if do == "levels":
        own = {key: {"start": cost.start, "label": cost.label} for key, cost in OWN.items()}
        return {"levels": [_listed(level) for level in LEVELS], "own": own}
    costs = question.get("costs") or {}
    if do == "read":
        level = level_of(question.get("level", "own"), costs)
        board, its_own = links.read(question["text"], level)
        return view(board, costs if its_own is None else its_own)
    level = level_of(question["level"], costs)
    board = _board(level, question.get("plan", ""))
    if do == "par":
        return {"par": best_of(level)}
    if do == "save":
        linked = question["as"] == "link"
        return {"text": links.to_link(board, costs) if linked else to_csv(board.schedule)}
    if do in ("place", "move", "remove"):
        action, at = _action(question["action"], level), question.get("position")
        if do == "place":
            board = board.place(action, at)
        elif do == "move":
            board = board.move(action, int(at))
        else:
            board = board.remove(action, bool(question.get("users")))
        return view(board, costs)
    said, about, worse, slip = "", [], [], None
    if do == "coach":
        said, about, _ = finish.coached(board)
        worse = about[1:]
        if slip := finish.slip_of(board):
            words = f"Since {slip[0]} at {slip[1]:g} s, the coach knows no way to {level.target:g} "
            words += "s: take it back, and do something else in its place, or find one. "
            said = f"{words}{said}".strip()
            about, worse = [slip[0], *about], [slip[0], *worse]
    elif do == "back" and (slip := finish.slip_of(board)):
        words = f"Everything from {slip[0]} on is taken back: go on with something else."
        board, slip, said = slip[2], None, words
    elif do == "on":
        board, said = finish.played_on(board)
    elif do == "finish":
        done = finish.finished(board)
        if done is None:
            raise Refused(f"From here no order fits into memory: {finish.NO_ROOM}")
        board = done
    elif do not in ("open", "back"):
        raise ValueError(f"there's no question {do!r}")
    shown = view(board, costs)
    marks = {"about": list(map(str, about)), "worse": list(map(str, worse))}
    return shown | {"said": said or shown["said"], "slip": bool(slip)} | marks


def _listed(level: Level) -> dict:
    lesson = next(each for each in LESSONS if each.name == level.lesson)
    listed = {"id": level.id, "title": level.title, "goal": level.goal, "par": level.par}
    return listed | {"lesson": {"stem": lesson.stem, "title": lesson.title}}


def _action(text: str, level: Level) -> Action:
    action = read_action(text)
    if not action.stage < len(level.places) or not action.micro_batch < level.micro_batches:
        raise ValueError(f"this level has no {text[:40]}")
    return action


def board_of(question: dict) -> Board:
    """Return the plan that is on the page. Raises ValueError if it isn't legal."""
    level = level_of(question["level"], question.get("costs") or {})
    return _board(level, question.get("plan", ""))


def _board(level: Level, plan: str) -> Board:
    """Return the plan of a question: an order for each rank, between two _."""
    rows = plan.split("_") if plan else [""] * level.ranks
    text = "\n".join(f"rank {n}: {row}" for n, row in enumerate(rows))
    return links.on_board(parse(text), level, "the page")


@lru_cache(maxsize=32)
def best_of(level: Level) -> float:
    """Return par: as written down, or worked out."""
    return level.par if level.par is not None else finish.best_known(level)


def view(board: Board, costs: dict) -> dict:
    """Return all that the page draws."""
    level, done = board.level, board.simulated
    worth = finish.aim_of(level, done)
    won = board.complete and (level.target is None or worth <= level.target + ROUNDING)
    rows = [_row(board, rank) for rank in range(level.ranks)]
    return {
        "plan": "_".join(" ".join(cells) for _, cells in cells_of(board.schedule)),
        "level": _listed(level)
        | {key: getattr(level, key) for key in SHOWN}
        | {"chunks": len(level.places) // level.ranks},
        "costs": costs,
        "rows": rows,
        "score": {
            "step": done.step_time,
            "span": done.span,
            "bubble": done.bubble(level.aim if level.aim == "span" else "total"),
            "peak": max(done.peak_memory),
            "messages": done.messages,
            "placed": len(board.placed),
            "total": max(level.total, len(board.placed)),
        },
        "complete": board.complete,
        "worth": worth if board.complete else None,
        "won": won,
        "named": finish.name_of(board) if won else "",
        "said": _praise(level, worth) if won else _on_the_way(board, worth),
        "about": [],
        "worse": [],
        "slip": False,
    }


def _row(board: Board, rank: int) -> dict:
    level, done = board.level, board.simulated
    placed = zip(board.orders[rank], done.times.starts[rank], done.times.ends[rank], strict=True)
    waits = [idle for idle in done.idle if idle.rank == rank and idle.action is not None]
    return {
        "stages": [s for s, owner in enumerate(level.places) if owner == rank],
        "actions": [_box(level, action, start, end) for action, start, end in placed],
        "next": [
            _box(level, action, start, None if start is None else start + level.seconds(action))
            for action, start in board.next_of(rank)
        ],
        "waits": [
            {
                "start": idle.start,
                "end": idle.end,
                "why": WHY[idle.cause].format(until=idle.until, action=idle.action),
            }
            for idle in waits
            if idle.cause in WHY
        ],
        "kept": board.kept(rank),
        "peak": done.peak_memory[rank],
        "memory": done.memory(rank),
    }


def _box(level: Level, action: Action, start: float | None, end: float | None) -> dict:
    return {
        "name": str(action),
        "kind": action.kind,
        "stage": action.stage,
        "micro": action.micro_batch,
        "chunk": action.stage // level.ranks,
        "step": level.step_of(action.micro_batch),
        "start": start,
        "end": end,
    }


def _praise(level: Level, worth: float) -> str:
    best = best_of(level) if level.par is not None else None
    if best is not None and worth < best - ROUNDING:
        return f"{worth:g} s: that's better than par, which is {best:g} s."
    words = "and nobody knows a faster plan" if best is not None else "compare it with par"
    return f"Done: {worth:g} s, {words}."


def _on_the_way(board: Board, worth: float) -> str:
    if not board.placed and board.level is LEVELS[0]:
        return "Press F0 of rank 0: the forward of micro-batch 0 goes to the end of its lane."
    if not board.complete and board.level is LEVELS[0]:
        action, _ = finish.next_moves(board)[0]
        return f"Rank {action.stage} has what it needs now: press its {action.kind}0."
    if not board.complete:
        return ""
    what = "a span of " if board.level.aim == "span" else ""
    words = f"Complete in {what}{worth:g} s; the goal is {board.level.target:g} s. "
    return words + "Move a box along its lane, or ask the coach where the time went."
