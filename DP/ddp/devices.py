"""On what does this rank compute?"""


def choose_device(local_rank, gpus, backend):
    """The device of a rank: "cpu" where there is no GPU, else "cuda:" and the GPU's number.

    local_rank: of the ranks of this machine this one is number local_rank, from 0. None: nobody
        said so, because no launcher started it; it is alone, and takes GPU 0.
    gpus: how many this machine has. backend: "nccl" needs a GPU for each rank; with "gloo" ranks
        take turns, rank 2 of two GPUs has GPU 0 again.

    Raises ValueError, one sentence with LOCAL_RANK and both numbers in it, where NCCL was asked
    for and there is no GPU for this rank.
    """
    number = 0 if local_rank is None else int(local_rank)
    if backend == "nccl" and number >= gpus:
        raise ValueError(
            f"LOCAL_RANK is {number}, and this machine has {gpus} GPU(s): NCCL needs one for "
            "each rank; start fewer ranks here, or take --backend gloo"
        )
    return f"cuda:{number % gpus}" if gpus else "cpu"
