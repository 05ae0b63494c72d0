"""Nonsense on command lines: every program ends, with one sentence and without a traceback.

Each line of the tables is a command that can't mean anything. Lines that are refused before any
process is started run here, in this process; in `make stress` every line runs as a person would
run it, in a process of its own.
"""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.plain_errors import plain_errors

ROOT = Path(__file__).resolve().parents[2]
INTRO = ("primer/intro.py", "--dmodel", "12", "--heads", "2", "--layers", "1", "--steps", "1")
GA = "DP/gradient_aggr/intro_DP_GA.py"
SCHEDULE = ("PP/schedules/intro_PP_schedule.py", "0", "--world-size", "1", "--steps", "1")
DP_PP = "DP_PP/intro_DP_PP.py"
COST = ("TP/model_training_cost_analysis.py",)
CHOOSE = ("TP/choose_layout.py", "--model_config", "TP/llama_7b_config.json")
TIMELINE, TRACE = ("-m", "helpers.timeline"), ("-m", "helpers.trace")
RANKS = ("-m", "helpers.ranks", "-n", "2")
VALIDATE = ("-m", "helpers.cluster.validate")
TOKENIZER = ("-m", "simplellm.train_tokenizer")
HUGE = "1000000000"

# Refused before anything is started. "@name" is a file of `files`.
AT_ONCE = [
    *[(*INTRO, "--seed", seed) for seed in ("-1", str(2**64), "9" * 40, "x")],
    *[(*INTRO, "--text", text) for text in ("/dev/zero", "/nope", "@folder", "@zero", "@noise")],
    *[(*INTRO, "--tokenizer", name) for name in ("/dev/zero", "/nope", "@folder", "@noise")],
    *[(*INTRO, "--threads", number) for number in ("0", "99999999", "x")],
    *[(*INTRO, "--batch-size", number) for number in ("0", "-3", HUGE, "1e3")],
    *[(*INTRO, "--dmodel", number) for number in ("7", "100000000", HUGE)],
    (*INTRO, "--seq-l", HUGE),
    (*INTRO, "--layers", HUGE),
    (*INTRO, "--heads", "5"),
    (*INTRO, "--lr", "nan"),
    (*INTRO, "--device", "☃"),
    (*INTRO, "--steps", "1e3"),
    (*INTRO, "--trace", "@folder"),
    (*INTRO, "--trace", "@text/x.json"),
    *[(GA, "0", "--timeout", seconds) for seconds in ("0", "-1", "nan", "inf", "1e-3", "1e99")],
    *[(GA, rank) for rank in ("7", "-1", "x")],
    (GA, "0", "--world-size", "0"),
    *[(*SCHEDULE, "--schedule", name) for name in ("ZB-X", "/nope", "@folder", "@text", "@noise")],
    *[(*SCHEDULE, "--chunks", number) for number in ("0", "50")],
    (*SCHEDULE, "--micro-batches", "100"),
    *[(DP_PP, "0", "--stages", number) for number in ("4", "0", "-2", "7", "12")],
    ("PP/naive/intro_PP_naive.py", "0", "--layers", "2"),
    ("TP/llama/intro_TP.py", "0", "--world-size", "5"),
    ("EP/experts/intro_EP.py", "0", "--world-size", "4", "--experts", "6"),
    ("DP_PP/survival/intro_survival.py", "0", "--stages", "4"),
    *[(*CHOOSE, "--gpus", number) for number in ("0", "-8", HUGE, "x", "9" * 5000)],
    *[(*CHOOSE, "--batch", number) for number in ("0", "-1", HUGE)],
    (*CHOOSE, "--machine", "nope"),
    *[(*COST, "--model_config", path) for path in ("/nope", "@folder", "@text", "@noise", "@deep")],
    *[(*COST, "--training_budget", budget) for budget in ("-1", "nan", "1e400", "abc")],
    (*COST, "--training_budget", "1e22", "--curve", "@folder"),
    *[
        (*program, file)
        for program in (TIMELINE, TRACE)
        for file in ("@deep", "@huge", "@noise", "@zero", "@folder", "/nope", "@text")
    ],
    (*TRACE, "@step", "--picture", "@text/x.svg"),
    (*TIMELINE, "@step", "-o", "@folder"),
    (*RANKS, "/nope.py"),
    (*RANKS, "@folder"),
    (*RANKS, "--logs", "@text", "@program"),
    (*RANKS, "--timeout", "nan", "@program"),
    ("-m", "helpers.ranks", "-n", HUGE, "@program"),
    *[(*VALIDATE, file) for file in ("/nope", "@folder", "@noise", "@zero")],
    *[(*TOKENIZER, "--pieces", number) for number in ("0", "-5", "1")],
    (*TOKENIZER, "--characters", "0"),
    ("demo.py", "--steps", "0"),
    ("demo.py", "--batch", "0"),
    ("demo.py", "--batch", HUGE),
]
# In import roots of their own, or on ranks: always in a process of their own.
ALONE = [
    ("TP/mpirun.py", "-n", "2", "/nope.py"),
    ("TP/mpirun.py", "-n", "0", "mpi-test.py"),
    ("TP/mpirun.py",),
    *[
        (f"gpt2/project/run_{program}.py", *arguments)
        for program in ("data_parallel", "pipeline")
        for arguments in (
            ("--workdir", "@text"),
            ("--n_train", HUGE),
            ("--batch_size", "0"),
            ("--learning_rate", "nan"),
        )
    ],
    ("gpt2/project/run_data_parallel.py", "--world_size", HUGE),
    ("gpt2/project/run_pipeline.py", "--n_chunk", "1000"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The files that lines name as "@name"."""
    folder = tmp_path_factory.mktemp("nonsense")
    time = '{"ph": "X", "name": "F", "ts": %s, "dur": 1, "pid": 0, "tid": 0}'
    content = {
        "zero": b"",
        "noise": bytes(range(256)) * 20,
        "text": b"banana",
        "deep": b"[" * 100_000,
        "huge": ('{"traceEvents": [' + time % "1e308" + "]}").encode(),
        "step": ('{"traceEvents": [' + time % "0" + "]}").encode(),
        "program": b"print('here')",
    }
    for name, data in content.items():
        (folder / name).write_bytes(data)
    (folder / "folder").mkdir()
    return folder


def told(line, files):
    """The line with the paths of its files."""
    return [str(files / word[1:]) if word.startswith("@") else word for word in line]


def in_this_process(line, monkeypatch, capfd) -> tuple[object, str]:
    """What the line ends with and what it says, without the start of another process."""
    module = line[0] == "-m"
    program, arguments = (line[1], line[2:]) if module else (ROOT / line[0], line[1:])
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", [str(program), *arguments])
    monkeypatch.setattr(sys, "path", [str(Path(program).parent), *sys.path])
    capfd.readouterr()
    with pytest.raises(SystemExit) as ended:
        if module:
            runpy.run_module(program, run_name="__main__")
        else:
            runpy.run_path(str(program), run_name="__main__")
    code, said = ended.value.code, capfd.readouterr().err
    return (1, f"{said}{code}") if isinstance(code, str) else (code, said)


def in_its_own(line, *_) -> tuple[object, str]:
    """The same as a person sees it."""
    ended = subprocess.run(
        [sys.executable, *line],
        cwd=ROOT,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path[1:]])},
        timeout=300,  # of a line that takes seconds
    )
    return ended.returncode, ended.stderr.decode(errors="replace")


def assert_one_sentence(line, code, said):
    shown = f"{' '.join(word[:60] for word in line)}\n{said[-2000:]}"
    lines = [text for text in said.splitlines() if text.strip()]
    assert code not in (0, None), shown
    assert "Traceback" not in said, shown
    sentences = [text for text in lines if "error: " in text]
    assert len(sentences) == 1 and lines[-1] == sentences[0], shown
    usage = lines[:-1]
    assert not usage or usage[0].startswith(("usage: ", "simplellm: ")), shown


@pytest.mark.stress
def test_nonsense_is_refused_with_one_sentence(files, effort, numbers, monkeypatch, capfd):
    few = effort(40, 0)
    run = in_this_process if few else in_its_own
    for line in numbers.sample(AT_ONCE, few) if few else [*AT_ONCE, *ALONE]:
        line = told(line, files)
        assert_one_sentence(line, *run(line, monkeypatch, capfd))


def test_a_mistake_in_the_code_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError), plain_errors():
        1 / 0  # noqa: B018
    with pytest.raises(ValueError, match="invalid literal"), plain_errors():
        int("x")


def test_too_little_memory_is_one_sentence():
    with pytest.raises(SystemExit, match="not enough memory"), plain_errors():
        raise MemoryError
