"""Nonsense given to functions: each is refused by a sentence of ours, and nothing else is raised.

A refusal is a ValueError, TypeError, OSError or RuntimeError of one line, raised by a `raise` of
this project. Whatever a function accepts is its own affair.
"""

import math
import traceback
from pathlib import Path

import pytest
import torch

from helpers.files import as_path, write_whole
from helpers.grid import Grid
from helpers.ranks import launch, run_script
from helpers.schedules import check, gpipe, interleaved, load_csv, parse, save_csv
from helpers.simulate import Costs, simulate
from helpers.trace import Event, Trace
from simplellm.llama import CausalLLama, LLama

ROOT = Path(__file__).resolve().parents[2]
REFUSALS = (ValueError, TypeError, OSError, RuntimeError)
NUMBERS = (0, -1, 1.5, True, "3", None, math.nan, math.inf, [2], torch.tensor(1.0))
PATHS = ("/nope", "/", "", "\0", "a\0b", None, 5, "/dev/zero", "x" * 5000)
SIZES = {"dmodel": 8, "num_heads": 2, "n_layers": 2, "ctx_size": 8}
COSTS = ("forward", "speed", "latency", "bandwidth", "message_bytes", "memory_limit")
PLANS = (
    "",
    "rank 0:",
    "rank 1: F0",
    "rank 0: F0 F0",
    "rank 0: F-1",
    "rank x: F0",
    "rank 99999999999: F0",
    "rank 0: 99999999999F0",
    "\0",
    "rank 0: F0 B0 ☃",
)


def model():
    return LLama(CausalLLama, 32, **SIZES)


def calls():
    """(what is called, the call) of every line."""
    for v in NUMBERS:
        yield f"gpipe({v!r:.20}, 2)", lambda v=v: gpipe(v, 2)
        yield f"gpipe(2, {v!r:.20})", lambda v=v: gpipe(2, v)
        yield f"interleaved(2, 4, {v!r:.20})", lambda v=v: interleaved(2, 4, v)
        for name in COSTS:
            one = {name: v}
            yield f"Costs({name}={v!r:.20})", lambda one=one: simulate(gpipe(2, 2), Costs(**one))
        for name in ("dp", "pp"):
            yield f"Grid({name}={v!r:.20})", lambda one={name: v}: Grid(**one)
        yield f"coordinates({v!r:.20})", lambda v=v: Grid(dp=2, pp=3).coordinates(v)
        yield f"launch(ranks={v!r:.20})", lambda v=v: launch(print, **no_ranks(ranks=v))
        yield f"launch(timeout={v!r:.20})", lambda v=v: launch(print, **no_ranks(timeout=v))
        for name in SIZES:
            sizes = SIZES | {name: v}
            yield f"LLama({name}={v!r:.20})", lambda s=sizes: LLama(CausalLLama, 32, **s)
    for name in COSTS:
        one = {name: 10**400}
        yield f"Costs({name}=10**400)", lambda one=one: simulate(gpipe(2, 2), Costs(**one))
    for path in PATHS:
        yield f"Trace.load({path!r:.20})", lambda path=path: Trace.load(path)
        yield f"load_csv({path!r:.20})", lambda path=path: load_csv(path)
        yield f"run_script({path!r:.20})", lambda path=path: run_script(path)
    for path in ("/", "\0", "a\0b", None, 5, "/proc/x.csv", "/dev/null/x", "/tmp/" + "x" * 300):
        yield f"write_whole({path!r:.20})", lambda path=path: write_whole(path, "text")
        yield f"save_csv({path!r:.20})", lambda path=path: save_csv(gpipe(2, 2), path)
    for plan in PLANS:
        yield f"parse({plan!r:.20})", lambda plan=plan: check(parse(plan))
    for ids in ("abc", None, torch.full((2, 4), 99), torch.zeros(2, 4), torch.zeros(2, 9).long()):
        yield f"llama({ids!r:.20})", lambda ids=ids: model()(ids)
    for time in (math.nan, math.inf, 1e300):
        yield f"Event(start={time})", lambda time=time: Trace([Event(0, "F", 0.0, time)])
    for backend in ("mpi", 5, None):
        yield f"launch(backend={backend!r})", lambda b=backend: launch(print, 1, backend=b)


def no_ranks(**one):
    """Arguments of a launch that is refused, whatever else is right, before it starts a rank."""
    return {"on_error": "neither"} | one


def said_by_us(error: BaseException) -> bool:
    last = traceback.extract_tb(error.__traceback__)[-1]
    ours = Path(last.filename).is_relative_to(ROOT) and "site-packages" not in last.filename
    return ours and (last.line or "").startswith("raise ")


@pytest.mark.stress
def test_nonsense_is_refused_by_a_sentence(effort, numbers):
    lines = list(calls())
    wrong = []
    for name, call in numbers.sample(lines, effort(40, len(lines))):
        try:
            call()
        except Exception as error:
            one_line = str(error).strip() and "\n" not in str(error).strip()
            if not (isinstance(error, REFUSALS) and said_by_us(error) and one_line):
                wrong.append(f"{name}: {type(error).__name__}: {error!s:.200}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", ["\0", "a\0b", None, 5])
def test_what_is_no_path_is_said_so(path):
    with pytest.raises((TypeError, ValueError), match="path"):
        as_path(path)
