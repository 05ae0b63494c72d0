"""The end of a step: is it right, and what did it take?"""

from dataclasses import dataclass

from cluster.model import Model
from cluster.values import Facts, PuzzleError, covers, mask_of, numbers, numbers_in
from helpers.words import many

MFU_POINTS = ((80, 5), (70, 4), (60, 3), (50, 2), (40, 1))
MEMORY_POINTS = ((60e9, 5), (69e9, 4), (80e9, 3))


def check(models) -> None:
    """Return if the step is right. Raises PuzzleError: the first thing that is not."""
    ranks = cluster_of(models)
    for model in ranks:
        for pending in model.pending:
            does = pending.waits()[1]
            if pending.taken:
                raise PuzzleError(f"rank {model.rank} has not ended: it {does}")
            told = f"rank {model.rank} never waited for what it had started"
            raise PuzzleError(f"{told}: it {does}; write await before it, or later")
    for layer in range(ranks[0].num_layers):
        finals = [m.final_weights[layer]._facts for m in ranks if layer in m.final_weights]
        if not finals:
            told = "call set_final_weight after the update of every layer"
            raise PuzzleError(f"no rank has handed in a new weight of layer {layer}: {told}")
        if not covers(finals, Facts(finals[0].kind, layer)):
            there = mask_of({shard for facts in finals for shard in numbers_in(facts.shards)})
            told = f"of its {finals[0].parts} shards, the ranks handed in {numbers(there, 'shard')}"
            raise PuzzleError(f"layer {layer} is not complete: {told}")
        for model in ranks:
            if layer in model.loaded and layer not in model.final_weights:
                told = "handed in no new weight of it: its copy is stale, and would spoil the next"
                raise PuzzleError(f"rank {model.rank} has loaded layer {layer} and {told} step")


def cluster_of(models) -> list:
    """Return the models in the order of their ranks. Raises PuzzleError unless all are there."""
    models = list(models)
    if not models:
        raise PuzzleError("there are no models to check: give the list of what all ranks returned")
    for number, model in enumerate(models):
        if not isinstance(model, Model):
            told = f"returned a {type(model).__name__}, not its model: end it with `return model`"
            raise PuzzleError(f"the step of rank {number} {told}")
    dist = models[0].dist
    if any(model.dist is not dist for model in models):
        raise PuzzleError("these models belong to several clusters: check those of one run")
    if lost := set(dist.everyone) - {model.rank for model in models}:
        told = f"give the models of all {dist.world_size} ranks, each once"
        raise PuzzleError(f"{told}: {numbers(mask_of(lost), 'rank')} missing")
    return [dist.ranks[rank] for rank in dist.everyone]


def fullest(ranks: list) -> tuple[float, int, float]:
    """Return (the most memory of any rank, the first rank that has it, when).

    Raises PuzzleError: for messages that have come and that the rank has not received.
    """
    most = []
    for model in ranks:
        for held, when in [(event.memory, event.time) for event in model.log] + [model.peak]:
            held += sum(size for come, gone, size in model.parked if come <= when < gone)
            most.append((held, model.rank, when))
    memory, rank, when = max(most, key=lambda found: found[0])
    if memory > ranks[0].rules.limit:
        unread = "the messages that have come and that it has not received: it"
        ranks[rank].refuse_memory(memory, when, unread)
    return memory, rank, when


@dataclass(frozen=True)
class Outcome:
    """time: in `unit`, as the profile counts it. memory: the most on one rank, in `memory_unit`;
    rank, when: where and when that was. best: the time at the peak rate of every rank. layers,
    samples, ranks: the case."""

    profile: str
    time: float
    memory: float
    rank: int
    when: float
    best: float
    unit: str
    memory_unit: str
    ranks: int
    layers: int
    samples: int

    @property
    def mfu(self) -> float:
        """Model FLOPs utilization: the best time over the time, 0 to 1."""
        return self.best / self.time if self.time else 0.0

    @property
    def points(self) -> tuple[float, int, int]:
        """(The score, points for MFU, points for memory), as part 4 has them.

        The score is 0.75 of the MFU's points + 0.25 of the memory's; of part 5, in the profile
        measured, it is the MFU in percent.
        """
        if self.profile == "measured":
            return 100 * self.mfu, 0, 0
        speed = next((points for least, points in MFU_POINTS if 100 * self.mfu >= least), 0)
        room = next((points for most, points in MEMORY_POINTS if self.memory <= most), 0)
        return 0.75 * speed + 0.25 * room, speed, room

    def __str__(self) -> str:
        return (
            f"{many(self.ranks, 'rank')}, {many(self.layers, 'layer')}, "
            f"{many(self.samples, 'sample')}, {self.profile}: "
            f"{self.time:.6f} {self.unit}, MFU {100 * self.mfu:.2f} %, most memory "
            f"{self.memory:,.0f} {self.memory_unit} on rank {self.rank}"
        )


def outcome(models) -> Outcome:
    """Check the step, and say what it took. Raises PuzzleError."""
    check(models)
    ranks = cluster_of(models)
    rules, layers, samples = ranks[0].rules, ranks[0].num_layers, ranks[0].global_batch_size
    if rules.ends:
        time = max(max(model.time, model.lane_free, model.send_free) for model in ranks)
    else:
        time = max((model.log[-1].time for model in ranks if model.log), default=0.0)
    best, units = rules.best(layers, samples), (rules.unit, rules.memory_unit)
    case = len(ranks), layers, samples
    return Outcome(rules.name, time, *fullest(ranks), best, *units, *case)
