"""The demo's ranks take one device's step and curve, and when it is stopped none is left."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from helpers.check.task import ROOT, load_module

pytestmark = [pytest.mark.slow, pytest.mark.patient]

DEMO = [sys.executable, "demo.py", "--batch", "3", "--steps"]
PLAIN = os.environ | {"NO_COLOR": "1", "COLUMNS": "40", "PYTHONPATH": str(ROOT)}


def test_the_demo_tells_the_whole_story_in_forty_columns(tmp_path):
    environment = {k: v for k, v in PLAIN.items() if "DISPLAY" not in k}
    how = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": 400}
    command = [*DEMO, "4", "--out", str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, env=environment, **how)
    assert ended.returncode == 0, ended.stderr
    said = ended.stdout
    assert "\r" not in said and "\x1b" not in said
    ends = re.findall(r"^(?:one device|3 ranks) +loss (\d\.\d\d) +[\d,]+ tokens/s$", said, re.M)
    assert len(ends) == 2 and ends[0] == ends[1]
    assert "  step    4  loss" in said and "[rank 0]   step    4  loss" in said
    together = " ".join(said.split())
    told = re.search(r"by up to (\S+); .* largest difference is (\S+): the same", together)
    assert float(told[2]) < 1e-4 * float(told[1])
    for words in ("entropy of the stories is 0.28", "A story by", "complete sentences in 10"):
        assert words in together
    assert "rank 0: F0 F1 B0" in said
    told, path = said.splitlines()[:-1], said.splitlines()[-1]
    assert path == str(tmp_path / "step.html") and max(map(len, told)) <= 60
    page = Path(path).read_text(encoding="utf-8")
    assert "predicted" in page and "measured" in page
    assert "://" not in page.replace("http://www.w3.org/", "")  # nothing is fetched


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="signals of a terminal")
def test_an_interrupt_is_one_sentence_and_leaves_no_rank(tmp_path):
    command, pipe = [*DEMO, "60", "--out", str(tmp_path)], subprocess.PIPE
    how = {"stdout": pipe, "stderr": pipe, "start_new_session": True}
    demo = subprocess.Popen(command, cwd=ROOT, env=PLAIN, **how)
    said = b""
    while b"[rank 0]   step" not in said:
        part = os.read(demo.stdout.fileno(), 1000)
        assert part, demo.stderr.read().decode()
        said += part
    ranks = psutil.Process(demo.pid).children(recursive=True)
    assert len(ranks) >= 3
    os.killpg(demo.pid, signal.SIGINT)  # as Ctrl-C in a terminal: the demo and all its children
    _, errors = demo.communicate(timeout=60)
    assert demo.returncode == 130
    assert errors.decode().strip() == "stopped: no rank is left running"
    assert not [rank for rank in psutil.wait_procs(ranks, timeout=20)[1] if rank.is_running()]
    assert not (tmp_path / "step.html").exists()


@pytest.mark.parametrize("factor, words", [(1, ": the same step"), (3, ": NOT the same step")])
def test_a_sum_in_place_of_a_mean_is_another_step(factor, words):
    """A rank alone stands for three: its gradients times `factor` are what a sum would give."""
    demo = load_module(ROOT / "demo.py", "demo")
    flags = "--dmodel 12 --heads 2 --layers 1 --seq-l 16 --device cpu --batch-size 3 --like-ranks 3"
    options = demo.intro.read_flags(flags.split())
    step = demo.one_step(options)
    step.lr *= factor  # for SGD the same as gradients that are `factor` times as large
    ranks = demo.intro.train(step, demo.silent)[1].state_dict()
    assert words in demo.compare_one_step(options, ranks)
