"""A run as a trace, for helpers.timeline, helpers.draw and Perfetto."""

from cluster.outcome import cluster_of
from cluster.values import mask_of, numbers
from helpers.trace import Counter, Event, Trace
from helpers.words import many

KINDS = {"forward": "F", "backward": "B", "load_weights": "load"}


def trace_of(models, global_batch_list=None, ranks=None) -> Trace:
    """Return the events of all ranks, or of some, and what they held.

    Times are seconds, in the profile `steps` steps. global_batch_list: a list of the samples of
    each micro-batch; left out, they are found in the forwards. ranks: a list. The counter is
    "memory" where it is bytes. A wait is where a rank stood in a message or collective that had not
    begun. What takes no time is left out.
    """
    everyone = cluster_of(models)
    rules = everyone[0].rules
    if global_batch_list is None:
        forwards = {e.samples for model in everyone for e in model.log if e.typ == "forward"}
        global_batch_list = sorted(forwards, key=sorted)
    number_of = {frozenset(part): number for number, part in enumerate(global_batch_list)}
    counter = "memory" if rules.memory_unit == "bytes" else "memory (elements)"
    events, counters = [], []
    for model in everyone if ranks is None else [everyone[rank] for rank in ranks]:
        for typ, layer, rank, start, seconds, memory, samples, more in model.log:
            info = {"layer": layer} if layer is not None else {}
            if samples:
                info["samples"] = numbers(mask_of(samples))
            if samples in number_of:
                info["micro_batch"] = number_of[samples]
            kind = KINDS.get(typ, typ.replace("_", "-"))
            if more:
                other, stood = more
                info |= {"group": list(other)} if isinstance(other, tuple) else {"peer": other}
                if stood < start:
                    events.append(Event(rank, "wait", stood, start, name=kind))
            if seconds or more:
                events.append(Event(rank, kind, start, start + seconds, info=info))
            counters.append(Counter(rank, counter, start, memory))
    counters.sort(key=lambda c: c.time)
    title = f"{many(len(everyone), 'rank')}, {many(everyone[0].num_layers, 'layer')}"
    if rules.name != rules.unit:
        title += f", {rules.name}"
    return Trace(events, {"title": title, "unit": rules.unit}, counters)
