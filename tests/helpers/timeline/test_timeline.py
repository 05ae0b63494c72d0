"""A timeline says why a rank waits, answers its sliders, is saved as a page, refuses the rest."""

import json
import math
import re

import pytest

from helpers.draw.rows import MOST_RANKS
from helpers.schedules import SCHEDULES, one_f_one_b
from helpers.simulate import CAUSES, Costs, simulate
from helpers.timeline import explore, timeline
from helpers.timeline.__main__ import main
from helpers.timeline.packed import MOST_EVENTS, packed
from helpers.trace import Counter, Event, Trace
from tests.said import said
from tests.traces import data_parallel, pipeline


def waits_of(trace):
    data = packed({"": trace})
    both = zip(data["events"]["kind"], data["events"]["words"], strict=True)
    return [words for kind, words in both if data["kinds"][kind]["rest"]]


def test_every_wait_names_its_cause_and_the_rank_it_waits_for():
    costs = Costs(forward=[1, 3, 1], activation_bytes=10, memory_limit=30, latency=0.5)
    done = simulate(one_f_one_b(3, 5), costs)
    told = waits_of(done.trace)
    words = {
        "memory": "waits for memory: the next forward finds no room until B0 has freed some (8 s)",
        "dependency": "waits for rank 2, which has yet to compute what B0 needs",
        "imbalance": "waits for rank 1, which is slow: with equal stages",
        "message": "waits for the message of rank 0: it is on its way, and F0 needs it (500 ms)",
        "finished": "has finished: nothing is left to do here",
    }
    assert words.keys() == {idle.cause for idle in done.idle} == {*CAUSES} - {"all-reduce"}
    assert [cause for cause, why in words.items() if not any(why in each for each in told)] == []
    assert all(re.match(r"Rank \d (waits for|has finished)", each) for each in told)
    real = "Rank 0 waits for rank 2, the last to reach the all-reduce (12 ms)."
    assert real in waits_of(data_parallel())
    recv = Event(0, "recv", 0, 3, info={"peer": 1, "tag": 0})
    late = Trace([recv, Event(1, "send", 2, 3, info={"peer": 0, "tag": 0})])
    assert waits_of(late) == ["Rank 0 waits for rank 1, which hasn't sent yet (2 s)."]


def test_the_facts_of_an_event_and_the_frame_of_a_pair():
    pair = [
        Event(
            0, "F", 0, 1, info={"stage": 0, "micro_batch": 0, "pair": 7, "bytes": 2e6, "peer": 0}
        ),
        Event(0, "B", 1, 3, info={"stage": 1, "micro_batch": 4, "pair": 7}),
    ]
    data = packed({"": Trace(pair)})
    words = "F0 on rank 0, forward, stage 0, micro-batch 0, peer 0, bytes 2 MB, 1 s, from 0 s."
    assert data["events"]["words"][0] == words and data["events"]["labels"][1][0] == "B4"
    assert data["frames"] == [(0, 0, 3)] and data["events"]["shade"] == [1.0, pytest.approx(0.45)]


def test_two_traces_share_one_axis_and_memory_is_a_strip():
    two = timeline({"predicted": pipeline(), "measured": pipeline(4, 6, 2e-3)})
    assert two.title == "predicted 291 ms and measured 307 ms"
    assert two.data["duration"] == pytest.approx(0.307) and len(two.data["heads"]) == 2
    one = packed({"": simulate(one_f_one_b(2, 3), Costs(activation_bytes=1e6)).trace})
    strips = [row for row in one["rows"] if row["steps"]]
    assert [row["right"] for row in strips] == ["peak 2 MB", "peak 1 MB"]
    assert max(level for _, level in strips[0]["steps"]) == 1


