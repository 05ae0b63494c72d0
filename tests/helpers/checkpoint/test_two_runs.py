"""Two runs that save to one folder: the second is told so, and neither spoils the other's draft."""

import os
import signal
import socket

import pytest
import torch

from helpers.checkpoint import CheckpointError, load, saving, steps
from helpers.checkpoint import save as save_here

from .test_folder import make, names

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the other run is forked")


class Other:
    """Another process, stopped in the middle of a save: its draft is there and half written."""

    def __init__(self, folder, step):
        there, self.asked = os.pipe()
        self.said, here = os.pipe()
        self.pid = os.fork()
        if self.pid:
            assert os.read(self.said, 1) == b"."
            return
        os.close(self.asked)  # so that this process ends with the other one
        write = saving._write

        def write_late(tensors, draft):
            (draft / "__9_9.distcp").write_text("half")
            os.write(here, b".")
            os.read(there, 1)
            (draft / "__9_9.distcp").unlink()
            write(tensors, draft)

        saving._write = write_late
        try:
            save_here(folder, make(step), step)
            os._exit(0)
        finally:
            os._exit(9)

    def finish(self):
        os.write(self.asked, b".")
        return self.ended()

    def ended(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def require(folder, step):
    """The checkpoint of this step is that of `make(step)`."""
    found = make()
    assert load(folder, found, step).step == step
    assert torch.equal(found.model.weight, make(step).model.weight)


def test_the_second_run_is_told_who_saves(tmp_path):
    other = Other(tmp_path, 4)
    draft = names(tmp_path)
    with pytest.raises(CheckpointError) as caught:
        save_here(tmp_path, make(7), 7)
    words = str(caught.value)
    assert f"another run is saving to {tmp_path}" in words
    assert f"(process {other.pid} on {socket.gethostname()}, since 2" in words
    assert words.endswith("end one of the two, or choose another folder for this one")
    assert names(tmp_path) == draft and steps(tmp_path) == []  # reading takes no lock
    assert other.finish() == 0
    require(tmp_path, 4)
    save_here(tmp_path, make(7), 7)
    require(tmp_path, 7)


def test_a_run_that_was_killed_holds_nothing(tmp_path):
    other = Other(tmp_path, 4)
    os.kill(other.pid, signal.SIGKILL)
    assert other.ended() == -signal.SIGKILL
    save_here(tmp_path, make(3), 3)
    assert names(tmp_path) == ["step-00000003"]
    require(tmp_path, 3)


@pytest.mark.parametrize("step", [4, 7])
def test_without_locks_each_run_writes_its_own_draft(step, tmp_path, monkeypatch):
    """Some network file systems have none. Then no draft is removed, for somebody may write it."""
    import errno
    import fcntl

    def refuse(*args):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    other = Other(tmp_path, 4)
    save_here(tmp_path, make(step), step)
    assert (other.finish() == 0) == (step == 7)  # a name is given only once
    require(tmp_path, step)
    assert steps(tmp_path) == sorted({4, step})
    for each in steps(tmp_path):
        require(tmp_path, each)


def test_a_file_that_is_not_of_this_run_is_seen_before_the_name_is_given(tmp_path):
    write = saving._write

    def disturbed(tensors, draft):
        write(tensors, draft)
        (draft / "__1_0.distcp").write_text("of another run")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saving, "_write", disturbed)
        with pytest.raises(CheckpointError, match="does not hold what the ranks have written"):
            save_here(tmp_path, make(1), 1)
    assert names(tmp_path) == []
