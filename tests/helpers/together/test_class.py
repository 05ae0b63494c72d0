"""Three laptops and a host: they learn together, lose each other, and go on."""

import contextlib
import re
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from helpers.clone import ROOT
from helpers.together.client import Learner, Line
from helpers.together.lab import Refused
from helpers.together.table import Table

from .hosting import CODE, RECIPE, hosted, model, table

LEARNING = []  # (learner, its thread)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    for name, seconds in {"BEAT": 0.2, "POLL": 0.05, "RETRY": 0.3}.items():
        monkeypatch.setattr(f"helpers.together.client.{name}", seconds)
    yield
    while LEARNING:  # none computes on when Python ends
        learner, thread = LEARNING.pop()
        learner.ended.set()
        thread.join(timeout=20)


def wait_for(happened, what, longest=60.0):
    end = time.monotonic() + longest
    while not happened():
        assert time.monotonic() < end, f"waited for {what}"
        time.sleep(0.05)


def start(port, name, seed, said, code=CODE, kind=Learner, **how):
    learner = kind(Line(f"http://127.0.0.1:{port}", said.append), code, name, seed=seed, **how)
    thread = threading.Thread(target=learner.learn, daemon=True)
    thread.start()
    LEARNING.append((learner, thread))
    return LEARNING[-1]


def test_three_laptops_train_one_model_and_all_get_it(tmp_path):
    work, said = model(), []
    found = table(tmp_path, work.start(), RECIPE)
    with hosted(found, work) as (port, end):
        laptops = [start(port, name, seed, said) for seed, name in enumerate(("ada", "bob", "eve"))]
        wait_for(lambda: found.versions >= 12 and len(found.losses) > 1, "12 merges")
        assert all(one.tokens > 0 for one in found.roster.laptops.values())
        assert {len(one) for one in found.merges.merges[-6:]} & {2, 3}
        end()
        for learner, thread in laptops:
            thread.join(timeout=20)
            assert not thread.is_alive() and learner.merged > 1
        stories = {learner.fetch(tmp_path / f"{n}.safetensors") for n, (learner, _) in
                   enumerate(laptops)}  # fmt: skip
        assert len(stories) == 1 and all("tokens" not in one for one in said)
    assert work.judge(found.merges.weights) < found.losses[0][1] - 0.5
    assert (tmp_path / "0.safetensors").read_bytes() == (tmp_path / "2.safetensors").read_bytes()
    assert found.seen()["ended"] and found.seen()["story"]


def test_one_that_closes_its_lid_is_away_and_catches_up(tmp_path, monkeypatch):
    monkeypatch.setattr("helpers.together.roster.SILENT", 1.0)
    work, said = model(), []
    found = table(tmp_path, work.start(), RECIPE)
    with hosted(found, work) as (port, _):
        (ada, _), (bob, _) = (start(port, name, 1, said, pace=0.01) for name in ("ada", "bob"))
        wait_for(lambda: ada.merged and bob.merged, "both")
        doing = lambda: [one["doing"] for one in found.seen()["laptops"]]  # noqa: E731
        bob.line.once = raising(OSError("asleep"))
        wait_for(lambda: doing()[1] == "away" and doing()[0] != "away", "bob to be away")
        assert "doesn't answer. Waiting; nothing is lost" in said[-1]
        before, tokens = found.versions, bob.tokens
        wait_for(lambda: found.versions > before + 12, "ada alone")
        assert bob.tokens < tokens + 3 * 124  # it waits
        del bob.line.once
        merged = bob.merged
        wait_for(lambda: doing()[1] != "away" and bob.merged > merged, "bob to be back")
        assert re.search(r"the host is back after \d+ s", said[-1])


def raising(error):
    def once(*_):
        raise error

    return once