def test_the_smallest_traces_have_a_picture_and_a_page():
    one, unknown = [Event(0, "F", 0, 1)], [Counter(0, "memory", 0, math.nan)]
    for trace, title in (
        (Trace([]), "no events"),
        (Trace(one), "1 rank, 1 s: busy all the time"),
        (Trace([Event(0, "F", 2, 2)]), "1 rank: 1 event at one moment"),
        (Trace(one, {}, unknown), "1 rank, 1 s: bu"),
    ):
        widget = timeline(trace)
        assert widget.title.startswith(title) and widget.picture().alt
        assert "NaN" not in widget.html()


def too_many(ranks, events):
    return Trace([Event(n % ranks, "F", n, n + 1) for n in range(events)])


def test_what_no_page_can_draw_gets_a_sentence():
    assert len(packed({"": too_many(MOST_RANKS, 999)})["events"]["row"]) == 999
    viewer = "trace.save('run.json.gz') and open that in https://ui.perfetto"
    for make, *words in (
        (lambda: timeline(too_many(8, MOST_EVENTS + 1)), "20,001 events are too many", viewer),
        (lambda: timeline(too_many(10_000, 10_000)), "10,000 ranks are too many", viewer),
        (lambda: timeline({}), "needs at least one trace"),
        (lambda: timeline([1]), "needs a trace and got list: give it a Trace"),
        (lambda: timeline(pipeline()).save("x.gif"), "end in .html, .svg or .png; a trace save"),
        (lambda: explore(speed=2), "no setting 'speed': choose from schedule, ranks"),
        (lambda: explore(schedule="x"), "no schedule 'x': choose one of 'naive'"),
        (lambda: explore(ranks=0), "0 stages"),
    ):
        found = said(make, error=(ValueError, TypeError))
        assert all(each in found for each in words)


def test_a_slider_is_simulated_and_what_cannot_run_says_why_and_leaves_the_picture():
    shown = explore(schedule="ZB-V", ranks=3, latency=2.5)
    controls = {row["name"]: row for row in shown.controls}
    latencies = controls["latency"]["values"]
    assert 2.5 in latencies and latencies == sorted(latencies)
    assert controls["schedule"]["values"] == list(SCHEDULES)
    assert {"interleaved 1F1B"} <= {*controls["chunks"]["only"]} < {*SCHEDULES} - {"1F1B"}
    shown.settings = shown.settings | {"schedule": "1F1B", "ranks": 2}
    assert shown.title.startswith("1F1B: 2 ranks") and shown.simulated.schedule.size == 2
    before = shown.data
    shown.settings = shown.settings | {"limit": 100, "micro_batches": 8}
    assert "the limit is 100 MB" in shown.problem and shown.data is before
    shown.settings = shown.settings | {"limit": None}
    assert shown.problem == ""


def test_no_text_of_a_trace_gets_out_of_its_place_and_nothing_is_fetched():
    bad = "</script><script>alert(1)</script><!--"
    event = Event(0, bad, 0, 1, name=bad, info={"layer": bad})
    html = timeline(Trace([event], {"title": bad})).html()
    assert html.count("</script>") == 2 and "<title>&lt;/script&gt;" in html
    state = json.loads(re.search(r'id="state">(.*?)</script>', html, re.S)[1])
    assert bad in state["data"]["events"]["words"][0]
    assert not re.search(r"https?:|@import|url\(|fetch\(|^import ", html, re.M)


def test_the_program_makes_a_file_of_each_form_of_one_trace_and_of_two(tmp_path, capsys):
    path, page = str(pipeline().save(tmp_path / "step.json")), tmp_path / "step.html"
    for ending, start in {"html": b"<!doctype html>", "svg": b"<", "png": b"\x89PNG"}.items():
        made = tmp_path / "folder" / f"step.{ending}"
        main([path, "-o", str(made)])
        assert made.read_bytes().startswith(start)
    main([path, "--measured", path, "-o", str(page), "--title", "Both"])
    printed = capsys.readouterr().out
    assert "GPipe, 4 stages, 6 micro-batches, 291 ms" in printed and "Both" in printed
    assert page.read_text(encoding="utf-8").count("measured: GPipe") == 1
