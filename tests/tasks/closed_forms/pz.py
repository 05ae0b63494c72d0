"""The puzzles: their times as closed forms, and published ones."""

ENOUGH = "tests/tasks/test_puzzles.py::"
ENOUGH += "test_the_solution_takes_what_is_enough_and_where_it_is_a_formula_no_less"
CLOSED_FORMS = {f"PZ-{name}": ENOUGH for name in (*range(1, 9), "P0", "P1", "P2", "P3")} | {
    "PZ-P4": "tests/puzzles/test_classic_profile.py::test_part_4_has_full_score_on_32_ranks",
    "PZ-P5": "tests/puzzles/test_boss.py::test_the_solutions_of_lesson_18_and_of_the_readme",
}
