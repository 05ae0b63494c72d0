"""Wrong ways to do PF-1, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


def choose(
    number="0 if local_rank is None else int(local_rank)",
    when='backend == "nccl" and number >= gpus',
    words='f"LOCAL_RANK {number}, GPUs {gpus}"',
    device='f"cuda:{number % gpus}" if gpus else "cpu"',
):
    """The right answer with one of its parts done in another way."""
    return f"""
    number = {number}
    if {when}:
        raise ValueError({words})
    return {device}
    """


MISTAKES = (
    PlantedMistake("no launcher", choose(number="int(local_rank)"), says="there is no local rank"),
    PlantedMistake("no check", choose(when="False"), says="so raise ValueError"),
    PlantedMistake(
        "one too late",
        choose(when='backend == "nccl" and number > gpus'),
        says="so raise ValueError",
    ),
    PlantedMistake(
        "gloo refused", choose(when="number >= gpus > 0"), says="ranks may share a GPU there"
    ),
    PlantedMistake(
        "no turns", choose(device='f"cuda:{number}" if gpus else "cpu"'), says="must be 'cuda:0'"
    ),
    PlantedMistake(
        "all on one", choose(device='"cuda:0" if gpus else "cpu"'), says="must be 'cuda:1'"
    ),
    PlantedMistake(
        "always a GPU", choose(device='f"cuda:{number % max(gpus, 1)}"'), says="must be 'cpu'"
    ),
    PlantedMistake(
        "an error that says nothing", choose(words='"no GPU"'), says="both numbers must be in it"
    ),
)

ALSO_RIGHT = {
    "a list": """
    gpu_names = ["cuda:" + str(n) for n in range(gpus)]
    place = int(local_rank or 0)
    if backend == "nccl" and place not in range(gpus):
        raise ValueError("GPUs: %d, and LOCAL_RANK: %d" % (gpus, place))
    return gpu_names[place % len(gpu_names)] if gpu_names else "cpu"
    """,
}
