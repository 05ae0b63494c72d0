"""The commands as people type them: two learners on another host, over a slow link."""

import re
import subprocess
import sys

import pytest

from helpers.clone import ROOT
from helpers.network import Link, TwoHosts, why_not

HERE = [sys.executable, "-m", "helpers.together"]


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "it can")
def test_learners_on_another_host_join_over_a_slow_link(tmp_path):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "cwd": ROOT}
    with TwoHosts() as hosts:
        hosts.slow(Link(megabits=10, milliseconds=40))
        flags = ["--listen", hosts.addresses[0], "--minutes", "0.6", "--folder", str(tmp_path)]
        flags += "--no-browser --model tiny --every 16 --grace 1".split()
        host = hosts.start(0, [*HERE, "host", *flags], **options)
        told = ""
        while "Ctrl+C" not in told and (line := host.stdout.readline()):
            told += line
        assert "opens port 18641 to whoever reaches this machine" in told
        typed = re.search(r"python -m helpers\.together (join http://10\.77\.0\.1:18641 \w+)", told)
        saved = [tmp_path / f"{name}.safetensors" for name in ("ada", "bob")]
        learners = [
            hosts.start(1, [*HERE, *typed[1].split(), "--name", file.stem, "--save", file,
                            "--pace", "0.02"], **options)
            for file in saved
        ]  # fmt: skip
        said = [learner.communicate(timeout=120)[0] for learner in learners]
        assert all("Your class's model is in" in one and "you're in" in one for one in said), said
        assert saved[0].read_bytes() == saved[1].read_bytes()
        ended = host.stdout.readline()
        tokens = int(re.search(r"([\d,]+) tokens merged", ended)[1].replace(",", ""))
        assert tokens > 2000, ended
        assert (tmp_path / "together.safetensors").read_bytes() == saved[0].read_bytes()
