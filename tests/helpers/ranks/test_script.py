"""Scripts on several ranks, by helpers.ranks and by hand; by torchrun in test_listening.py."""

import argparse
import socket
import sys
import textwrap

import pytest
import torch.distributed as dist

from helpers.ranks import ConnectError, Place, run_script
from helpers.ranks import store as meeting
from helpers.ranks.__main__ import main
from helpers.ranks.connect import agree
from helpers.ranks.script import timeout_seconds

from .by_hand import ended

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

SCRIPT = textwrap.dedent("""
    import argparse, os
    import torch, torch.distributed as dist
    from helpers.plain_errors import plain_errors
    from helpers.ranks import connect, disconnect
    from helpers.ranks.script import add_rank_flags, place_from

    def main():
        parser = argparse.ArgumentParser()
        add_rank_flags(parser, ranks=2)
        parser.add_argument("--fail", type=int)
        options = parser.parse_args()
        place = place_from(options)
        connect(place, options.backend, options.timeout, quiet=True)
        if options.fail == place.rank:
            raise RuntimeError("as asked")
        x = torch.ones(3) * (place.rank + 1)
        dist.all_reduce(x)
        print("sum", x.sum().item(), place.launcher, os.environ["LAB_CHECKED"])
        disconnect()

    if __name__ == "__main__":
        with plain_errors():
            main()
""")


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "sum.py"
    path.write_text(SCRIPT)
    return path


def by_hand(script, *calls: list[str], port: int | None = None):
    return ended(*([sys.executable, str(script), *call] for call in calls), port=port)


def at_once(text: str) -> str:
    """What a rank said, without the lines that say for whom it waits: on a slow machine it does."""
    return "".join(line for line in text.splitlines(True) if " waits for " not in line)


def test_a_script_that_fails(script, capfd, tmp_path):
    assert main(["-n", "2", "--logs", str(tmp_path), str(script), "--fail", "1"]) == 1
    err = capfd.readouterr().err
    line = SCRIPT.splitlines().index('        raise RuntimeError("as asked")') + 1
    assert f"rank 1 failed first at line {line} of sum.py, in main: RuntimeError: as asked" in err
    assert (tmp_path / "out1.txt").exists()


def test_a_script_that_is_not_python(tmp_path):
    (tmp_path / "wrong.py").write_text("import os\n\nfor rank in range(2)\n    print(rank)\n")
    report = run_script(tmp_path / "wrong.py", 1, quiet=True)
    assert "rank 0 failed first at line 3 of" in report.failure.sentence
    assert "wrong.py" in report.failure.sentence and "expected ':'" in report.failure.sentence


@pytest.mark.parametrize(("code", "said"), [("", ""), ("0", ""), ("3", "with exit status 3")])
def test_a_script_that_ends_itself(code, said, tmp_path):
    (tmp_path / "ends.py").write_text(f"import sys\nsys.exit({code})\n")
    report = run_script(tmp_path / "ends.py", 1, quiet=True)
    assert report.ok if not said else said in report.failure.sentence


def test_a_script_that_is_not_there(capfd):
    assert main(["-n", "2", "nowhere.py"]) == 2
    assert capfd.readouterr().err == (
        "error: the script nowhere.py does not exist: name a Python file\n"
    )


def test_ranks_that_disagree_about_the_world_size(script):
    for rank in by_hand(script, ["0", "--world-size", "2"], ["1", "--world-size", "3"]):
        assert rank.returncode == 1
        assert rank.stderr.startswith("error: the ranks disagree about the world size: rank ")
        assert len(rank.stderr.splitlines()) == 1


def test_no_time_at_all_is_no_time_limit():
    for text in ("0", "soon", "nan"):
        with pytest.raises(argparse.ArgumentTypeError, match="must be a number of seconds from 1"):
            timeout_seconds(text)


def test_a_port_in_use(script):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        (zero,) = by_hand(script, ["0"], port=port)
    assert zero.returncode == 1
    assert f"error: port {port} is in use by another program" in zero.stderr
    assert "MASTER_PORT" in zero.stderr


@pytest.mark.long
def test_a_rank_that_never_comes(script):
    (zero,) = by_hand(script, ["0", "--timeout", "4"])
    assert "rank 0 waits for rank 1" in zero.stdout
    assert zero.stderr == "error: after 4 s rank 1 did not come\n"
    (one,) = by_hand(script, ["1", "--timeout", "4"])
    assert "waits for rank 0 at localhost" in one.stdout
    assert "but nothing listens there: start rank 0 too" in one.stderr


# --- before they are a group ---------------------------------------------------------------------


def refusal(store, rank: int = 0) -> str:
    with pytest.raises(ConnectError) as caught:
        agree(store, Place(rank, 2, rank, 2), "gloo", timeout=0.1)
    return str(caught.value)


def test_a_mistake_is_left_for_all(monkeypatch, capsys):
    monkeypatch.setattr(meeting, "SAY_AFTER_S", 0.0)
    store = dist.HashStore()
    sentence = refusal(store)
    assert capsys.readouterr().out == "[ranks] rank 0 waits for rank 1\n"
    assert sentence == "after 0 s rank 1 did not come"
    assert store.get("mistake").decode() == sentence  # a late rank reads it
    store = dist.HashStore()
    store.set("came/0", "abc")
    assert refusal(store).startswith("rank 0 was started twice")
    store = dist.HashStore()
    store.set("terms", "2 nccl 1")
    assert refusal(store) == (
        "the ranks disagree about the backend: rank 1 takes nccl and rank 0 takes gloo; name one "
        "for all with --backend"
    )
