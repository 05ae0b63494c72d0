"""Nonsense on command lines: every program ends, with one sentence and without a traceback.

Each line of the table is a command that can't mean anything, and what its sentence must hold. It is
refused before any process is started, so it runs here, in this process.
"""

import runpy
import sys
from pathlib import Path

import pytest

from helpers.plain_errors import plain_errors

pytestmark = pytest.mark.ranks

ROOT = Path(__file__).resolve().parents[2]
GA = "DP/gradient_aggr/intro_DP_GA.py"
DP_PP = "DP_PP/intro_DP_PP.py"
TINY = "primer/intro.py --dmodel 12 --heads 2 --layers 1 --seq-l 16"
MICRO_BATCHES = "PP/microbatches/intro_PP_microbatches.py 0"
SCHEDULED = "PP/schedules/intro_PP_schedule.py 0"
RING = "CP/ring/intro_CP_ring.py 0 --dmodel 16 --heads 4 --layers 2 --seq-l 16 --world-size"
CHOSEN = "TP/choose_layout.py --model_config"
ANALYSIS = "TP/model_training_cost_analysis.py"
NAN = "the loss became nan at step"
PROFILE = "DP/ddp/profile_ddp.py --epochs 1 --src-shape 12 2 8 --tgt-shape 12 3 8"
# The line, and what its sentence holds. "@name" is a file of `files`; before a "|" stands what is
# in the environment.
SAID = [
    (f"{TINY} --text nowhere.txt", 'There is no file "nowhere.txt"'),
    (f"{TINY} --batch-size 4 --like-ranks 3", "cannot be divided among 3 ranks"),
    (f"{TINY} --optimizer sgd --lr 1e30 --steps 9", NAN),
    ("primer/intro.py --lr fast", "--lr: must be a number, 0 or more, not 'fast'"),
    ("primer/intro.py --size huge", "--size: invalid choice: 'huge'"),
    (f"{MICRO_BATCHES} --micro-batches 2", "a batch of 3 cannot be cut into 2 equal"),
    (f"{DP_PP} 0 --world-size 4", "1 x 3 x 1 is 3 ranks, and there are 4"),
    (f"{SCHEDULED} --schedule nope",
     "--schedule nope: there is no such file; the names are naive, GPipe, 1F1B"),
    (f"{SCHEDULED} --batch-size 4 --micro-batches 4",
     "takes rounds of 3 micro-batches, and there are 4: choose"),
    ("TP/llama/intro_TP.py 0 --world-size 3", "4 heads cannot be divided among 3 ranks"),
    (f"{RING} 4 --seq-l 20", "20 tokens cannot be cut into 8 equal chunks"),
    (f"{ANALYSIS} --model_config nowhere.json", "nowhere.json cannot be read"),
    (f"{ANALYSIS} --model_config {ANALYSIS}", "is not JSON: give a model's config.json"),
    (ANALYSIS, "give --model_config PATH or --training_budget FLOPS"),
    ("DP/partition/partition.py 10 0", "world_size is 0, and there must be 1 rank or more"),
    (f"{PROFILE} --hdf5 --input pt", "argument --input: not allowed with argument --hdf5"),
    (f"{PROFILE} --tgt-shape 11 3 8", "with the same number of items"),
    (f"{PROFILE} --src-shape 12 0 8", "--src-shape 12 0 8 and --tgt-shape 12 3 8: give whole"),
    (f"{PROFILE} --dtype bfloat16 --hdf5", "numpy has no such type"),
    (f"{PROFILE} --bucket-mb 0", "--bucket-mb: must be a number above 0"),
    (f"{PROFILE} --src-shape 12 2 10 --tgt-shape 12 3 10",
     "vectors of 10 numbers cannot be cut into 4 heads"),
    (f"{PROFILE} --profile --trace-dir @text/traces --batch-size 3",
     "a part of the path is a file, not a folder"),
    (f"{PROFILE} --profile --trace-dir @folder",
     "the profiler skips a step, warms up in one and keeps two, and the run has 1: raise"),
    (f"{PROFILE} --hdf5 --data @text", "text is no hdf5 file, or is damaged"),
    ("jobs/hello.py --megabytes 0", "--megabytes must be above 0"),
    ("demo.py --batch 4", "--batch 4: choose a multiple of 3, for 3 ranks"),
    (GA, "this script needs its rank, a whole number from 0 to 2: start one process for each"),
    (f"{GA} 0 --backend nccl", "there is no GPU here (lessons see none): use --backend gloo"),
    (f"RANK=1 WORLD_SIZE=3 MASTER_ADDR=a..b | {GA}", "the address 'a..b' of rank 0 is not kno"),
    ("DP/zero/intro_ZeRO.py 0 --stage 4", "argument --stage: invalid choice: "),
    ("EP/experts/intro_EP.py 0 --world-size 4 --ep 3", "--ep 3 does not divide 4 ranks"),
    ("-m helpers.oracle @folder", "the following arguments are required: parallel"),
    ("-m bench nope", "there is no bench/nope.py: choose from"),
    *[(f"{TINY} --seed {seed}", "") for seed in (-1, 2**64, "x")],
    *[(f"{TINY} --text {text}", "") for text in ("/dev/zero", "@folder", "@zero", "@noise")],
    *[(f"{TINY} --tokenizer {name}", "") for name in ("/dev/zero", "@folder", "@noise")],
    *[(f"{TINY} {flags}", "") for flags in ("--threads 0", "--batch-size 1000000000", "--dmodel 7",
      "--seq-l 1000000000", "--layers 1000000000", "--heads 5", "--lr nan", "--trace @folder")],
    *[(f"{GA} 0 --timeout {seconds}", "") for seconds in ("0", "nan", "inf", "1e99")],
    *[(f"{SCHEDULED} --schedule {name}", "") for name in ("@folder", "@text", "@noise")],
    *[(f"{DP_PP} 0 --stages {number}", "") for number in (4, 0, -2)],
    *[(f"{CHOSEN} TP/llama_7b_config.json --gpus {number}", "") for number in (0, 10**9, "x")],
    *[(f"{ANALYSIS} --model_config {path}", "") for path in ("@folder", "@noise", "@deep")],
    *[(f"-m helpers.{program} {file}", "") for program in ("timeline", "trace")
      for file in ("@deep", "@huge", "@noise", "@zero", "@folder", "@text")],
    ("-m helpers.trace @step --picture @text/x.svg", ""),
    ("-m helpers.timeline @step -o @folder", ""),
    *[(f"-m helpers.ranks -n 2 {what}", "") for what in ("/nope.py", "--logs @text @program")],
    *[(f"-m helpers.cluster.validate {file}", "") for file in ("/nope", "@noise", "@zero")],
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
        "deep": b"[" * 100_000,
        "huge": ('{"traceEvents": [' + time % "1e308" + "]}").encode(),
        "step": ('{"traceEvents": [' + time % "0" + "]}").encode(),
        "program": b"print('here')",
    }
    for name, data in content.items():
        (folder / name).write_bytes(data)
    (folder / "folder").mkdir()
    return folder


