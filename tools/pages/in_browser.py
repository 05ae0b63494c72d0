"""What the pages ask the Python in the browser, and its answers: data in, data out.

answered('{"page": "explore", "settings": {…}}')    -> JSON
"""

import builtins
import contextlib
import io
import json
import linecache
import traceback
from urllib.parse import parse_qsl, urlencode

YOURS = "your step"
MOST = 20_000  # characters of what a step prints: a page that shows more of them gets slow


def answered(text: str) -> str:
    """Answer one question; never raises for what a page may ask."""
    question = json.loads(text)
    return json.dumps({"explore": explore, "puzzle": puzzle}[question["page"]](question))


def explore(question: dict) -> dict:
    """Answer `settings`, or the end of an address (`hash`), with the controls for them."""
    from helpers.schedules import SCHEDULES
    from helpers.timeline.packed import packed
    from helpers.timeline.sliders import SLIDERS, START, controls, simulated

    values = {"schedule": list(SCHEDULES)} | {name: each[2] for name, each in SLIDERS.items()}
    settings = START | question.get("settings", {})
    try:
        settings = settings_of(question.get("hash", ""), settings, values)
        said = {"data": packed({"": simulated(settings).trace}), "problem": ""}
        said["hash"] = hash_of(settings, START)
    except (ValueError, TypeError) as error:
        said = {"problem": str(error)}
    if "settings" in question:
        return said
    return said | {"controls": controls(settings), "settings": settings}


def hash_of(settings: dict, start: dict) -> str:
    """Return settings as the end of an address: name=value for all that differ from the start."""
    changed = {name: value for name, value in settings.items() if value != start[name]}
    return urlencode({name: _word_of(value) for name, value in changed.items()})


def _word_of(value: object) -> str:
    return {"None": "none", "True": "on", "False": "off"}.get(str(value), str(value))


def settings_of(text: str, start: dict, values: dict) -> dict:
    """Return the settings that `hash_of` has written, by hand perhaps.

    values: {name: what can be chosen}; what isn't in it is on or off. Raises ValueError.
    """
    found = dict(start)
    for name, word in parse_qsl(text[:MOST].lstrip("#"), keep_blank_values=True):
        if name not in start:
            known = ", ".join(start)
            raise ValueError(f"the address has no setting {name[:40]!r}: choose from {known}")
        known = {_word_of(value): value for value in values.get(name, (False, True))}
        if word not in known:
            some = list(known) if len(known) < 20 else [*list(known)[:3], "…", list(known)[-1]]
            words = f"the address says {name}={word[:40]}: choose from {', '.join(some)}"
            raise ValueError(words)
        found[name] = known[word]
    return found


def puzzle(question: dict) -> dict:
    """Run somebody's step on the simulated cluster, by the rules of the puzzles."""
    from cluster import PuzzleError, outcome, run, trace_of
    from eight import CASES

    from helpers.timeline.packed import packed
    from helpers.words import percent

    name, text = question["name"], question["text"]
    ranks, layers, samples, steps, memory = CASES[name]
    linecache.cache[YOURS] = (len(text), None, text.splitlines(True), YOURS)
    printed = io.StringIO()

    def problem(told: str, where: str) -> dict:
        return {"problem": told, "where": where, "printed": _short(printed.getvalue())}

    with contextlib.redirect_stdout(printed):
        try:
            scope = {"__name__": "yours", "__builtins__": builtins}
            exec(compile(text, YOURS, "exec"), scope)
            if name not in scope:
                raise PuzzleError(f"there is no function {name} in it: keep its first line")
            models = run(scope[name], ranks, layers, samples, profile="steps")
            found = outcome(models)
        except SyntaxError as error:
            return problem(f"line {error.lineno}: {error.msg}", "")
        except BaseException as error:  # a step may raise SystemExit, too
            known = isinstance(error, PuzzleError | NotImplementedError)
            name = "" if known else type(error).__name__
            return problem(": ".join(filter(None, (name, str(error)))), _line_of(error))
    title = (
        f"{name}: {found.time:g} steps (target {steps:g}), memory {found.memory:,.0f} "
        f"(target {memory:,}), MFU {percent(found.mfu)}"
    )
    star = found.time <= steps + 1e-9 and found.memory < memory
    met = found.time <= steps + 1e-9 and found.memory <= memory
    more = {
        "data": packed({"": trace_of(models)}, title),
        "star": star,
        "met": met,
        "printed": _short(printed.getvalue()),
    }
    return {"problem": "", "title": title} | more


def _line_of(error: BaseException) -> str:
    """Return the last line of the step in which an error arose; "" if there's none."""
    lines = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == YOURS]
    return f"line {lines[-1].lineno}: {lines[-1].line}" if lines else ""


def _short(text: str) -> str:
    if len(text) <= MOST:
        return text
    return f"{text[:MOST]}\n… and {len(text) - MOST:,} characters more"
