"""What the test run consists of: its parts, and which of them run side by side."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """One part: commands that run one after the other, each in its own process.

    commands: arguments of the environment's Python. A command that starts with `-m pytest` has its
    tests counted; any other counts as one error where it fails.
    minutes: the part is stopped after so long.
    """

    name: str
    commands: tuple[tuple[str, ...], ...]
    minutes: float = 10


def pytest(*arguments: str) -> tuple[str, ...]:
    # One module that cannot be imported does not keep the others from being tested.
    return ("-m", "pytest", "-q", "--continue-on-collection-errors", *arguments)


# A lab folder with top-level names of its own is a part of its own, one line each, and is left out
# of "tests" by one more entry in OWN_PROCESS.
OWN_PROCESS = ("tests/notebooks", "tests/browser", "tests/grade", "tests/puzzles", "tests/gpt2")
LINT = Part("lint", (("-m", "ruff", "check"), ("-m", "ruff", "format", "--check")), minutes=2)
TESTS = Part(
    "tests", (pytest("tests", *(f"--ignore={folder}" for folder in OWN_PROCESS)),), minutes=25
)
EXERCISES = Part("exercises", (pytest("tests/grade"),), minutes=20)
PUZZLES = Part("puzzles", (pytest("tests/puzzles"),), minutes=6)
GPT2 = Part("gpt2", (pytest("tests/gpt2"), pytest("gpt2/tests")), minutes=9)
NOTEBOOKS = Part("notebooks", (pytest("tests/notebooks"),), minutes=25)
BROWSER = Part("browser", (pytest("tests/browser"),), minutes=8)
STUDENT_EDITION = Part("student edition", (("-m", "helpers.grade.student"),), minutes=2)

# Round after round. In a round, lanes run side by side, and the parts of a lane one after the
# other. Most of these tests wait, for ranks to start and for what hangs to be seen: two lanes fill
# two cores. A browser gives up waiting, so it has the machine for itself.
ROUNDS = (
    ((LINT,),),
    ((TESTS, PUZZLES, GPT2), (NOTEBOOKS, EXERCISES)),
    ((BROWSER, STUDENT_EDITION),),
)
PARTS = tuple(part for lanes in ROUNDS for lane in lanes for part in lane)
