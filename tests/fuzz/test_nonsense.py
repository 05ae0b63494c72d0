"""Nonsense on command lines: every program ends, with one sentence and without a traceback.

Each line of the tables is a command that can't mean anything. Lines that are refused before any
process is started run here, in this process; in `make stress` every line runs as a person would
run it, in a process of its own. What the lines of SAID must say is checked in every run.
"""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.plain_errors import plain_errors

pytestmark = pytest.mark.ranks

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
TINY = "primer/intro.py --dmodel 12 --heads 2 --layers 1 --seq-l 16"
MICRO_BATCHES = "PP/microbatches/intro_PP_microbatches.py 0"
SCHEDULED = "PP/schedules/intro_PP_schedule.py 0"
CONTEXT = " 0 --dmodel 16 --heads 4 --layers 2 --seq-l 16 --world-size"
RING, ULYSSES = "CP/ring/intro_CP_ring.py" + CONTEXT, "CP/ulysses/intro_CP_ulysses.py" + CONTEXT
CHOSEN = "TP/choose_layout.py --model_config"
ANALYSIS = "TP/model_training_cost_analysis.py"
MPI = "OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=3"
SLURM = "SLURM_PROCID=9 SLURM_STEP_NUM_TASKS=8"
PROFILE = "DP/ddp/profile_ddp.py --epochs 1 --src-shape 12 2 8 --tgt-shape 12 3 8"
# What a line ends with, the line, and what its sentence holds. "@name" is a file of `files`; before
# a "|" stands what is in the environment.
SAID = [
    (1, f"{TINY} --text nowhere.txt", 'There is no file "nowhere.txt"'),
    (1, f"{TINY} --batch-size 4 --like-ranks 3", "cannot be divided among 3 ranks"),
    (1, f"{TINY} --tokenizer nowhere.model", 'There is no tokenizer file "nowhere.model"'),
    (1, f"{TINY} --optimizer sgd --lr 1e30 --steps 9", "the loss became nan at step"),
    (2, "primer/intro.py --steps -1", "--steps: must be a whole number, 0 or more"),
    (2, "primer/intro.py --batch-size 0", "--batch-size: must be a whole number, 1 or more"),
    (2, "primer/intro.py --lr fast", "--lr: must be a number, 0 or more, not 'fast'"),
    (2, "primer/intro.py --size huge", "--size: invalid choice: 'huge'"),
    (1, f"{MICRO_BATCHES} --micro-batches 2", "a batch of 3 cannot be cut into 2 equal"),
    (1, "PP/naive/intro_PP_naive.py 0 --layers 2", "2 layers cannot fill 3 stages: use at most 2"),
    (1, f"{DP_PP} 0 --world-size 4", "1 x 3 x 1 is 3 ranks, and there are 4"),
    (1, f"{SCHEDULED} --chunks 4", "6 layers cannot fill 12 stages"),
    (1, f"{SCHEDULED} --schedule nope",
     "--schedule nope: there is no such file; the names are naive, GPipe, 1F1B"),
    (1, f"{SCHEDULED} --batch-size 4 --micro-batches 4",
     "takes rounds of 3 micro-batches, and there are 4: choose"),
    (1, "TP/llama/intro_TP.py 0 --world-size 3", "4 heads cannot be divided among 3 ranks"),
    (1, f"{RING} 4 --seq-l 20", "20 tokens cannot be cut into 8 equal chunks"),
    (1, f"{RING} 4 --cp 3", "a sequence of 16 tokens cannot be cut into 6 equal chunks"),
    (1, f"{RING} 3 --cp 2", "1 x 1 x 1 x 2 is 2 ranks, and there are 3"),
    (1, f"{ULYSSES} 8", "4 heads cannot be divided among 8 ranks"),
    (1, f"{CHOSEN} TP/llama_7b_config.json --machine V9", "no machine 'V9': choose one of A100"),
    (1, f"{CHOSEN} nowhere.json", "nowhere.json cannot be read"),
    (1, f"{ANALYSIS} --model_config nowhere.json", "nowhere.json cannot be read"),
    (1, f"{ANALYSIS} --model_config {ANALYSIS}", "is not JSON: give a model's config.json"),
    (1, f"{ANALYSIS} --training_budget 0", "a budget of 0 FLOPs trains nothing"),
    (1, f"{ANALYSIS} --training_budget=-1e22", "a budget of -1e+22 FLOPs trains nothing"),
    (1, f"{ANALYSIS} --training_budget much", "the budget 'much' is not a number"),
    (2, ANALYSIS, "give --model_config PATH or --training_budget FLOPS"),
    (1, "DP/partition/partition.py 10 0", "world_size is 0, and there must be 1 rank or more"),
    (2, f"{PROFILE} --hdf5 --input pt", "--hdf5 and --input pt contradict each other"),
    (2, f"{PROFILE} --tgt-shape 11 3 8", "with the same number of items"),
    (2, f"{PROFILE} --src-shape 12 0 8", "--src-shape 12 0 8 and --tgt-shape 12 3 8: give whole"),
    (2, f"{PROFILE} --dtype bfloat16 --hdf5", "numpy has no such type"),
    (2, f"{PROFILE} --dtype int8", "invalid choice: 'int8'"),
    (2, f"{PROFILE} --workers -1", "--workers -1: there are 0 or more"),
    (2, f"{PROFILE} --bucket-mb 0", "--bucket-mb: must be a number above 0"),
    (2, f"{PROFILE} --batch_size 0", "must be a whole number, 1 or more"),
    (1, f"{PROFILE} --src-shape 12 2 10 --tgt-shape 12 3 10",
     "vectors of 10 numbers cannot be cut into 4 heads"),
    (1, f"{PROFILE} --profile --trace-dir @text/traces --batch-size 3",
     "a part of the path is a file, not a folder"),
    (1, f"{PROFILE} --profile --trace-dir @folder",
     "--wait 1 --warmup 1 --active 2 takes 4 steps, and the run has 1: the profiler"),
    (1, f"{PROFILE} --profile --trace-dir @folder --active 0", "keeps 1 step or more"),
    (1, f"{PROFILE} --profile --trace-dir @folder --wait -1", "keeps 1 step or more"),
    (1, f"{PROFILE} --hdf5 --data @text", "text is no hdf5 file, or is damaged"),
    (2, "DP/ddp/intro_DDP.py 0 --bucket-mb 0", "--bucket-mb: must be a number above 0, not '0'"),
    (2, "jobs/hello.py --megabytes 0", "--megabytes must be above 0"),
    (1, "-m helpers.timeline @brackets", "brackets is JSON but no Chrome trace"),
    (1, "-m helpers.timeline /nope", "cannot read the trace"),
    (1, "-m helpers.trace @bracket",
     "bracket is cut off after 1 bytes: copy it again, or run again to record it"),
    (2, "demo.py --batch 4", "--batch 4: choose a multiple of 3, for 3 ranks"),
    (1, "DP/weight_aggr/intro_DP_WA.py 9", "the rank must be a whole number from 0 to 2"),
    (1, GA, "this script needs its rank, a whole number from 0 to 2: start one process for each"),
    (1, f"{GA} 0 --backend nccl", "there is no GPU here (lessons see none): use --backend gloo"),
    (1, f"RANK=1 | {GA}", "RANK=1 is set, and WORLD_SIZE is not"),
    (1, f"WORLD_SIZE=3 | {GA}", "WORLD_SIZE=3 is set, and RANK is not"),
    (1, f"RANK=3 WORLD_SIZE=3 | {GA}", "RANK must be a whole number from 0 to 2"),
    (1, f"RANK=one WORLD_SIZE=3 | {GA}", "RANK must be a whole number, not 'one'"),
    (1, f"RANK=1 WORLD_SIZE=3 LOCAL_RANK=x | {GA}", "LOCAL_RANK must be a whole number, not 'x'"),
    (1, f"RANK=1 WORLD_SIZE=3 MASTER_PORT=x | {GA}", "MASTER_PORT must be a whole number, not 'x'"),
    (1, f"RANK=1 WORLD_SIZE=3 MASTER_ADDR=a..b | {GA}", "the address 'a..b' of rank 0 is not kno"),
    (1, f"RANK=1 WORLD_SIZE=3 | {GA} 2", "called with rank 2, but the environment says that it is"),
    (1, f"RANK=1 WORLD_SIZE=3 {MPI} | {GA}", "from MPI, that it is rank 2 of 3: type 'unset RANK"),
    (1, f"SLURM_STEP_ID=0 {SLURM} | {GA}", "SLURM_PROCID must be a whole number from 0 to 7"),
    (1, f"SLURM_STEP_ID=4294967294 {SLURM} | {GA}", "this script needs its rank"),  # no job step
    (2, "DP/zero/intro_ZeRO.py 0 --stage 4", "argument --stage: invalid choice: "),
    (1, "EP/experts/intro_EP.py 0 --world-size 4 --ep 3", "--ep 3 does not divide 4 ranks"),
    (1, "DP_PP/survival/intro_survival.py 0 --batch-size 5", "a batch of 5 cannot be cut into 2"),
    (2, "-m helpers.ranks -n 0 @program", "ranks must be a whole number from 1 to 64, not 0"),
    (2, "-m helpers.ranks -n 2 --timeout nan @program", "timeout must be a number of seconds"),
    (2, "-m helpers.oracle @folder", "the following arguments are required: parallel"),
    (2, "-m bench nope", "there is no bench/nope.py: choose from"),
    (2, "-m simplellm.stories -3", "count is -3, and must be a whole number, 0 or more"),
    (2, "-m simplellm.stories --skip -1", "skip is -1, and must be a whole number, 0 or more"),
    (2, "-m simplellm.stories --seed -1", "seed is -1, and must be a whole number from 0 to"),
]  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The files that lines name as "@name"."""
    folder = tmp_path_factory.mktemp("nonsense")
    time = '{"ph": "X", "name": "F", "ts": %s, "dur": 1, "pid": 0, "tid": 0}'
    content = {
        "zero": b"",
        "noise": bytes(range(256)) * 20,
        "text": b"banana",
        "bracket": b"{",
        "brackets": b"{}",
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


def in_this_process(line, monkeypatch, capfd) -> tuple[object, str, str]:
    """What the line ends with, its error and what it printed, without another process."""
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
    code, (out, said) = ended.value.code, capfd.readouterr()
    return (1, f"{said}{code}", out) if isinstance(code, str) else (code, said, out)


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


def assert_one_sentence(line, code, said, *_):
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


@pytest.mark.parametrize(("ends", "line", "words"), SAID)
def test_nonsense_is_refused_in_these_words(ends, line, words, files, monkeypatch, capfd):
    environment, _, line = line.rpartition("|")
    for each in environment.split():
        monkeypatch.setenv(*each.split("="))
    line = told(line.split(), files)
    code, said, out = in_this_process(line, monkeypatch, capfd)
    assert_one_sentence(line, code, said, out)
    assert code == ends and words in said.splitlines()[-1], said
    assert not out or "nan" in words  # that line begins to train


def test_a_mistake_in_the_code_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError), plain_errors():
        1 / 0  # noqa: B018
    with pytest.raises(ValueError, match="invalid literal"), plain_errors():
        int("x")


def test_too_little_memory_is_one_sentence():
    with pytest.raises(SystemExit, match="not enough memory"), plain_errors():
        raise MemoryError