@pytest.mark.parametrize(("line", "words"), SAID)
def test_nonsense_is_refused_in_one_sentence(line, words, files, monkeypatch, capfd):
    environment, _, line = line.rpartition("|")
    for each in environment.split():
        monkeypatch.setenv(*each.split("="))
    line = [str(files / word[1:]) if word.startswith("@") else word for word in line.split()]
    program, *arguments = line[1:] if line[0] == "-m" else line
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", [program, *arguments])
    monkeypatch.setattr(sys, "path", [str(Path(program).parent), *sys.path])
    with pytest.raises(SystemExit) as ended:
        run = runpy.run_module if line[0] == "-m" else runpy.run_path
        run(program, run_name="__main__")
    out, said = capfd.readouterr()
    if isinstance(ended.value.code, str):
        said += ended.value.code
    lines = [text for text in said.splitlines() if text.strip()]
    assert ended.value.code not in (0, None) and "Traceback" not in said
    assert "error: " in lines[-1] and sum("error: " in text for text in lines) == 1, said
    assert len(lines) == 1 or lines[0].startswith(("usage: ", "simplellm: ")), said
    assert words in lines[-1] and (not out or words in ("", NAN))  # that line begins to train


def test_a_mistake_in_the_code_keeps_its_traceback():
    with pytest.raises(ValueError, match="invalid literal"), plain_errors():
        int("x")
    with pytest.raises(SystemExit, match="not enough memory"), plain_errors():
        raise MemoryError
    with pytest.raises(SystemExit, match="^error: the connection to another rank broke, inside to"):
        with plain_errors():
            raise RuntimeError("[../gloo/transport/tcp/pair.cc:547] Connection closed by peer")
