"""For every test: in which run and in which worker it runs, and that none quietly does not run.

`make test` leaves out what is slow, `make test-all` what is long, and both run two workers. One of
them runs all that starts ranks, one test after the other, while the other computes: a rank that
waits for the processor looks like one that stands still. Alone, `python -m pytest tests/jobs` runs
all that it is given.

Under CI a test that is skipped or expected to fail fails the session.
"""

import gc
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

# nbformat would build a parser of all internet addresses, in seconds, for what no notebook has.
sys.modules.setdefault("rfc3987_syntax", None)
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ["CUDA_VISIBLE_DEVICES"] = ""  # `make gpu` looks at them
# Two threads that wait for each other on a busy machine can take many times as long as one.
os.environ["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS") or "1"

# Folders, files and tests, as node ids begin. Slow is what starts programs as a person does, each
# with an interpreter of its own, and what waits for seconds; and every test marked "stress".
SLOW = (
    "gpt2/tests/test_data_parallel.py",
    "tests/CP/test_attention.py::test_every_way_is_one_device[1]",
    "tests/CP/test_attention.py::test_every_way_is_one_device[3]",
    "tests/CP/test_attention.py::test_half_precision",
    "tests/CP/test_scripts.py::test_a_grid",
    "tests/DP/test_chaos.py",
    "tests/DP/test_ddp.py::test_the_script",
    "tests/DP/test_neighbor.py",
    "tests/DP/test_never_stops.py",
    "tests/DP/test_profiling.py::test_each_rank_leaves",
    "tests/DP/test_profiling.py::test_the_traces",
    "tests/DP/test_scripts.py::test_run_sh",
    "tests/DP/test_zero.py::test_each_stage_is_one_device[a weight that",
    "tests/DP/test_zero.py::test_each_stage_is_one_device[tied-sgd",
    "tests/DP/test_zero.py::test_torchs_own",
    "tests/DP/test_zero_more.py",
    "tests/EP/test_experts.py::test_the_script",
    "tests/EP/test_hops.py",
    "tests/PP/test_clip_and_tie.py::test_only_the_right",
    "tests/PP/test_prove.py",
    "tests/PP/test_torchs_words.py",
    "tests/TP/test_mpi_lab.py",
    "tests/bench/cluster_model/",
    "tests/browser/",
    "tests/forensics/test_cases.py",
    "tests/gpt2/test_control.py",
    "tests/gpt2/test_pipe.py",
    "tests/gpt2/test_processes.py",
    "tests/gpt2/test_scripts.py",
    "tests/gpt2/test_training.py",
    "tests/grade/test_class.py",
    "tests/grade/test_score.py",
    "tests/grade/test_hostile.py",
    "tests/grade/test_many.py::test_an_interrupt",
    "tests/grade/test_many.py::test_every_submission",
    "tests/grade/test_many.py::test_the_limits",
    "tests/grade/test_notebook.py::test_a_kernel_that",
    "tests/grade/test_notebook.py::test_an_interrupt",
    "tests/grade/test_notebook.py::test_in_a_kernel",
    "tests/grade/test_notebook.py::test_the_second_check",
    "tests/grade/test_progress.py::test_a_forged_record",
    "tests/grade/test_sandbox.py",
    "tests/grade/test_student.py::test_most_tasks",
    "tests/grade/test_student.py::test_no_line",
    "tests/grade/test_submission.py",
    "tests/helpers/checkpoint/test_layouts.py::test_another_layout",
    "tests/helpers/checkpoint/test_layouts.py::test_a_fresh_optimizer_would_be_seen[kind1",
    "tests/helpers/checkpoint/test_layouts.py::test_fully_sharded",
    "tests/helpers/checkpoint/test_layouts.py::test_one_device_goes_on_from_every_layout[grid2",
    "tests/helpers/checkpoint/test_layouts.py::test_one_device_goes_on_from_every_layout[grid3",
    "tests/helpers/checkpoint/test_layouts.py::test_shards",
    "tests/helpers/cluster/test_search.py::test_the_best_of_a_wide",
    "tests/helpers/cost/test_rooflines.py::test_bounds_on_four_ranks",
    "tests/helpers/doctor/test_facts.py::test_here_everything",
    "tests/helpers/draw/test_timeline.py::test_a_hundred_thousand",
    "tests/helpers/hang/test_hang_lines.py::test_a_hang_is_told[unchecked",
    "tests/helpers/hang/test_hang_lines.py::test_a_hang_of_ddp_is_told[False",
    "tests/helpers/hang/test_hang_lines.py::test_a_right_program_ends[unchecked",
    "tests/helpers/hang/test_hang_lines.py::test_what_is_not_proven",
    "tests/helpers/hang/test_hangs.py::test_a_hang_is_told[unchecked",
    "tests/helpers/hang/test_hangs.py::test_after_the_timeout",
    "tests/helpers/hang/test_legal.py",
    "tests/helpers/hang/test_threads.py",
    "tests/helpers/oracle/test_scripts.py",
    "tests/helpers/parallel/test_grid.py::test_eight_ranks",
    "tests/helpers/pipeline/test_parity.py::test_every_rank_does_what_the_schedule_says_and_keeps_no_more[2",
    "tests/helpers/pipeline/test_parity.py::test_the_step_is_that_of_one_device[2",
    "tests/helpers/play/test_game.py::test_who_follows_every_word_of_the_coach_wins[1f1b",
    "tests/helpers/play/test_game.py::test_who_follows_every_word_of_the_coach_wins[h",
    "tests/helpers/play/test_game.py::test_who_follows_every_word_of_the_coach_wins[v",
    "tests/helpers/ranks/test_hooked_in.py",
    "tests/helpers/ranks/test_kernel.py",
    "tests/helpers/ranks/test_launch.py::test_a_machine_with_one_core",
    "tests/helpers/ranks/test_launch.py::test_ranks_cannot_start_ranks",
    "tests/helpers/ranks/test_launch.py::test_without_fork",
    "tests/helpers/ranks/test_listening.py",
    "tests/helpers/ranks/test_loaded.py",
    "tests/helpers/ranks/test_pool.py",
    "tests/helpers/ranks/test_script.py",
    "tests/helpers/ranks/test_watch.py",
    "tests/helpers/test_clone.py",
    "tests/helpers/test_private.py",
    "tests/jobs/",
    "tests/notebooks/test_build.py",
    "tests/notebooks/test_compare.py::test_a_changed_count_in_a_committed",
    "tests/notebooks/test_execution.py",
    "tests/primer/test_exchange.py::test_the_deadlock",
    "tests/primer/test_rollouts.py",
    "tests/puzzles/test_boss.py",
    "tests/puzzles/test_scripts.py",
    "tests/simplellm/stories/test_grammar.py::test_each_story",
    "tests/simplellm/stories/test_information.py::test_every_sentence",
    "tests/simplellm/test_models.py::test_the_best",
    "tests/tasks/test_programs.py",
    "tests/tasks/test_references.py::test_a_reference_that_is_broken",
    "tests/test_demo.py",
    "tests/test_readme.py::test_its_ten_lines",
    "tests/tools/test_gpu.py::test_each_script",
    "tests/tools/test_gpu.py::test_the_traced",
    "tests/tools/test_mutate.py",
    "tests/tools/test_pages.py::test_the_names_of_files",
    "tests/tools/test_pages.py::test_without_a_repository",
    "tests/tools/test_run_tests.py::test_the_closing_line",
    "tests/tools/test_run_tests.py::test_what_fails_once",
    "tests/tools/test_strict.py",
    "tests/walk/",
)
# Further cases of what a shorter test shows as well, each of many seconds: `make test-long` runs
# them, as the weekly workflow does, and all that is marked "stress".
LONG = (
    "tests/DP/test_never_stops.py::test_a_replica_whose_cable",
    "tests/TP/test_mpi_lab.py::test_the_commands_that_students_know[mpirun -n 8",
    "tests/bench/cluster_model/test_against_clusters.py::test_the_page_is_current",
    "tests/browser/test_access.py::test_axe_finds_nothing_and_nothing_jumps[explore-390",
    "tests/browser/test_access.py::test_axe_finds_nothing_and_nothing_jumps[index-1440",
    "tests/browser/test_access.py::test_axe_finds_nothing_and_nothing_jumps[lessons/06_micro_batches-390",
    "tests/browser/test_access.py::test_axe_finds_nothing_and_nothing_jumps[lessons/07",
    "tests/browser/test_access.py::test_axe_finds_nothing_and_nothing_jumps[play-1440",
    "tests/browser/test_access.py::test_axe_finds_nothing_and_nothing_jumps[puzzles-390",
    "tests/browser/test_folds.py::test_a_passed_check",
    "tests/browser/test_pictures.py::test_a_picture_from_elsewhere",
    "tests/browser/test_site.py::test_the_picture_of_a_puzzle",
    "tests/browser/test_site_kept.py::test_a_returning_player",
    "tests/browser/test_site_kept.py::test_a_run_belongs",
    "tests/browser/test_site_kept.py::test_predictions_and_levels",
    "tests/browser/test_site_reading.py::test_nothing_of_a_page",
    "tests/browser/test_timeline.py::test_a_profile_of_torch",
    "tests/browser/test_widget_in_notebook.py::test_a_slider_keeps",
    "tests/forensics/test_runs.py",
    "tests/gpt2/test_scripts.py::test_both_halves",
    "tests/grade/test_hostile.py::test_hostile_work_fails_with_its_reason_and_the_next_check_is_sound[loop",
    "tests/grade/test_hostile.py::test_hostile_work_fails_with_its_reason_and_the_next_check_is_sound[stops-its",
    "tests/grade/test_student.py::test_it_grades_itself",
    "tests/helpers/checkpoint/test_survival_script.py",
    "tests/helpers/cluster/test_search.py::test_the_best_of_a_wide",
    "tests/helpers/hang/test_legal.py::test_a_legal_program_ends[unchecked",
    "tests/helpers/oracle/test_scripts.py::test_a_hugging_face",
    "tests/helpers/ranks/test_hooked_in.py::test_ranks_that_were_warm",
    "tests/helpers/ranks/test_loaded.py::test_a_rank_that_runs_one_line_imports_little[fresh]",
    "tests/helpers/ranks/test_script.py::test_a_rank_that_never_comes",
    "tests/helpers/ranks/test_watch.py::test_a_backward_pass",
    "tests/helpers/ranks/test_watch.py::test_a_cable_that_is_cut[heals",
    "tests/helpers/ranks/test_watch.py::test_a_deadlock_ends_in_a_sentence[0",
    "tests/helpers/ranks/test_watch.py::test_a_long_wait",
    "tests/helpers/ranks/test_watch.py::test_a_rank_that_does_not_exist",
    "tests/helpers/ranks/test_watch.py::test_a_rank_whose_partner_has_died[0",
    "tests/helpers/ranks/test_watch.py::test_a_send_that_nobody_takes",
    "tests/helpers/ranks/test_watch.py::test_a_traceback_that_is_shown",
    "tests/jobs/test_jobs.py::test_torchrun_starts_again",
    "tests/tasks/test_programs.py::test_right_work_passes_and_wrong_work_is_named[CK-1]",
    "tests/tasks/test_programs.py::test_right_work_passes_and_wrong_work_is_named[CO-1]",
    "tests/tasks/test_programs.py::test_right_work_passes_and_wrong_work_is_named[DP-2]",
    "tests/tasks/test_programs.py::test_right_work_passes_and_wrong_work_is_named[DP-8]",
    "tests/tasks/test_programs.py::test_right_work_passes_and_wrong_work_is_named[DP-PP-1]",
    "tests/tasks/test_programs.py::test_right_work_passes_and_wrong_work_is_named[DP-PP-2]",
    "tests/tasks/test_programs.py::test_right_work_passes_and_wrong_work_is_named[EP-1]",
    "tests/tasks/test_programs.py::test_right_work_passes_and_wrong_work_is_named[GP-7]",
    "tests/tasks/test_programs.py::test_right_work_passes_and_wrong_work_is_named[PP-1]",
    "tests/tasks/test_programs.py::test_right_work_passes_and_wrong_work_is_named[PP-2]",
    "tests/tasks/test_programs.py::test_right_work_passes_and_wrong_work_is_named[PP-3]",
    "tests/tasks/test_programs.py::test_right_work_passes_and_wrong_work_is_named[RC-1]",
    "tests/tasks/test_programs.py::test_right_work_passes_and_wrong_work_is_named[RC-2]",
    "tests/tasks/test_programs.py::test_right_work_passes_and_wrong_work_is_named[TP-2]",
    "tests/tasks/test_programs.py::test_right_work_passes_and_wrong_work_is_named[TW-1]",
    "tests/tasks/test_references.py::test_the_reference_is_right_and_each_mutant_is_told_by_its_own_sentence[DP-PP-2]",
    "tests/tasks/test_references.py::test_the_reference_is_right_and_each_mutant_is_told_by_its_own_sentence[GP-7]",
    "tests/tasks/test_references.py::test_the_reference_is_right_and_each_mutant_is_told_by_its_own_sentence[TP-2]",
    "tests/tasks/test_references.py::test_the_reference_is_right_and_each_mutant_is_told_by_its_own_sentence[TW-1]",
    "tests/test_demo.py::test_an_interrupt",
    "tests/tools/test_gpu.py::test_each_script_is_itself_on_the_same_device[CP",
    "tests/tools/test_gpu.py::test_each_script_is_itself_on_the_same_device[DP/ddp",
    "tests/tools/test_gpu.py::test_each_script_is_itself_on_the_same_device[DP/zero",
    "tests/tools/test_gpu.py::test_each_script_is_itself_on_the_same_device[DP_PP/",
    "tests/tools/test_gpu.py::test_each_script_is_itself_on_the_same_device[EP",
    "tests/tools/test_gpu.py::test_each_script_is_itself_on_the_same_device[PP/1F1B",
    "tests/tools/test_gpu.py::test_each_script_is_itself_on_the_same_device[PP/microbatches",
    "tests/tools/test_gpu.py::test_each_script_is_itself_on_the_same_device[PP/schedules",
    "tests/tools/test_gpu.py::test_each_script_is_itself_on_the_same_device[TP",
    "tests/tools/test_mutate.py::test_what_no_test_notices",
    "tests/tools/test_run_tests.py::test_what_hangs",
)
GROUPS = {
    # Two lanes in `make test-all`: a lesson is patient, and so is the grader, whose work may take a
    # minute. They can run beside the ranks.
    "patient": (
        "tests/TP/test_mpi_lab.py",
        "tests/grade/test_class.py",
        "tests/grade/test_many.py",
        "tests/grade/test_notebook.py",
        "tests/grade/test_submission.py",
        "tests/notebooks/test_build.py",
        "tests/puzzles/test_scripts.py",
        "tests/tasks/test_programs.py",
        "tests/tasks/test_references.py",
        "tests/test_demo.py",
        "tests/walk/",
    ),
    "ranks": (
        "gpt2/tests/test_data_parallel.py",
        "tests/CP/",
        "tests/DP/test_chaos.py",
        "tests/DP/test_ddp.py",
        "tests/DP/test_neighbor.py",
        "tests/DP/test_never_stops.py",
        "tests/DP/test_profiling.py",
        "tests/DP/test_scripts.py",
        "tests/DP/test_split.py",
        "tests/DP/test_zero.py",
        "tests/DP/test_zero_more.py",
        "tests/EP/",
        "tests/PP/",
        "tests/TP/",
        "tests/browser/",
        "tests/forensics/test_runs.py",
        "tests/fuzz/test_executor.py",
        "tests/fuzz/test_legal_programs.py",
        "tests/fuzz/test_nonsense.py",
        "tests/gpt2/test_processes.py",
        "tests/gpt2/test_scripts.py",
        "tests/gpt2/test_training.py",
        "tests/grade/test_hostile.py",
        "tests/grade/test_sandbox.py",
        "tests/helpers/checkpoint/test_layouts.py",
        "tests/helpers/checkpoint/test_survival_script.py",
        "tests/helpers/checkpoint/test_wrong.py",
        "tests/helpers/cost/test_rooflines.py::test_bounds_on_four_ranks",
        "tests/helpers/grid/",
        "tests/helpers/hang/",
        "tests/helpers/network/",
        "tests/helpers/oracle/test_scripts.py",
        "tests/helpers/parallel/",
        "tests/helpers/pipeline/",
        "tests/helpers/ranks/",
        "tests/helpers/test_private.py",
        "tests/jobs/",
        "tests/primer/test_exchange.py",
        "tests/primer/test_hiding.py",
        "tests/primer/test_ring.py",
        "tests/primer/test_rollouts.py",
        "tests/test_parity.py",
        "tests/test_readme.py",
        "tests/tools/test_gpu.py",
        "tests/tools/test_run_tests.py",
    ),
}
# What most tests' functions import on their ranks: once for all, as each launch has new ones.
IMPORTED = (
    "helpers.checkpoint",
    "helpers.oracle",
    "helpers.parallel",
    "helpers.pipeline",
    "helpers.ranks.start",
    "helpers.search",
    "helpers.trace",
    "pytest",
    "simplellm.llama",
)
NOT_RUN = "a test did not run that should have"


