"""PF-1: the device of a rank; a rank may have none, and may have to share one."""

import random

REFUSED = "refused, and the error names"


def cases(seed):
    """The usual ones, and some on larger machines; without a launcher there is no local rank."""
    draw = random.Random(seed)
    usual = [(rank, gpus) for gpus in (0, 1, 2, 4) for rank in (None, 0, 1, 2, 4, 7)]
    drawn = [(draw.randint(0, 30), draw.randint(3, 16)) for _ in range(6)]
    return [
        {"local_rank": rank, "gpus": gpus, "backend": backend}
        for backend in ("gloo", "nccl")
        for rank, gpus in usual + drawn
    ]


def name(case):
    return f"local_rank {case['local_rank']}, {case['gpus']} GPUs and {case['backend']}"


def truth(case, alone=("nccl",), more=0, turns=True, first=False, cpu=True, named=True):
    """alone: the backends that need a GPU for each rank. Another keyword is a mistake."""
    number, gpus = case["local_rank"] or 0, case["gpus"]
    if case["backend"] in alone and number >= gpus + more:
        return {REFUSED: ["LOCAL_RANK", str(number), str(gpus)] if named else []}
    if gpus == 0 and cpu:
        return "cpu"
    return f"cuda:{0 if first else number % max(gpus, 1) if turns else number}"


MISTAKES = {
    "the number of this rank is the number of GPUs, and they are counted from 0: NCCL has none for "
    "it, so raise ValueError": {"more": 1},
    "there is no such GPU, or another rank has it: NCCL needs one for each rank, so raise "
    "ValueError": {"alone": ()},
    "an error, and ranks may share a GPU there: only NCCL needs one for each": {
        "alone": ("gloo", "nccl")
    },
    "there is no GPU with this number: ranks take turns, so take the remainder": {"turns": False},
    "every rank has GPU 0, and the others are idle: rank and GPU go together": {"first": True},
    "there is no GPU at all: the answer must be 'cpu'": {"cpu": False},
    "the error says too little: LOCAL_RANK and both numbers must be in it, or nobody knows what to "
    "change": {"named": False},
}


def explain(case, seen):
    """What the facts say, where it is none of the known mistakes."""
    right = truth(case)
    if isinstance(seen, dict) and "TypeError" in seen:
        none = "; without a launcher there is no local rank" if case["local_rank"] is None else ""
        return f"TypeError: {seen['TypeError']}{none}"
    if isinstance(right, str):
        found = "an error" if isinstance(seen, dict) else repr(seen)
        return f"the answer must be {right!r}, and is {found}"
    if isinstance(seen, dict):
        return (
            f"the error names no more than {', '.join(seen[REFUSED])}: LOCAL_RANK and both numbers "
            "must be in it, or nobody knows what to change"
        )
    return f"the answer is {seen!r}, and must be an error: NCCL needs a GPU for each rank"
