"""A run as a trace, for helpers.timeline, helpers.draw and Perfetto."""

from collections.abc import Sequence

from cluster.facts import numbers, numbers_in
from cluster.outcome import cluster_of
from helpers.trace import Counter, Event, Trace
from helpers.words import many

KINDS = {
    "forward": "F",
    "backward": "B",
    "load_weights": "load",
    "all_reduce": "all-reduce",
    "all_gather": "all-gather",
    "reduce_scatter": "reduce-scatter",
}
COMMUNICATION = ("send", "recv", "all_reduce", "all_gather", "reduce_scatter")


def trace_of(
    models,
    global_batch_list: Sequence[Sequence[int]] | None = None,
    ranks: Sequence[int] | None = None,
) -> Trace:
    """The events of all ranks, or of some, and what they held, as a Trace.

    Times are seconds, in the profile `steps` steps. global_batch_list: the samples of each
    micro-batch; left out, the micro-batches are found in the forwards. The counter is "memory"
    where it is bytes. A wait is where a rank stood in a message or collective that had not begun.
    What takes no time is left out.
    """
    cluster = cluster_of(models)
    batches = _micro_batches(cluster, global_batch_list)
    counter = "memory" if cluster.profile.memory_unit == "bytes" else "memory (elements)"
    events, counters = [], []
    for rank in cluster.ranks:
        if ranks is not None and rank.number not in ranks:
            continue
        for typ, layer, start, seconds, memory, samples, more in rank.log:
            info = {"layer": layer} if layer is not None else {}
            if samples:
                info["samples"] = numbers(numbers_in(samples))
                if samples in batches:
                    info["micro_batch"] = batches[samples]
            kind = KINDS.get(typ, typ)
            if typ in COMMUNICATION:
                other, stood = more
                if isinstance(other, tuple):
                    info["group"] = list(other)
                else:
                    info["peer"] = other
                if stood < start:
                    events.append(Event(rank.number, "wait", stood, start, name=kind))
            if seconds or typ in COMMUNICATION:
                events.append(Event(rank.number, kind, start, start + seconds, info=info))
            counters.append(Counter(rank.number, counter, start, memory))
    counters.sort(key=lambda c: c.time)
    profile = cluster.profile
    size, layers = cluster.world_size, cluster.ranks[0].layers
    title = f"{many(size, 'rank')}, {many(layers, 'layer')}"
    if profile.name != profile.unit:
        title += f", {profile.name}"
    return Trace(events, {"title": title, "unit": profile.unit}, counters)


def _micro_batches(cluster, listed) -> dict[int, int]:
    """The number of each micro-batch, by its samples as a mask."""
    if listed is not None:
        return {sum(1 << sample for sample in part): i for i, part in enumerate(listed)}
    masks = {event[5] for rank in cluster.ranks for event in rank.log if event[0] == "forward"}
    ordered = sorted(masks - {0}, key=lambda mask: (mask & -mask).bit_length())
    return {mask: number for number, mask in enumerate(ordered)}
