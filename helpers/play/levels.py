"""The levels, from one micro-batch to your own costs. Par is what `finish.best_known` finds."""

from dataclasses import replace
from typing import NamedTuple

from helpers.play.board import Level

LEVELS = (
    Level(
        "one",
        "One micro-batch",
        "Send one micro-batch through four stages and back.",
        "A stage needs what the stage before it computed, and on the way back the gradient of the "
        "stage after it. So there's only one order, and three ranks always wait.",
        places=(0, 1, 2, 3),
        micro_batches=1,
        par=8.0,
        lesson="naive_pipeline",
    ),
    Level(
        "gpipe",
        "Four micro-batches",
        "Finish four micro-batches in 14 s. One after the other they'd take 32 s.",
        "Rank 0 doesn't have to wait for the first micro-batch to come back: let it go on with the "
        "next forward at once. All forwards, then all backwards, is called GPipe.",
        places=(0, 1, 2, 3),
        micro_batches=4,
        target=14.0,
        lesson="micro_batches",
    ),
    Level(
        "cap",
        "Not enough room",
        "Six micro-batches in 16 s, and a rank has room for three of them only.",
        "A backward frees what its forward took. So as soon as a backward is ready, do it, and "
        "only then take the next forward.",
        places=(0, 1, 2),
        micro_batches=6,
        cap=3,
        target=16.0,
        lesson="micro_batches",
    ),
    Level(
        "1f1b",
        "One forward, one backward",
        "Four ranks, eight micro-batches, room for four: 22 s.",
        "Rank r begins with 4 - r forwards and then alternates: one backward, one forward. At the "
        'end only backwards are left. "Play on" can do the rest, and then it counts as helped.',
        places=(0, 1, 2, 3),
        micro_batches=8,
        cap=4,
        target=22.0,
        lesson="micro_batches",
    ),
    Level(
        "twice",
        "Backward costs twice",
        "A backward takes 2 s now. Six micro-batches, room for three: 24 s.",
        "The order that was right stays right, and so does the share of idle time: in "
        "(p - 1) / (m + p - 1) there are no times.",
        places=(0, 1, 2),
        micro_batches=6,
        input_grad=1.0,
        weight_grad=1.0,
        cap=3,
        target=24.0,
        lesson="micro_batches",
    ),
    Level(
        "head",
        "The head is slow",
        "The last stage has the head as well and takes half as long again: find 33 s.",
        "The last rank decides: it works 27 s, and can't begin before 2 s nor be followed by less "
        "than 4 s. Keep it busy from its first action to its last.",
        places=(0, 1, 2),
        micro_batches=6,
        forward=(1.0, 1.0, 1.5),
        input_grad=(1.0, 1.0, 1.5),
        weight_grad=(1.0, 1.0, 1.5),
        cap=4,
        target=33.0,
        lesson="micro_batches",
    ),
    Level(
        "chunks",
        "Two chunks a rank",
        "Three ranks hold two stages each, in a loop: three micro-batches in 24 s, not in 30.",
        "Send all three micro-batches through the first chunk of each rank, then through the "
        "second. On the way back the second chunk comes first.",
        places=(0, 1, 2, 0, 1, 2),
        micro_batches=3,
        input_grad=1.0,
        weight_grad=1.0,
        target=24.0,
    ),
    Level(
        "slow",
        "Slow messages",
        "A message takes 1 s, and a rank has room for five: six micro-batches in 28 s.",
        "1F1B keeps just enough micro-batches to be busy where messages are free. Let the first "
        "ranks run further ahead: room to run ahead buys tolerance of latency.",
        places=(0, 1, 2),
        micro_batches=6,
        input_grad=1.0,
        weight_grad=1.0,
        latency=1.0,
        cap=5,
        target=28.0,
    ),
    Level(
        "h1",
        "Backward in two halves",
        "B is cut into I, which the rank before waits for, and W, which nobody waits for. Six "
        "micro-batches, room for three: 20 s, where 1F1B takes 24 s.",
        "Do I as soon as you can, because another rank waits for it. Keep W for the moments in "
        "which you'd wait, but remember that only W frees the memory. This is ZB-H1.",
        places=(0, 1, 2),
        micro_batches=6,
        kinds="FIW",
        input_grad=1.0,
        weight_grad=1.0,
        cap=3,
        target=20.0,
    ),
    Level(
        "h2",
        "No gap at all",
        "Room for five. No rank may wait between its first action and its last: a span of 18 s.",
        "Fill the warm-up with more forwards: 5 on rank 0, 3 on rank 1, 1 on rank 2. Then F, I "
        "in turn, and W wherever there would be a gap. This is ZB-H2.",
        places=(0, 1, 2),
        micro_batches=6,
        kinds="FIW",
        input_grad=1.0,
        weight_grad=1.0,
        cap=5,
        aim="span",
        target=18.0,
    ),
    Level(
        "v",
        "The V",
        "Rank 0 holds the first stage and the last, rank 1 the two between. Four micro-batches, "
        "room for four chunks, and no gap: a span of 24 s.",
        "A micro-batch turns round on rank 1 and comes home to rank 0, which starts its backward "
        "at once. Prefer I, then F of the later stage, then W.",
        places=(0, 1, 1, 0),
        micro_batches=4,
        kinds="FIW",
        input_grad=1.0,
        weight_grad=1.0,
        cap=4,
        aim="span",
        target=24.0,
    ),
    Level(
        "two",
        "Two steps in a row",
        "Micro-batches 3, 4 and 5 are of the next step: a rank may begin it once it has finished "
        "this one. Both steps in 19 s.",
        "If a step is a parallelogram, the next one fits behind it without a gap. Rank 0 begins "
        "with three forwards, and ends with W.",
        places=(0, 1),
        micro_batches=6,
        kinds="FIW",
        input_grad=1.0,
        weight_grad=1.0,
        cap=3,
        steps=2,
        target=19.0,
    ),
    Level(
        "own",
        "Your own costs",
        "Choose ranks, times, messages and room, and get as near to par as you can.",
        "Par is the best that the named schedules and the search know. It may be beaten.",
        places=(0, 1, 2),
        micro_batches=4,
        input_grad=1.0,
        weight_grad=1.0,
    ),
)
BY_ID = {level.id: level for level in LEVELS}