def is_strict() -> bool:
    """Return whether a test that does not run is a failure."""
    return os.environ.get("CI", "") not in ("", "0", "false")


def pytest_ignore_collect(collection_path, config):
    """Don't even import a file or folder that is slow as a whole, if what is slow won't run."""
    if config.option.markexpr == "not slow" and collection_path != config.rootpath:
        place = collection_path.relative_to(config.rootpath).as_posix()
        return place in SLOW or f"{place}/" in SLOW or None


def pytest_collection_finish():
    gc.freeze()  # a hundred imported packages: each full collection would look at all of them


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items):
    for item in items:
        if item.nodeid.startswith(SLOW) or item.get_closest_marker("stress"):
            item.add_marker(pytest.mark.slow)
        if item.nodeid.startswith(LONG):
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.long)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each worker one group after the other; a test in no group is one by itself."""
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            fitting = [name for name, places in GROUPS.items() if nodeid.startswith(places)]
            return fitting[0] if fitting else nodeid

    return ByGroup(config, log)


@pytest.fixture(scope="session")
def warm_ranks():
    """Keep ranks warm between all tests, as a notebook does: to start them takes the most time."""
    from helpers.ranks import keep_warm

    keep_warm(4, imports=IMPORTED)
    yield
    keep_warm(0)


@pytest.fixture(autouse=True)
def ranks_are_warm(request):
    if os.environ.get("LAB_WARM") == "0":  # tools/mutate.py: few tests of a run start ranks
        return
    if request.node.nodeid.startswith(GROUPS["ranks"]):
        request.getfixturevalue("warm_ranks")


def made_to_fail(report):
    """Return the report itself, or if it says "did not run" the same report as a failure."""
    expected = getattr(report, "wasxfail", None)
    if not is_strict() or (report.outcome != "skipped" and expected is None):
        return report
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else (expected or "no reason")
    if expected is not None:
        reason = f"expected to fail: {reason}"
        del report.wasxfail
    report.outcome = "failed"
    report.longrepr = f"{NOT_RUN}: {report.nodeid} ({reason})"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return made_to_fail((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return made_to_fail((yield))


def pytest_configure(config):
    config.pluginmanager.register(Clock())


class Clock:
    """The seconds of each folder, shown where durations are."""

    def __init__(self):
        self.seconds: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report):
        self.seconds[str(Path(report.nodeid.partition("::")[0]).parent)] += report.duration

    def pytest_terminal_summary(self, terminalreporter, config):
        if config.option.durations:
            terminalreporter.section("seconds of each folder, in one worker or the other")
            for folder, seconds in sorted(self.seconds.items()):
                terminalreporter.write_line(f"{seconds:8.1f}  {folder}")
