"""PF-1: one script for a laptop, for one GPU, and for many."""

from helpers.grade import Task

TASK = Task(
    id="PF-1",
    title="choose the device of a rank, with a launcher and without",
    file="DP/ddp/devices.py",
    function="choose_device",
    notebook="10",
    points=5,
    minutes=15,
    hints=(
        "Three questions. What if no local rank was given? What if there is no GPU at all? What if "
        "there are fewer GPUs than ranks: with which backend is that an error?",
        "Begin with the number: 0 where local_rank is None. Then the one case that is an error. "
        "Then the GPU, where there is one; the remainder of a division lets ranks take turns.",
        "Number = local_rank, or 0 for None. If the backend is nccl and the number is not below "
        "gpus, raise a ValueError that names both. Return cpu if gpus is 0, else the name of the "
        "GPU number modulo gpus.",
    ),
)


def run(module, case):
    """The device that the work chooses; where it refuses, what its error names.

    case: {"local_rank", "gpus", "backend"}, what `choose_device` takes.
    """
    try:
        return str(module.choose_device(*case.values()))
    except ValueError as error:
        number, gpus = str(case["local_rank"] or 0), str(case["gpus"])
        named = [word for word in ("LOCAL_RANK", number, gpus) if word in str(error)]
        return {"refused, and the error names": named}
    except TypeError as error:
        return {"TypeError": str(error)}
