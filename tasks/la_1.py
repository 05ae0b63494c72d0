"""LA-1: from what a launcher left in the environment to a rank."""

from helpers.grade import Task

TASK = Task(
    id="LA-1",
    title="find the rank in the environment",
    file="jobs/count_ranks.py",
    function="from_environment",
    notebook="18",
    points=10,
    minutes=25,
    hints=(
        "What does a launcher set, and what is there if none has started this process? What is "
        "the type of a value of os.environ? Which of several launchers started the process itself, "
        "and which only started another launcher? And which variables could be left over?",
        "Collect what each of LAUNCHERS says; skip one whose rank or world size isn't there. The "
        "first that is left decides. If it is RANK, and torchrun's own mark is missing, compare "
        "its two numbers with those of every other launcher that you found.",
        "Turn the texts into integers. A rank below 0, or not below the world size, is a "
        "ValueError, and so is a RANK without SET_BY_TORCHRUN whose (rank, world size) differs "
        "from another launcher's. A local rank that is missing is the rank itself. If nothing "
        "was found, this is rank 0 of 1.",
    ),
)


def run(module, case):
    """What the work says for one environment: its answer, or its error.

    case: {name: value}, both text.
    """
    try:
        return module.from_environment(dict(case))
    except NotImplementedError:
        raise
    except Exception as error:
        return {"raises": type(error).__name__, "message": str(error)}