def test_a_host_that_has_forgotten_a_learner_is_joined_again(tmp_path):
    work, said = model(), []
    found = table(tmp_path, work.start(), RECIPE)
    with hosted(found, work) as (port, _):
        ada, thread = start(port, "ada", 1, said)
        wait_for(lambda: ada.merged, "a merge")
        secret = ada.line.secret
        found.roster.forget(found.roster.by_secret[secret])
        merged = ada.merged
        wait_for(lambda: ada.merged > merged + 1, "it to be back")
        assert ada.line.secret != secret and thread.is_alive()


class Counting(Learner):
    """A learner that adds up the tokens that it has delivered, and those that it was told count."""

    posted, told_of = 0, 0

    def exchange(self, verb, **message):
        self.posted += message.get("tokens", 0)
        found = super().exchange(verb, **message)
        self.told_of += message.get("tokens", 0) if found.get("kept") else 0
        return found


@contextlib.contextmanager
def host_process(folder, port):
    """Start the command, and kill it without a warning at the end of the block."""
    flags = f"--no-browser --model tiny --every 8 --grace 0.2 --port {port} --folder {folder}"
    command = [sys.executable, "-m", "helpers.together", "host", *flags.split()]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    told = []
    for line in process.stdout:
        told.append(line)
        if "Ctrl+C" in line:
            break
    try:
        yield "".join(told)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.stress)])
def test_a_host_that_is_killed_goes_on_from_its_last_merge(tmp_path, kills):
    """What learners were told of is in the file after each kill, and nothing counts twice."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    said, draw = [], np.random.default_rng(kills)
    learners, saved = [], None
    for _ in range(kills + 1):
        with host_process(tmp_path, port) as told:
            if not learners:
                code = re.search(r"join http://127\.0\.0\.1:\d+ (\w{6})", told).group(1)
                for seed, name in enumerate(("ada", "bob")):
                    how = {"code": code, "kind": Counting, "pace": 0.01}
                    learners.append(start(port, name, seed, said, **how)[0])
            else:
                assert f"Going on from {tmp_path / 'class.safetensors'}: {saved.versions}" in told
                assert "send again what waited" in told
            merged = [learner.merged for learner in learners]
            wait_for(lambda m=merged: all(a.merged > b for a, b in zip(learners, m, strict=True)),
                     "both to be merged")  # fmt: skip
            time.sleep(draw.uniform(0, 0.7))
        told_of = sum(learner.told_of for learner in learners)
        saved = Table.resume(tmp_path / "class.safetensors", most=9)
        wait_for(lambda: not any(a.line.there.is_set() for a in learners), "the learners to notice")
        counted = saved.merges.tokens * len(saved.merges.fragments)
        assert told_of <= counted <= sum(learner.posted for learner in learners)
        assert saved.merges.tokens == pytest.approx(124 * saved.merges.steps)
    assert sum("doesn't answer" in one for one in said) == 2 * (kills + 1)
    assert sum("the host is back" in one for one in said) == 2 * kills


def test_a_wrong_address_and_a_wrong_code_are_told_of(tmp_path):
    with pytest.raises(ValueError, match="copy the line from the projector"):
        Line("ftp://nowhere")
    with hosted(table(tmp_path)) as (port, _):
        with pytest.raises(Refused, match="this isn't the code of this class"):
            Learner(Line(f"127.0.0.1:{port}"), "XXXXXX", "ada")
        with pytest.raises(Refused, match="name must be a text of 1 to 16"):
            Learner(Line(f"127.0.0.1:{port}"), CODE, "a\x1b[2J")


def test_a_learner_believes_no_host_blindly(tmp_path):
    """A host that sends another shape, infinite weights or an unknown model is refused."""
    found = table(tmp_path)  # ten weights, and the model has more
    with hosted(found) as (port, _):
        learner = Learner(Line(f"127.0.0.1:{port}"), CODE, "ada")
        with pytest.raises(Refused, match="weights must have the shape"):
            learner(verb="weights")
    with hosted(table(tmp_path, recipe=replace(RECIPE, model="../other"))) as (port, _):
        with pytest.raises(Refused, match="a model that this version doesn't know"):
            Learner(Line(f"127.0.0.1:{port}"), CODE, "ada")
