"""Timelines: what is where, and what the words say."""

import math

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from helpers.draw import lanes
from helpers.draw.style import BLUE, ORANGE
from helpers.schedules import dualpipe_v, interleaved, one_f_one_b, zb_h1
from helpers.simulate import Costs, simulate
from helpers.trace import Counter, Event, Trace
from tests.traces import data_parallel, pipeline


def many(ranks, events):
    """Each rank alternates F and B of one second; between them it is idle."""
    both = [(rank, 2 * i) for rank in range(ranks) for i in range(events // ranks)]
    return Trace([Event(rank, "FB"[i // 2 % 2], i, i + 1) for rank, i in both])


PAIRS = Costs(forward=0.5, input_grad=0.5, weight_grad=0.25, pair_share=0.6)
SENT = Costs(latency=0.2, activation_bytes=4)
ODD = [Event(3, "tokenise the text", 0, 1), Event(12345, "W", 0.5, 2, "my lane")]
EXAMPLES = {  # and what the picture says
    "data parallel": (data_parallel(), "data parallel, 3 ranks, 106 ms: busy 72 %, waiting 13 %"),
    "deep pipeline": (pipeline(stages=16, micro_batches=4), "16 stages"),
    "none": (Trace([], {"title": "GPipe"}), "GPipe: no events"),
    "a moment": (Trace([Event(0, "F", 5.0, 5.0)]), "1 rank: 1 event at one moment"),
    "odd kinds": (Trace(ODD), "rank 12345"),
    "130 ranks": (many(ranks=130, events=1300), "130 ranks"),
    "long title": (Trace([Event(0, "F", 0, 1)], {"title": "a very long title " * 12}), "a very"),
    "chunks": (simulate(interleaved(4, 8, chunks=2)).trace, "8 stages"),
    "messages": (simulate(zb_h1(4, 8), SENT).trace, "waits"),
    "pairs": (simulate(dualpipe_v(4, 8), PAIRS).trace, "DualPipeV: 4 ranks"),
    "steps": (Trace([Event(0, "F", 0, 12)], {"unit": "steps"}), "12 steps"),
    "layers": (Trace([Event(0, "F", i, i + 1, info={"layer": i}) for i in range(20)]), "20 s"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_text_has_its_place(name, check_layout):
    trace, said = EXAMPLES[name]
    ax = lanes(trace)
    assert said in ax.alt and ax.wide == 900
    check_layout(ax)
    check_layout(lanes({"predicted": trace, "measured": trace}, "a title"))


def test_a_length_is_a_time_of_the_axis_on_which_a_student_can_go_on(widths):
    forward = widths(lanes(data_parallel(steps=1)), BLUE)[1:]  # without the legend's
    assert forward == pytest.approx([10, 11, 14])
    ax = lanes({"1F1B": simulate(one_f_one_b(4, 8)).trace})
    assert ax.get_xlabel() == "time (s)" and ax.get_xlim() == (0, 33)
    before = ax.svg()
    ax.axvline(24, color="#123456")
    assert "#123456" in ax.svg() and "#123456" not in before


def test_a_rank_waits_for_a_rank_or_for_memory_or_has_finished(texts):
    waits = [{"cause": "dependency", "for": "0B0", "until": 1}, {"cause": "memory"}]
    waits.append({"cause": "finished"})  # which is no waiting
    events = [Event(0, "wait", 4 * i, 4 * i + 4, info=info) for i, info in enumerate(waits)]
    ax = lanes(Trace([*events, Event(0, "F", 12, 13)]))
    words = texts(ax)
    assert {"waits for rank 1", "waits for memory", "waiting", "finished"} <= set(words)
    assert "waiting 62 %, finished 31 %" in ax.alt
    assert sum(bool(patch.get_hatch()) for patch in ax.patches) == 2, "the waits, and the legend's"
    early = [Event(1, "F", 0, 4), Event(1, "recv", 0, 4, info={"peer": 0})]  # it computes meanwhile
    early += [Event(0, "F", 0, 3), Event(0, "send", 3, 4, info={"peer": 1})]
    assert "2 ranks, 4 s: busy 88 %, waiting 12 %" in lanes(Trace(early)).alt


def test_memory_is_a_strip_on_one_scale_if_every_trace_counts_it(texts):
    counters = [Counter(0, "memory", 0, 2e9), Counter(1, "memory", 0, 1e9)]
    trace = Trace([Event(0, "F", 0, 1), Event(1, "F", 0, 1)], {}, counters)
    ax = lanes(trace)
    heights = [strip.get_datalim(ax.transData).height for strip in ax.collections]
    assert heights[0] == pytest.approx(2 * heights[1])
    assert {"peak 2 GB", "peak 1 GB"} <= set(texts(ax))
    other = lanes({"a": trace, "b": Trace(trace.events)})
    assert not any("peak" in text for text in texts(other))


@pytest.mark.parametrize("micro_batches, letters", [(8, {"F0"}), (24, {"F"}), (120, set())])
def test_letters_of_one_size_stand_in_boxes_as_far_as_they_fit(micro_batches, letters):
    ax = lanes(simulate(one_f_one_b(4, micro_batches)).trace)
    inside = [text for text in ax.texts if text.get_transform() != ax.page]
    inside = [text for text in inside if text.get_text() in ("F", "F0")]
    assert {text.get_text() for text in inside} == letters
    assert len({text.get_size() for text in inside}) == len(letters)
    draw, pixels = FigureCanvasAgg(ax.figure), ax.bbox.width / ax.get_xlim()[1]
    assert all(text.get_window_extent(draw.get_renderer()).width <= pixels for text in inside)


def test_later_chunks_are_pale_and_so_is_what_a_caller_says(widths, texts):
    trace = simulate(interleaved(2, 4, chunks=2)).trace
    assert len(widths(lanes(trace), BLUE)) - 2 == len(widths(lanes(trace), BLUE, 0.45)) == 8
    assert "pale: a later stage of the rank" in texts(lanes(trace))
    ax = lanes(trace, pale=lambda event: event.kind == "B")
    assert len(widths(ax, ORANGE, 0.45)) == 16 and widths(ax, BLUE, 0.45) == []
    assert "pale: a later stage of the rank" not in texts(ax)


def test_messages_are_arrows_below_the_letters_and_too_much_to_draw_is_left_out():
    ax = lanes(simulate(one_f_one_b(3, 4)).trace)
    assert [len(arrows.U) for arrows in ax.collections] == [2 * 2 * 4]
    assert ax.collections[0].zorder < min(text.zorder for text in ax.texts)
    assert not lanes(simulate(one_f_one_b(8, 16)).trace).collections
    crowd = lanes(many(ranks=8, events=100_000)).svg()  # as pixels
    assert len(crowd) < 400_000 and "<image" in crowd


@pytest.mark.parametrize(
    "traces, said",
    [
        (dict, r"lanes\(\) needs at least one trace: lanes\({'measured': trace}\)"),
        (lambda: many(10_000, 10_000), "10,000 ranks are too many to draw, and 256 are the most: "),
        (lambda: Trace([Event(3, "F", 1, math.nan)]), "event 'F' on rank 3 starts at 1 s and"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_a_sentence(traces, said):
    with pytest.raises(ValueError, match=said):
        lanes(traces())
