"""Timelines: what is where, and what the words say."""

import pytest

from helpers.draw import compare, found, timeline
from helpers.draw.picture import Polygon, Rect
from helpers.draw.style import BLUE, ORANGE, theme
from helpers.trace import Counter, Event, Trace
from helpers.trace.examples import data_parallel, pipeline

BOTH = theme("light")


def hatched(picture):
    return [s for s in picture.canvas.shapes if isinstance(s, Rect) and s.hatch and s.tip]


def many(ranks, events, busy=0.5):
    """Each rank alternates F and B of one second; between them it is idle."""
    step = 1 / busy
    return Trace(
        [
            Event(rank, "FB"[i % 2], i * step, i * step + 1, info={"micro_batch": i})
            for rank in range(ranks)
            for i in range(events // ranks)
        ]
    )


EXAMPLES = {
    "data parallel": data_parallel(),
    "pipeline": pipeline(),
    "deep pipeline": pipeline(stages=16, micro_batches=4),
    "none": Trace(),
    "one": Trace([Event(0, "F", 5.0, 5.02)]),
    "a moment": Trace([Event(0, "F", 5.0, 5.0)]),
    "memory only": Trace([], {}, [Counter(0, "memory", 1.0, 5e9)]),
    "odd kinds": Trace([Event(3, "tokenise the text", 0, 1), Event(12345, "W", 0.5, 2, "my lane")]),
    "many ranks": many(ranks=130, events=1300),
    "long title": Trace([Event(0, "F", 0, 1)], {"title": "a very long title " * 12}),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_text_has_its_place(name, check_layout):
    picture = timeline(EXAMPLES[name])
    check_layout(picture)
    assert picture.svg().startswith("<svg") and picture.canvas.width == 900


def test_the_same_length_is_the_same_time_in_every_row(rects):
    picture = timeline(data_parallel(steps=1))
    boxes = {tuple(r.tip.split(", ")[:2]): r for r in rects(picture, fill=BLUE) if r.tip}
    widths = [boxes["F", f"rank {rank}"].width + 0.8 for rank in range(3)]
    assert widths[1] / widths[0] == pytest.approx(1.1)
    assert widths[2] / widths[0] == pytest.approx(1.4)
    assert len({round(boxes["F", f"rank {rank}"].x, 6) for rank in range(3)}) == 1


def test_a_simulated_rank_waits_for_a_rank_or_for_memory_or_has_finished(texts):
    waits = [{"cause": "dependency", "for": "0B0", "until": 1}, {"cause": "memory"}]
    waits.append({"cause": "finished"})  # which is no waiting
    events = [Event(0, "wait", 4 * i, 4 * i + 4, info=info) for i, info in enumerate(waits)]
    sent = Event(0, "send", 0, 1, info={"peer": 1, "bytes": 0})
    picture = timeline(Trace([*events, Event(0, "F", 12, 13), sent]))
    assert {"waits for rank 1", "waits for memory", "finished"} <= set(texts(picture))
    tips = [rect.tip for rect in picture.canvas.shapes if getattr(rect, "tip", "")]
    assert any("for B0" in tip for tip in tips) and not any("bytes" in tip for tip in tips)
    assert len(hatched(picture)) == 2
    assert {"waiting", "finished"} <= set(texts(picture))
    assert "waiting 62 %, finished 31 %" in picture.title


def test_a_rank_that_has_only_finished_is_not_said_to_wait(texts):
    end = Event(0, "wait", 1, 4, info={"cause": "finished"})
    picture = timeline(Trace([Event(0, "F", 0, 1), end, Event(1, "F", 0, 4)]))
    assert hatched(picture) == [] and "waiting" not in texts(picture)
    assert "wait" not in picture.title + picture.alt
    assert picture.title == "2 ranks, 4 s: busy 62 %, finished 38 %"


def test_memory_is_a_strip_on_one_scale(texts):
    counters = [Counter(0, "memory", 0, 2e9), Counter(1, "memory", 0, 1e9)]
    picture = timeline(Trace([Event(0, "F", 0, 1), Event(1, "F", 0, 1)], {}, counters))
    fill = BOTH.faded(BOTH.muted, 0.4)
    strips = [s for s in picture.canvas.shapes if isinstance(s, Polygon) and s.fill == fill]
    heights = [max(y for _, y in s.points) - min(y for _, y in s.points) for s in strips]
    assert heights[0] == pytest.approx(2 * heights[1])
    assert {"peak 2 GB", "peak 1 GB"} <= set(texts(picture))


@pytest.mark.parametrize(
    "trace, words",
    [
        (Trace(), "no events"),
        (Trace([], {"title": "GPipe"}), "GPipe: no events"),
        (Trace([Event(0, "F", 1, 1)]), "1 rank: 1 event at one moment"),
        (Trace([Event(0, "F", 0, 0.12)]), "1 rank, 120 ms: busy all the time"),
        (
            Trace([Event(0, "F", 0, 1), Event(1, "F", 0, 0.5)]),
            "2 ranks, 1 s: busy 75 %, idle 25 %",
        ),
        (
            data_parallel(),
            "data parallel, 3 ranks, 106 ms: busy 72 %, waiting 13 %, communicating 11 %, "
            "reading input 4 %",
        ),
    ],
)
def test_a_line_says_what_was_found_and_no_title_is_invented(trace, words, texts):
    assert found(trace) == words
    picture, named = timeline(trace), timeline(trace, title="mine")
    assert picture.title == words and named.title == "mine"
    heading = {"bold": True, "size": 15}
    assert texts(picture, **heading) == [] and texts(named, **heading) == ["mine"]
    assert words in texts(picture) and words in texts(named)


def test_two_traces_on_one_scale(check_layout, rects):
    slow = Trace([Event(e.rank, e.kind, 9 + 2 * e.start, 9 + 2 * e.end) for e in pipeline().events])
    picture = compare({"predicted": pipeline(), "measured": slow})
    check_layout(picture)
    assert picture.title == "predicted 291 ms and measured 582 ms"
    widths = [r.width + 0.8 for r in rects(picture, fill=BLUE) if r.tip]
    assert max(widths) == pytest.approx(2 * min(widths))
    three = compare({name: pipeline() for name in "abc"})
    assert three.title == "a 291 ms, b 291 ms and c 291 ms"
    with pytest.raises(ValueError, match=r"compare\(\) needs at least one trace"):
        compare({})


@pytest.mark.slow
def test_a_hundred_thousand_events_are_summed_up(check_layout):
    picture = timeline(many(ranks=8, events=100_000, busy=0.5))
    check_layout(picture)
    assert len(picture.canvas.shapes) < 8 * 2 * 900
    for color in (BLUE, ORANGE):
        drawn = sum(
            r.width * r.height
            for r in picture.canvas.shapes
            if isinstance(r, Rect) and r.fill == color and r.height != 14
        )
        room = 8 * 26 * _axis_width(picture)
        assert drawn / room == pytest.approx(0.25, abs=0.01)


def _axis_width(picture):
    return max(r.width for r in picture.canvas.shapes if isinstance(r, Rect))


def test_waiting_behind_computing_is_not_counted():
    early_receive = [
        Event(1, "F", 0, 4),
        Event(1, "recv", 0, 4, info={"peer": 0}),
        Event(0, "F", 0, 3),
        Event(0, "send", 3, 4, info={"peer": 1}),
    ]
    assert found(Trace(early_receive)) == "2 ranks, 4 s: busy 88 %, waiting 12 %"  # in the send
