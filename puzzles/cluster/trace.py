"""A run as a trace, for helpers.timeline, helpers.draw and Perfetto."""

from collections.abc import Sequence

from cluster.outcome import cluster_of
from cluster.values import numbers
from helpers.trace import Counter, Event, Trace
from helpers.words import many

KINDS = {"forward": "F", "backward": "B", "load_weights": "load"}


def trace_of(
    models,
    global_batch_list: Sequence[Sequence[int]] | None = None,
    ranks: Sequence[int] | None = None,
) -> Trace:
    """Return the events of all ranks, or of some, and what they held.

    Times are seconds, in the profile `steps` steps. global_batch_list: the samples of each
    micro-batch; left out, the micro-batches are found in the forwards. The counter is "memory"
    where it is bytes. A wait is where a rank stood in a message or collective that had not begun.
    What takes no time is left out.
    """
    everyone = cluster_of(models)
    profile = everyone[0].profile
    if global_batch_list is None:
        masks = {event[5] for books in everyone for event in books.log if event[0] == "forward"}
        listed = sorted(masks, key=lambda mask: mask & -mask)
    else:
        listed = [sum(1 << sample for sample in part) for part in global_batch_list]
    number_of = {mask: number for number, mask in enumerate(listed)}
    counter = "memory" if profile.memory_unit == "bytes" else "memory (elements)"
    events, counters = [], []
    for books in everyone if ranks is None else [everyone[rank] for rank in ranks]:
        for typ, layer, start, seconds, memory, samples, more in books.log:
            info = {"layer": layer} if layer is not None else {}
            if samples:
                info["samples"] = numbers(samples)
            if samples in number_of:
                info["micro_batch"] = number_of[samples]
            kind = KINDS.get(typ, typ.replace("_", "-"))
            if more:  # of what communicates: with whom, and since when the rank stood there
                other, stood = more
                info |= {"group": list(other)} if isinstance(other, tuple) else {"peer": other}
                if stood < start:
                    events.append(Event(books.rank, "wait", stood, start, name=kind))
            if seconds or more:
                events.append(Event(books.rank, kind, start, start + seconds, info=info))
            counters.append(Counter(books.rank, counter, start, memory))
    counters.sort(key=lambda c: c.time)
    title = f"{many(len(everyone), 'rank')}, {many(everyone[0].layers, 'layer')}"
    if profile.name != profile.unit:
        title += f", {profile.name}"
    return Trace(events, {"title": title, "unit": profile.unit}, counters)
