"""Messages between neighbors: the scripts' ways and deadlock, and the ring's bytes."""

import pytest

from helpers.check.task import ROOT
from helpers.ranks import run_script

pytestmark = pytest.mark.ranks


def test_the_scripts_show_each_way_that_the_deadlock_ends_in_words_and_the_rings_bytes():
    report = run_script(ROOT / "primer/exchange.py", ranks=3, quiet=True, timeout=400)
    said = [f"{way}: rank 1 got [0.0, 0.0, 0.0, 0.0]" for way in ("order", "no-wait", "batch")]
    assert report.ok and report.texts[1].splitlines() == said, report
    flags = ["--way", "deadlock"]
    report = run_script(ROOT / "primer/exchange.py", 3, flags, quiet=True, timeout=400)
    assert "a ring of sends. Ranks 0, 1 and 2 all send first" in str(report), report
    assert "in exchange_deadlock" in str(report) and "dist.send(mine, right)" in str(report)
    report = run_script(ROOT / "primer/ring.py", 3, ["--numbers", "3000"], quiet=True, timeout=400)
    assert report.ok, report
    assert "rank 2 has sent 16,000 bytes = 1.333 of the tensor" in report.texts[0]
    assert "by closed form: 2 (n - 1) / n = 1.333" in report.texts[0]
