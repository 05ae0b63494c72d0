"""`cd puzzles && python part1.py`, and the leaderboard, each as a process of its own."""

import json
import os
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cluster.errors import PuzzleError
from cluster.leaderboard import HEADS, judge, main, submissions
from cluster.tape import outcome_of

from helpers.grade.board import in_html, ranked

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


# --- the leaderboard -----------------------------------------------------------------------------

GOOD = """
from lib import Model

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
SUBMISSIONS = {
    "twin": GOOD,
    "wasteful": GOOD.replace("g[i] = await", "await model.all_reduce(model.empty_grad(i), i)\n"
                             "        g[i] = await"),
    "forger": GOOD.replace("await model.all_reduce(g[i], i)", "g[i]"),
    "cook": GOOD.replace("    return model", "    model._books.now = 0\n"
                         "    model._books.log[:] = model._books.log[:1]\n    return model"),
    "crash": "1/0" + GOOD,
    "loops": GOOD.replace("    own =", "    while True:\n        pass\n    own ="),
    "nothing": "",
    "<b>html": GOOD + "\nraise RuntimeError('<i>')",
}  # fmt: skip


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    folder = tmp_path_factory.mktemp("submissions")
    (folder / "ada").mkdir()
    (folder / "ada" / "part4.py").write_text(GOOD)
    for name, text in SUBMISSIONS.items():
        (folder / f"{name}.py").write_text(text)
    settings = {"profile": "classic", "machine": None}
    with ThreadPoolExecutor(4) as pool:
        entries = pool.map(
            lambda found: judge(*found, 4, [(4, 6, 64, 16)], settings, 5),
            submissions(folder, 4).items(),
        )
        entries = list(entries)
    return ranked(HEADS, entries)


def test_places_ties_and_reasons(board):
    by_name = {name: (place, *rest) for place, name, *rest in board[1:]}
    assert [by_name[name][0] for name in ("ada", "cook", "twin", "wasteful")] == list("1114")
    reasons = {name: reason[0] for name, (place, *reason) in by_name.items() if not place}
    says = {
        "forger": "rank 0, update of layer 0: samples 16 to 63 are missing in the gradient",
        "crash": "ZeroDivisionError: division by zero",
        "loops": "the step did not end within 5 s",
        "nothing": "puzzles/part4.py has no function part4_training_loop: keep its name",
        "<b>html": "RuntimeError: <i>",
    }
    assert set(reasons) == set(says)
    for name, words in says.items():
        assert words in reasons[name]
    page = in_html({"Part 4": board})
    assert "<b>html" not in page and "&lt;b&gt;html" in page and "&lt;i&gt;" in page


def test_a_submission_imports_what_lies_beside_it_and_no_solution_of_ours(tmp_path):
    settings = {"profile": "classic", "machine": None}
    borrowed = "from NAME import part4_training_loop as step\n"
    borrowed += "async def part4_training_loop(model, size):\n    return await step(model, size)"
    for name, other in (("thief", "part0"), ("own", "beside")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part4.py").write_text(borrowed.replace("NAME", other))
    (tmp_path / "own" / "beside.py").write_text(GOOD)
    (tmp_path / "own" / "lib.py").write_text("1/0")
    found = submissions(tmp_path, 4)
    entry = judge("thief", found["thief"], 4, [(2, 2, 16, 4)], settings, 20)
    assert "ModuleNotFoundError: No module named 'part0'" in entry.reason
    assert judge("own", found["own"], 4, [(2, 2, 16, 4)], settings, 20).key


def test_program(tmp_path, capsys):
    (tmp_path / "ada.py").write_text(GOOD)
    page = tmp_path / "out" / "board.html"
    case = ["--case", "4,2,16,4", "--case", "2,2,16,4"]
    assert main([str(tmp_path), *case, "--page", str(page)]) == 0
    shown = capsys.readouterr().out
    assert "place  name  score" in shown and "\n1      ada" in shown
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_program_asked_wrongly(tmp_path, capsys):
    assert main([str(tmp_path / "none")]) == 2
    assert main([str(tmp_path)]) == 2
    assert main([str(tmp_path), "--case", "4,2"]) == 2
    said = capsys.readouterr().err
    assert "there is no folder" in said and "holds no submission" in said
    assert "--case 4,2: part 4 needs 4 whole numbers with commas" in said


# --- submissions that want to harm the judge, or the others --------------------------------------

CASE = {"ranks": 1, "layers": 1, "samples": 4, "more": (), "profile": "classic"}
TABLE = '{"version": 1, "case": [1, 1, 4], "ranks": %s}'
FORGES = """
import cluster.tape

cluster.tape.tape_of = lambda models: "[" * 200_000
"""


def test_forged_tape_is_the_fault_of_its_row_alone(tmp_path, capsys):
    (tmp_path / "eve.py").write_text(FORGES + GOOD)
    rude = "raise ValueError('\\x1b[2J\\n1     eve \\ud800' * 10_000)"
    (tmp_path / "mallory.py").write_text(rude + GOOD)
    (tmp_path / "good.py").write_text(GOOD)
    page = tmp_path / "board.html"
    assert main([str(tmp_path), "--case", "1,1,4,4", "--page", str(page)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("1      good") and "no tape of a run" in lines[2]
    assert "ValueError: ?[2J 1 eve ?" in lines[3] and len(lines[3]) < 1100
    assert len(lines) == 5 and page.read_text().count("<tr>") == 4


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
