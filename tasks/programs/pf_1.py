"""PF-1: wrong programs that the check must catch, and right ones that it must pass."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "no check",
        """
        number = 0 if local_rank is None else int(local_rank)
        if False:
            raise ValueError(f"LOCAL_RANK {number}, GPUs {gpus}")
        return f"cuda:{number % gpus}" if gpus else "cpu"
        """,
        says="so raise ValueError",
    ),
)

RIGHT = {
    "a list": """
        gpu_names = ["cuda:" + str(n) for n in range(gpus)]
        place = int(local_rank or 0)
        if backend == "nccl" and place not in range(gpus):
            raise ValueError("GPUs: %d, and LOCAL_RANK: %d" % (gpus, place))
        return gpu_names[place % len(gpu_names)] if gpu_names else "cpu"
        """,
}
