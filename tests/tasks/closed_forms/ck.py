"""A checkpoint that is whole or not there: its rules pass what a later run can load."""

LOADED = "tests/tasks/test_programs.py::test_right_work_passes_and_wrong_work_is_named"
CLOSED_FORMS = {"CK-1": LOADED}
