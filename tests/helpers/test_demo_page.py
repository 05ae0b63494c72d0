"""What the demo shows: its bar, and its page. (tests/test_demo.py runs it.)"""

from contextlib import redirect_stdout

from helpers import demo
from helpers.schedules import one_f_one_b
from helpers.simulate import Costs, simulate
from helpers.timeline import timeline


def test_a_bar_appends_what_a_rank_has_done_and_passes_on_other_lines(capsys):
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


def test_the_page_holds_everything_and_escapes_what_the_model_writes():
    done = simulate(one_f_one_b(2, 3), Costs())
    phases = [demo.Phase("one device", [7.0, 5.0]), demo.Phase("3 ranks", [7.0, 5.0])]
    stories = [(1, 7.0, ""), (2, 5.0, "One day <b> Tom & Mia")]
    steps = timeline({"predicted": done, "measured": done})
    page = demo.as_page(phases, 0.3, ["Fact one."], "rank 0: F0", steps, stories, "Of 3, 2.")
    parts = ["Fact one.", "<img alt=", "rank 0: F0", '<div id="widget">', "after 1 step,"]
    parts += ["<blockquote>…</blockquote>", "One day &lt;b&gt; Tom &amp; Mia", "Of 3, 2."]
    assert [page.index(part) for part in parts] == sorted(page.index(part) for part in parts)
    assert "<b> Tom" not in page
