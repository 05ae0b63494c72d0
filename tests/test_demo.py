"""The main job: the same step, the same curve, a story, the page; and how it ends when stopped."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from helpers import demo as shown
from helpers.check.task import ROOT, load_module
from helpers.schedules import one_f_one_b
from helpers.simulate import Costs, simulate
from helpers.timeline import timeline

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
    assert "\r" not in said and "\x1b" not in said  # a bar on one line, and no color
    line = r"^(one device|[23] ranks|2 stages) +#{10} step +\d+ loss (\d\.\d\d)$"
    bars = re.findall(line, said, re.M)
    assert [name for name, _ in bars] == ["one device", "2 ranks", "3 ranks", "2 stages"]
    assert bars[0][1] == bars[2][1]
    assert len(re.findall(r"^(?:one device|[23] ranks) +[\d,]+ tokens/s$", said, re.M)) == 3
    together = " ".join(said.split())
    told = re.search(r"by up to (\S+); .* largest difference is (\S+): the same", together)
    assert float(told[2]) < 1e-4 * float(told[1])
    for words in ("entropy of the stories is 0.28", "A story by", "complete sentences in 10"):
        assert words in together
    told, path = said.splitlines()[:-1], said.splitlines()[-1]
    assert path == str(tmp_path / "index.html")
    assert max(map(len, told)) <= 40
    page = Path(path).read_text(encoding="utf-8")
    assert "rank 0: F0 F1 B0" in page and "after 1 step, loss 7.1" in page
    assert "://" not in page.replace("http://www.w3.org/", "")  # nothing is fetched


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="signals of a terminal")
def test_an_interrupt_is_one_sentence_and_leaves_no_rank(tmp_path):
    command, pipe = [*DEMO, "60", "--out", str(tmp_path)], subprocess.PIPE
    how = {"stdout": pipe, "stderr": pipe, "start_new_session": True}
    demo = subprocess.Popen(command, cwd=ROOT, env=PLAIN, **how)
    said = b""
    while b"3 ranks    #" not in said:
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
    assert not (tmp_path / "index.html").exists()


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


def test_a_bar_passes_on_other_lines_and_the_page_escapes_what_the_model_writes(capsys):
    bar = shown.Bar("3 ranks", 2)
    with contextlib.redirect_stdout(bar):
        print("[rank 0] [ranks] 3 ranks over gloo: there is no GPU here")
        print("rank 0  step 0  loss 7.000")
        print("[rank 2] something is wrong")
        print("rank 0  step 1  loss 6.000", flush=True)
    bar.seconds = 4.0
    done = bar.end([7.0, 6.0], tokens=10)
    said = capsys.readouterr().out
    assert said == "3 ranks    #####[rank 2] something is wrong\n##### step   2 loss 6.00\n"
    steps = timeline(simulate(one_f_one_b(2, 3), Costs()).trace)
    stories = [(1, 7.0, ""), (2, 5.0, "One day <b> Tom & Mia")]
    page = shown.as_page([done], 0.3, ["Fact."], "rank 0: F0", steps, stories, "Of 3, 2.")
    assert "<blockquote>…</blockquote>" in page and "One day &lt;b&gt; Tom &amp; Mia" in page
    assert done.speed == 5.0 and "<b> Tom" not in page
