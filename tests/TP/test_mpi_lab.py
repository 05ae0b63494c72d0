"""The MPI lab's commands work as students type them, and refuse in one sentence what can't work."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.check.task import ROOT, load_module

pytestmark = [pytest.mark.slow, pytest.mark.patient]

LAB = ROOT / "TP"
mpirun = load_module(LAB / "mpirun.py", "lab_mpirun")


def shell(*command, lab=LAB):
    """Run a command as a student types it inside TP/, on a machine where mpirun starts."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    facts = os.environ | {"PATH": path, "PY_COLORS": "0"} | mpirun.settings()
    return subprocess.run(command, cwd=lab, env=facts, capture_output=True, text=True, timeout=400)


@pytest.mark.long_for("mpirun -n 8")
@pytest.mark.parametrize(
    ("command", "tests"),
    [
        ("python3 -m pytest -l -v tests/test_data_split.py", 16),
        ("mpirun -n 8 python3 -m pytest -l -v --with-mpi tests/test_get_info.py", 7),
        ("mpirun -n 4 python3 -m pytest -l -v --with-mpi tests", 88),
    ],
)
def test_the_commands_that_students_know(command, tests):
    done = shell(*command.split())
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" passed") == 1 and f" {tests} passed" in done.stdout


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("mpirun -n 2 python3 -m pytest tests/test_get_info.py", "and --with-mpi: type  mpirun -n"),
        ("python3 -m pytest --with-mpi tests/test_get_info.py", "need 2 ranks or more, there is"),
        ("mpirun -n 3 python unified_train.py --mp_size 2 --dp_size 2", "is 4, and there are 3"),
        ("mpirun -n 2 python unified_train.py --mp-sise 2", "unrecognized arguments: --mp-sise 2"),
        # As where mpirun is MPICH's: it says 4 in its own way, and Open MPI's library sees 1.
        ("env PMI_SIZE=4 python mpi-test.py", "mpirun started 4 ranks, and each of them sees 1:"),
    ],
)
def test_what_cannot_work_is_said_once_in_one_sentence(command, words):
    done = shell(*command.split())
    assert done.returncode in (2, 4) and words in done.stderr, done.stdout + done.stderr
    assert done.stderr.lower().count("error:") == 1 and "Traceback" not in done.stderr


def test_what_fails_on_one_rank_fails_and_a_rank_that_leaves_the_others_waiting_ends_them(tmp_path):
    lab = shutil.copytree(LAB, tmp_path / "TP")
    world, code = lab / "mpi_wrapper/world.py", lab / "model/func_impl.py"
    world.write_text(world.read_text().replace("TOGETHER_S = 10.0", "TOGETHER_S = 1.0"))
    text = code.read_text(encoding="utf-8")
    for name, old, new, *words in (
        ("backward", "np.ascontiguousarray(mine)", "mine.copy() + (mp_group_idx == 2)",
         "failed on rank 2:"),
        ("forward", "    mp_comm.Allgather(", "    assert mp_comm.Get_rank() != 1, 'rank 1 has had "
         "enough'\n    mp_comm.Allgather(", "rank 1 is done with", "rank 1 has had enough"),
    ):  # fmt: skip
        assert old in text
        code.write_text(text.replace(old, new), encoding="utf-8")
        command = f"mpirun -n 3 python3 -m pytest -q --with-mpi tests/test_naive_mp_{name}.py"
        done = shell(*command.split(), lab=lab)
        assert done.returncode and all(word in done.stdout + done.stderr for word in words)


SHOWN = {
    "allreduce": "rank 1: had [10 11 12 13], has the sum of all: [10 12 14 16]",
    "allgather": "rank 0: had [0 1], has what all had: [ 0  1 10 11]",
    "reduce_scatter": "rank 1: had [10 11 12 13], has its part of the sum: [14 16]",
    "alltoall": "rank 1: had [10 11], has one number of each: [ 1 11]",
    "split": "rank 1: color 1, place 0 of 1 in its group, whose ranks add up to 1",
}


def test_the_set_up_is_checked_and_each_collective_is_shown(tmp_path):
    done = shell("mpirun", "-n", "8", "python", "mpi-test.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("messages arrive") == 1 and "8 ranks of" in done.stdout
    shown = shell("python", "mpirun.py", "-n", "1", "--show", "mpi-test.py").stdout
    assert "export OMP_NUM_THREADS=1\n" in shown and "-n 1 python3 -m mpi4py mpi-test.py" in shown
    (tmp_path / "in_turn.py").write_text(
        "import runpy, sys\nfor case in sys.argv[1:]:\n"
        "    sys.argv = ['mpi-test.py', '--test_case', case]\n"
        "    runpy.run_path('mpi-test.py', run_name='__main__')\n"
    )
    done = mpirun.run_mpi([str(tmp_path / "in_turn.py"), *SHOWN], 2, 200)
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert done.returncode == 0 and [x for x in lines if x in SHOWN.values()] == [*SHOWN.values()]


def test_digits_are_learned_to_95_percent_on_ranks_as_on_one():
    flags = ["unified_train.py", "--epochs", "2"]
    layout = ["--mp_size", "2", "--dp_size", "2", "--megatron-mp"]
    outs = [mpirun.run_mpi(*run, 80).stdout for run in (([*flags, *layout], 4), (flags, 1))]
    said = [[line.strip() for line in out.splitlines() if "epoch" in line] for out in outs]
    assert said[0] == said[1] and len(said[0]) == 2, outs
    assert float(said[0][-1].split()[-1]) > 0.95
    assert "model-parallel group: rank 0 sends" in outs[0]


def test_handin_tar_holds_what_a_student_has_written(tmp_path):
    lab = shutil.copytree(LAB, tmp_path / "TP")
    assert shell("make", "-s", "handin.tar", lab=lab).returncode == 0
    cost, work = "model_training_cost_analysis.py", "data/data_parallel_preprocess.py"
    listed = shell("tar", "-tf", "handin.tar", lab=lab).stdout.split()
    assert listed == [work, "model/func_impl.py", cost]


def test_an_exception_on_one_rank_ends_all_and_ranks_that_wait_say_where(tmp_path):
    script = tmp_path / "ends.py"
    script.write_text(
        "from mpi4py import MPI\nif MPI.COMM_WORLD.rank:\n    raise KeyError('x')\n"
        "MPI.COMM_WORLD.Barrier()\n"
    )
    done = mpirun.run_mpi([str(script)], 2, 200)
    assert done.returncode != 0 and "KeyError: 'x'" in done.stderr
    script.write_text("from mpi4py import MPI\nMPI.COMM_WORLD.recv(source=0)\n")
    done = mpirun.run_mpi([str(script)], 2, 10)
    assert done.returncode != 0 and 'ends.py", line 2 in <module>' in done.stderr, done
