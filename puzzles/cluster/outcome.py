"""The end of a step: is it right, and what did it take?"""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

from cluster.errors import Forged, Missing, OutOfMemory
from cluster.facts import missing_parts, numbers, numbers_in
from cluster.model import Model
from helpers.words import many

MFU_POINTS = ((80, 5), (70, 4), (60, 3), (50, 2), (40, 1))
MEMORY_POINTS = ((60e9, 5), (69e9, 4), (80e9, 3))


def check(models) -> None:
    """Return if the step is right. Raises PuzzleError: the first thing that is not."""
    cluster = cluster_of(models)
    ranks = cluster.ranks
    for rank in ranks:
        for pending in rank.pending.values():
            if not pending.taken:
                raise Missing(
                    f"rank {rank.number} never waited for what it had started: it "
                    f"{pending.doing()}; write await before it, or await it later"
                )
            raise Missing(f"rank {rank.number} has not ended: it {pending.doing()}")
    for layer in range(ranks[0].layers):
        finals = [rank.finals[layer] for rank in ranks if layer in rank.finals]
        if not finals:
            raise Missing(
                f"no rank has handed in a new weight of layer {layer}: call set_final_weight after "
                "the update of every layer"
            )
        if missing_parts(finals):
            shards = {shard for facts in finals for shard in numbers_in(facts.shards)}
            raise Missing(
                f"layer {layer} is not complete: of its {finals[0].parts} shards, the ranks handed "
                f"in {numbers(shards, 'shard')}"
            )
        for rank in ranks:
            if layer in rank.loaded and layer not in rank.finals:
                raise Missing(
                    f"rank {rank.number} has loaded layer {layer} and handed in no new weight of "
                    "it: its copy is stale, and would spoil the next step"
                )


def cluster_of(models):
    """The cluster of a list of all its models, in any order. Raises Forged, Missing."""
    models = list(models)
    if not models:
        raise Missing("there are no models to check: give the list of what all ranks returned")
    for number, model in enumerate(models):
        if model is None:
            raise Missing(f"the step of rank {number} returned nothing: end it with `return model`")
        if not isinstance(model, Model):
            raise Forged(
                f"rank {number} returned an object of type {type(model).__name__}, not its model"
            )
    clusters = {id(model._books.cluster): model._books.cluster for model in models}
    if len(clusters) > 1:
        raise Forged("these models belong to several clusters: check those of one run together")
    (cluster,) = clusters.values()
    given = sorted(model._books.number for model in models)
    if given != list(cluster.everyone):
        lost = set(cluster.everyone) - set(given)
        told = f"{numbers(lost, 'rank')} missing" if lost else "one rank twice"
        raise Missing(f"give the models of all {cluster.world_size} ranks, each once: {told}")
    return cluster


def fullest(cluster) -> tuple[float, int, float]:
    """(the most memory of any rank, the first rank that has it, when). Raises OutOfMemory."""
    found = (0.0, 0, 0.0)
    for rank in cluster.ranks:
        parked = [each for channel in rank.incoming.values() for each in channel.parked]
        memory, when = _most(rank, parked)
        if memory > rank.profile.limit:
            raise OutOfMemory(
                f"rank {rank.number} runs out of memory at {when:.4g} s: with the messages that "
                f"have come and that it has not received, it would hold {memory / 1e9:.1f} GB, and "
                f"the card has {rank.profile.limit / 1e9:.1f} GB"
            )
        if memory > found[0]:
            found = (memory, rank.number, when)
    return found


def _most(rank, parked: list[tuple[float, float, float]]) -> tuple[float, float]:
    """(the most memory of a rank, when)."""
    moments = [(event[4], event[2]) for event in rank.log]
    if not rank.profile.in_storage:
        moments.append((rank.peak, rank.peak_time))
    if parked:
        changes = sorted(
            change for come, gone, size in parked for change in ((come, size), (gone, -size))
        )
        times = [time for time, _ in changes]
        totals = [0.0, *accumulate(size for _, size in changes)]
        moments = [(held + totals[bisect_right(times, time)], time) for held, time in moments]
    return max(moments, key=lambda moment: moment[0], default=(0.0, 0.0))


@dataclass(frozen=True)
class Outcome:
    """time: in `unit`, as the profile counts it. start_of_last, end: when the last event begins
    and ends. memory: the most on one rank, in `memory_unit`; rank, when: where and when that was.
    best: the time at the peak rate of every rank. layers, samples, ranks: the case."""

    profile: str
    time: float
    start_of_last: float
    end: float
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
        """Model FLOPs utilisation: the best time over the time, 0 to 1."""
        return self.best / self.time if self.time else 0.0

    @property
    def points(self) -> tuple[float, int, int]:
        """(the score of part 4, points for MFU, points for memory).

        In the profile measured, part 5's, the score is the MFU in percent.
        """
        if self.profile == "measured":
            return 100 * self.mfu, 0, 0
        return score(self.mfu, self.memory)

    def __str__(self) -> str:
        return (
            f"{many(self.ranks, 'rank')}, {many(self.layers, 'layer')}, "
            f"{many(self.samples, 'sample')}, {self.profile}: "
            f"{self.time:.6f} {self.unit}, MFU {100 * self.mfu:.2f} %, most memory "
            f"{self.memory:,.0f} {self.memory_unit} on rank {self.rank}"
        )


def score(mfu: float, memory: float) -> tuple[float, int, int]:
    """(0.75 of the MFU's points + 0.25 of the memory's, MFU's points, memory's points)."""
    speed = next((points for least, points in MFU_POINTS if 100 * mfu >= least), 0)
    room = next((points for most, points in MEMORY_POINTS if memory <= most), 0)
    return 0.75 * speed + 0.25 * room, speed, room


def outcome(models) -> Outcome:
    """Check the step, and say what it took. Raises PuzzleError."""
    check(models)
    cluster = cluster_of(models)
    profile, ranks = cluster.profile, cluster.ranks
    start = max((rank.log[-1][2] for rank in ranks if rank.log), default=0.0)
    end = max(max(rank.now, rank.lane_free, rank.send_free) for rank in ranks)
    memory, number, when = fullest(cluster)
    return Outcome(
        profile.name,
        end if profile.ends else start,
        start,
        end,
        memory,
        number,
        when,
        profile.best(ranks[0].layers, ranks[0].batch),
        profile.unit,
        profile.memory_unit,
        cluster.world_size,
        ranks[0].layers,
        ranks[0].batch,
    )
