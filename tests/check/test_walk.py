"""In a student's copy every lesson goes to its end, with nothing solved and with all solved.

Each task is solved just before its check, or none is; a training takes few steps.
`make test-long` walks through all lessons both ways, `make test-all` through two of them.
"""

import pytest

from helpers.check.task import load_task
from notebooks import CHECK, code_cells, read, sources

pytestmark = [pytest.mark.slow, pytest.mark.patient]
RICH, SECONDS = ("03_data_parallel_gradients", "17_fewer_bits"), 1200


def walked(copy, source, solved: bool):
    """Return the lesson's tasks, and what each code cell shows; no cell fails."""
    notebook = read(source, quick=True)
    cells = code_cells(notebook)
    tasks = [found[1] for cell in cells if (found := CHECK.match(cell.source))]
    for cell in cells:
        if solved and (found := CHECK.match(cell.source)):
            cell.source = f'from helpers.check import solve\nsolve("{found[1]}")\n{cell.source}'
    shown = copy.execute(notebook, LAB_QUICK="1", OMP_NUM_THREADS="1")
    for cell, text in zip(cells, shown, strict=True):
        failed = [output for output in cell.outputs if output.output_type == "error"]
        assert not failed and "Traceback (most recent" not in text, (cell.source, failed, text)
    return tasks, shown


@pytest.mark.timeout(SECONDS)
@pytest.mark.long_for(*(source.stem for source in sources() if source.stem not in RICH))
@pytest.mark.parametrize("source", sources(), ids=lambda source: source.stem)
def test_with_nothing_solved_a_lesson_ends_and_names_what_is_undone(copy, source):
    tasks, shown = walked(copy, source, solved=False)
    text = "\n".join(shown)
    assert "  PASS  " not in text and all(f"{task}  TO DO  " in text for task in tasks)
    assert all(cell.count("This cell needs task ") <= 1 for cell in shown)


@pytest.mark.long
@pytest.mark.timeout(SECONDS * len(sources()))
def test_with_each_task_solved_before_its_check_all_pass(copy):
    """In one copy: what is solved in a lesson, later ones build on."""
    for source in sources():
        tasks, shown = walked(copy, source, solved=True)
        text = "\n".join(shown)
        assert "This cell needs" not in text, source
        assert all(f"{task}  PASS  {load_task(task).title}" in text for task in tasks), source
