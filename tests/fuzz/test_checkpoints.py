"""Checkpoints that are killed at random moments, damaged bit by bit, or saved by two runs at once.

Each checkpoint here holds one number, in every weight, momentum and setting; so one that mixes two
saves is seen. tests/helpers/checkpoint kills ranks at the moments that somebody thought of.
"""

import os
import signal
import time

import pytest
import torch
from torch import nn

from helpers.checkpoint import CheckpointError, Training, latest, load, save, steps

pytestmark = [
    pytest.mark.stress,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="runs that are killed are forked"),
]


def make(number=-1.0, tensors=8, size=20_000):
    """A training that holds this number, everywhere."""
    model = nn.ParameterList(torch.full((size,), float(number)) for _ in range(tensors))
    optimizer = torch.optim.SGD(model.parameters(), lr=float(number) + 1, momentum=0.9)
    for weight in model:
        optimizer.state[weight]["momentum_buffer"] = torch.full_like(weight, float(number))
    return Training(model, optimizer)


def number_in(folder, step=None, **sizes):
    """The step and the one number of a checkpoint, which must be whole and of one save."""
    training = make(**sizes)
    done = load(folder, training, step)
    found = {done.position["number"], training.optimizer.param_groups[0]["lr"] - 1}
    for weight in training.model:
        for tensor in (weight, training.optimizer.state[weight]["momentum_buffer"]):
            found |= set(torch.unique(tensor.detach()).tolist())
    assert len(found) == 1, f"{done.path} holds {found}"
    return done.step, found.pop()


def run(work, *args):
    """Call `work(say, *args)` in a process of its own, without a word; its id and what it says."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            work(lambda line: os.write(theirs, f"{line}\n".encode()), *args)
            os._exit(0)
        except BaseException as error:
            os.write(theirs, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(9)
    os.close(theirs)
    return pid, os.fdopen(ours)


def save_for_ever(say, folder):
    while True:
        step = (latest(folder) or 0) + 1
        save(folder, make(step), step, position={"number": step})
        say(step)


def test_a_run_that_is_killed_at_any_moment_leaves_whole_checkpoints(effort, numbers, tmp_path):
    last = 0
    for _ in range(effort(4, 20)):
        pid, said = run(save_for_ever, tmp_path)
        first = said.readline()
        time.sleep(numbers.uniform(0, 0.15))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        lines = [first, *said]
        done = [int(line) for line in lines]  # anything else is an error that it met
        step, number = number_in(tmp_path)
        assert step == number and step in (done[-1], done[-1] + 1) and done[0] == last + 1
        last = step
    assert steps(tmp_path) in ([last - 1, last], [last - 2, last - 1, last])


SMALL = {"tensors": 2, "size": 10}


@pytest.mark.parametrize(
    ("name", "many"), [("__0_0.distcp", 300), (".metadata", 300), ("checkpoint.json", 10**9)]
)
def test_one_bit_that_turns_anywhere_is_found(name, many, effort, numbers, tmp_path):
    file = save(tmp_path, make(5, **SMALL), 5, position={"number": 5, "rate": 1e-7}) / name
    good = file.read_bytes()
    bits = range(8 * len(good))
    for bit in numbers.sample(bits, min(effort(60, many), len(bits))):
        data = bytearray(good)
        data[bit // 8] ^= 1 << bit % 8
        file.write_bytes(data)
        with pytest.raises(CheckpointError) as caught:
            load(tmp_path, make(**SMALL))
        assert name in str(caught.value) and "\n" not in str(caught.value), f"bit {bit}"
    file.write_bytes(good)
    assert number_in(tmp_path, **SMALL) == (5, 5)


def save_until(say, folder, base, count):
    """Save `count` times, in the steps that nobody has saved; say each, or what came instead."""
    told = set()
    while count:
        step = (latest(folder) or 0) + 1
        try:
            save(folder, make(base + step), step, position={"number": base + step}, keep=10**6)
        except CheckpointError as error:
            if str(error) not in told:  # a run that waits for the other meets it very often
                say(error)
            told.add(str(error))
        else:
            say(step)
            count -= 1


def test_two_runs_in_one_folder_never_mix(effort, tmp_path):
    count, bases = effort(6, 60), (0, 1000)
    runs = [(*run(save_until, tmp_path, base, count), base) for base in bases]
    saved, refused = {}, []
    for pid, said, base in runs:
        for line in said:
            if line.strip().isdigit():
                saved[int(line)] = base + int(line)
            else:
                refused.append(line)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, refused
    assert steps(tmp_path) == sorted(saved) and len(saved) == 2 * count
    for step, number in saved.items():
        assert number_in(tmp_path, step) == (step, number)
    for line in refused:  # the two that a run can meet here
        assert "another run is saving to" in line or "belongs to another run" in line, line
