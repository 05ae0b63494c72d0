"""`cd puzzles && python part1.py` as a process of its own; the table of steps; a tape's limits."""

import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from cluster import leaderboard
from cluster.errors import PuzzleError
from cluster.tape import outcome_of

pytestmark = [pytest.mark.slow, pytest.mark.patient]

ROOT = Path(__file__).resolve().parents[2]
PUZZLES = ROOT / "puzzles"


def python(*arguments, cwd):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    environment.pop("PUZZLES_PROFILE", None)
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd, env=environment, capture_output=True, text=True, timeout=100,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("part", "flags", "says"),
    [
        (0, ["--profile", "classic"], "8 ranks, 36 layers, 32 samples, classic"),
        (1, ["--profile", "classic"], "0.184362 s, MFU 19.08 %"),
        (2, ["--profile", "classic"], "2.723224 s, MFU 20.67 %"),
        (3, [], "16 ranks, 32 layers, 2048 samples, bytes"),
        (4, ["--profile", "classic"], "score 5 of 5: 5 for the MFU, 5 for the memory"),
    ],
)
def test_part(part, flags, says, tmp_path):
    done = python(PUZZLES / f"part{part}.py", *flags, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert says in done.stdout
    trace = json.loads((tmp_path / "debug_traces" / f"part{part}.json").read_text())
    assert trace["traceEvents"]


@pytest.mark.parametrize(
    ("script", "flags", "says"),
    [
        ("part2.py", [], "\n  at part2.py, line "),
        ("part0.py", ["--ranks", "5"], "error: a batch of 32 samples cannot be divided by 5 ranks"),
        ("part1.py", ["--profile", "fast"], "error: there is no profile 'fast'"),
        ("eight.py", ["nine"], "there is no puzzle 'nine'; they are: basic, accumulation, ddp"),
    ],
)
def test_wrong_flags_end_with_a_sentence_and_code_2(script, flags, says, tmp_path):
    done = python(PUZZLES / script, *flags, cwd=tmp_path)
    assert done.returncode == 2 and says in done.stderr and "error: " in done.stderr
    assert "Traceback" not in done.stderr


def test_eight(tmp_path):
    done = python(PUZZLES / "eight.py", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.count("target") == 16
    assert "ddp: 5.6 steps (target 5.6)" in done.stdout
    assert "(target 1,835,008), a star" in done.stdout
    assert len(list((tmp_path / "debug_traces").glob("*.json"))) == 8


# --- the table of steps of one's own -------------------------------------------------------------

GOOD = """
async def part4_training_loop(model, batch_size):
    w, s, a, e, g = model.storage()
    own = model.global_batch_size // model.world_size
    for i in range(model.num_layers):
        w[i], s[i] = model.load_weights(i)
    a[0] = model.get_input_activation(range(own * model.rank, own * model.rank + own))
    for i in range(model.num_layers):
        a[i + 1] = model.forward(i, a[i], w[i])
    e["e"] = model.loss(a[model.num_layers])
    for i in range(model.num_layers - 1, -1, -1):
        g[i], e["e"] = model.backward(i, a[i], e["e"], w[i])
    for i in range(model.num_layers):
        g[i] = await model.all_reduce(g[i], i)
        w[i], s[i] = model.update(i, g[i], w[i], s[i])
        model.set_final_weight(i, w[i])
    return model
"""


def step(text):
    scope = {}
    exec(text, scope)
    return scope["part4_training_loop"]


def test_equal_steps_share_a_place_and_one_that_is_wrong_says_why(monkeypatch):
    monkeypatch.setattr(leaderboard, "CASE", (4, 1, 16, 4))
    wasteful = GOOD.replace("g[i] = await", "await model.all_reduce(model.empty_grad(i), i)\n"
                            "        g[i] = await")  # fmt: skip
    forger = GOOD.replace("await model.all_reduce(g[i], i)", "g[i]")
    texts = {"wasteful": wasteful, "forger": forger, "twin": GOOD, "ada": GOOD}
    head, *rows = leaderboard.compete({name: step(text) for name, text in texts.items()}).split(
        "\n"
    )
    assert head.split() == ["place", "name", "score", "MFU", "memory", "time"]
    assert [row.split()[:2] for row in rows[:3]] == [["1", "ada"], ["1", "twin"], ["3", "wasteful"]]
    missing = "forger    rank 0, update of layer 0: samples 4 to 15 are missing in the gradient"
    assert rows[3].strip().startswith(missing) and len(rows) == 4


# --- a tape that wants to harm the judge ---------------------------------------------------------

CASE = {"ranks": 1, "layers": 1, "samples": 4, "more": (), "profile": "classic"}
TABLE = '{"version": 1, "case": [1, 1, 4], "ranks": %s}'


def test_tape_has_limits():
    """Rows that are right one by one, each of which keeps more shards than the one before."""
    shards = range(4096)
    rows = [["load", 0, k, 4096] for k in shards]
    rows += [["combine", 8192 + k if k else 1, 2 * k + 3] for k in shards[:-1]]
    hoard = TABLE % json.dumps([rows])
    tracemalloc.start()
    with pytest.raises(PuzzleError, match="no rank has handed in a new weight of layer 0"):
        outcome_of({"tape": hoard}, CASE, 60)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2e7
    circles = TABLE % json.dumps([[["group", [0]]] * 1_000_000])
    with pytest.raises(PuzzleError, match="did not end within"):
        outcome_of({"tape": circles}, CASE, 0.01)
    with pytest.raises(PuzzleError, match="more than 50,000,000 characters"):
        outcome_of({"tape": " " * 50_000_001}, CASE, 1)
