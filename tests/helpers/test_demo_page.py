"""What the demo shows: its bar, the step that it picks, and its page."""

from contextlib import redirect_stdout

from helpers import demo
from helpers.schedules import one_f_one_b
from helpers.simulate import Costs, simulate
from helpers.timeline import timeline
from helpers.trace import Event, Trace


def test_a_bar_appends_and_never_moves_back(capsys):
    bar = demo.Bar("one device", 3)
    for step in range(3):
        bar(step, 5.0)
    phase = bar.end([7.0, 6.0, 5.25], tokens=10)
    assert capsys.readouterr().out == "one device ########## step   3 loss 5.25\n"
    assert phase.name == "one device" and phase.speed > 0


def test_a_bar_reads_the_lines_of_a_rank_and_passes_on_the_others(capsys):
    bar = demo.Bar("3 ranks", 2)
    with redirect_stdout(bar):
        print("[rank 0] [ranks] 3 ranks over gloo: there is no GPU here")
        print("rank 0  step 0  loss 7.000")
        print("[rank 2] something is wrong")
        print("rank 0  step 1  loss 6.000", flush=True)
    bar.seconds = 4.0
    assert bar.end([7.0, 6.0], tokens=10).speed == 5.0
    said = capsys.readouterr().out
    assert said == "3 ranks    #####[rank 2] something is wrong\n##### step   2 loss 6.00\n"


def test_the_step_of_median_duration_in_the_later_half():
    events = []
    for rank in (0, 1):
        clock = 0.0
        for seconds in (9, 9, 9, 3, 1, 2):
            events.append(Event(rank, "F", clock, clock + seconds - 0.5))
            events.append(Event(rank, "update", clock + seconds - 0.5, clock + seconds))
            clock += seconds
    step = demo.step_of(Trace(events))
    assert (step.start, step.duration, len(step.events)) == (0.0, 2.0, 4)


def make_page(story="One day <b> Tom & Mia"):
    done = simulate(one_f_one_b(2, 3), Costs())
    phases = [demo.Phase("one device", [7.0, 5.0]), demo.Phase("3 ranks", [7.0, 5.0])]
    told = [(1, 7.0, ""), (2, 5.0, story)]
    steps = timeline({"predicted": done, "measured": done})
    return demo.as_page(phases, 0.3, ["Fact one."], "rank 0: F0", steps, told, "Of 3, 2.")


def test_the_page_holds_everything_and_escapes_what_the_model_writes():
    page = make_page()
    parts = [
        "Fact one.",
        "<img alt=",
        "rank 0: F0",
        '<div id="widget">',
        "after 1 step,",
        "Of 3, 2.",
    ]
    assert [page.index(part) for part in parts] == sorted(page.index(part) for part in parts)
    assert "One day &lt;b&gt; Tom &amp; Mia" in page and "<b> Tom" not in page
    assert "prefers-color-scheme: dark" in page and "<blockquote>…</blockquote>" in page
