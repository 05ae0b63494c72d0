"""GP-1 (problem 1.1): cut a data set into parts without losing a sample."""

from pathlib import Path

from helpers.grade import Mistake, Submission, Task
from helpers.grade.task import load_module

gp = load_module(Path(__file__).with_name("_gp.py"), "lab_task_gp")

TASK = Task(
    id="GP-1",
    title="cut a data set into parts, and lose no sample",
    file="gpt2/data_parallel/dataset.py",
    function="cut",
    notebook="16",
    points=10,
    minutes=20,
    hints=(
        "A part is a list of numbers of samples. In which order should the numbers be before they "
        "are cut? And what happens to 50 samples if each of 3 parts has int(50 / 3)?",
        "Shuffle with a generator of your own, random.Random(seed). Then round where each part "
        "ends, not how long it is: the next part begins there, so nothing is lost between.",
        "Part k ends at round(samples * (the sum of sizes up to and including k)), and begins "
        "where part k - 1 ends.",
    ),
)
CASES = [(10, [0.7, 0.2, 0.1]), (49, [1 / 49] * 49), (50, [1 / 3] * 3), (40, [0.25] * 4)]


def work(module, seed):
    """The parts of each case; the last case again, by the same seed and by another."""
    found = [module.cut(samples, sizes, seed) for samples, sizes in CASES]
    again, other = (module.cut(*CASES[-1], seed + more) for more in (0, 1))
    return [[list(map(int, part)) for part in parts] for parts in (*found, again, other)]


def verify(submission: Submission) -> None:
    """Raises Mistake or WorkFailed."""
    (found,) = submission.on_ranks(work, 1, submission.seed)
    *cases, again, other = found
    for (samples, sizes), parts in zip(CASES, cases, strict=True):
        judge(samples, sizes, parts)
    if again != cases[-1]:
        raise Mistake("the same seed gives other parts: every rank must cut in the same way")
    if other == cases[-1]:
        raise Mistake("another seed gives the same parts: does the shuffle use the seed?")


def judge(samples, sizes, parts):
    """One case. Raises Mistake."""
    where = f"{samples} samples in {len(sizes)} parts"
    if len(parts) != len(sizes):
        raise Mistake(f"{where}: there are {len(parts)} lists; give one for each share")
    together = [number for part in parts for number in part]
    twice = next((n for n in together if together.count(n) > 1), None)
    if twice is not None:
        raise Mistake(f"{where}: sample {twice} is in two parts")
    lost = sorted(set(range(samples)) - set(together))
    if lost:
        raise Mistake(
            f"{where}: {len(lost)} of them, such as sample {lost[0]}, are in no part: round the "
            "ends of the parts, and not each length"
        )
    if max(together) >= samples:
        raise Mistake(f"{where}: there is no sample {max(together)}; they are counted from 0")
    for number, (size, part) in enumerate(zip(sizes, parts, strict=True)):
        if abs(len(part) - size * samples) > 1:
            raise Mistake(
                f"{where}: part {number} has {len(part)} samples, and its share is "
                f"{size * samples:.1f}"
            )
    if samples > 20 and together == sorted(together):
        raise Mistake(f"{where}: they are still in their order: shuffle them before you cut")