class Cost(NamedTuple):
    """What may be chosen for the level "own": from `low` to `high`. label: of its field."""

    low: float
    high: float
    start: float
    label: str


OWN = {
    "ranks": Cost(1, 8, 3, "ranks"),
    "micro_batches": Cost(1, 16, 4, "micro-batches"),
    "shape": Cost(0, 2, 0, "stages"),  # one a rank, two in a loop, two in a V
    "split": Cost(0, 1, 0, "backward"),  # 1: I and W in place of B
    "forward": Cost(0.1, 100.0, 1.0, "F (s)"),
    "input_grad": Cost(0.1, 100.0, 1.0, "I (s)"),
    "weight_grad": Cost(0.1, 100.0, 1.0, "W (s)"),
    "latency": Cost(0.0, 100.0, 0.0, "message (s)"),
    "cap": Cost(0, 64, 0, "room (0: no limit)"),
}
WHOLE = ("ranks", "micro_batches", "shape", "split", "cap")


def level_of(name: str, costs: dict | None = None) -> Level:
    """Return a level; of "own" with these costs, by the names in `OWN`.

    Raises:
        ValueError: for an unknown name, or a number that is none or out of range.
    """
    if name not in BY_ID:
        raise ValueError(f"there's no level {name[:40]!r}: choose one of {', '.join(BY_ID)}")
    if name != "own":
        if costs:
            raise ValueError(f"level {name!r} has its own costs: leave them out, or take 'own'")
        return BY_ID[name]
    full = {key: cost.start for key, cost in OWN.items()}
    for key, value in (costs or {}).items():
        full[key] = _in_range(key, value)
    line = tuple(range(full["ranks"]))
    places = (line, line * 2, line + line[::-1])[full["shape"]]
    chunks = len(places) // len(line)
    if 0 < full["cap"] < chunks:
        words = f"a rank of {chunks} stages needs room for {chunks}, not cap={full['cap']}"
        raise ValueError(f"{OWN['cap'].label}: {words}")
    return replace(
        BY_ID["own"],
        places=places,
        micro_batches=full["micro_batches"],
        kinds="FIW" if full["split"] else "FB",
        forward=full["forward"],
        input_grad=full["input_grad"],
        weight_grad=full["weight_grad"],
        latency=full["latency"],
        cap=full["cap"] or None,
    )


def _in_range(key: str, value: object) -> float:
    if key not in OWN:
        raise ValueError(f"there's no setting {str(key)[:40]!r}: choose from {', '.join(OWN)}")
    low, high, _, label = OWN[key]
    try:
        number = float(value)
        if key in WHOLE and number != (number := int(number)):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        kind = "whole number" if key in WHOLE else "number"
        raise ValueError(f"{label}: {key}={str(value)[:40]!r} isn't a {kind}") from None
    if not low <= number <= high:
        raise ValueError(f"{label}: choose from {low:g} to {high:g}, not {key}={number:g}")
    return number
