"""The cluster that the ranks share."""

from cluster.collectives import start
from cluster.errors import Misplaced, PuzzleError
from cluster.messages import receive, send
from cluster.profiles import make_profile
from cluster.rank import Rank
from cluster.watch import Watch


class Dist:
    """A cluster of `world_size` ranks.

    profile: "honest", "classic" or "steps"; left out, what the environment variable
    PUZZLES_PROFILE says, else honest. machine: a name in machines/, or a Calculon system file.
    keep_tape: write down what each rank does, so that another process can do it again.
    """

    def __init__(self, world_size: int, profile=None, machine=None, keep_tape: bool = False):
        if not isinstance(world_size, int) or isinstance(world_size, bool) or world_size < 1:
            raise PuzzleError(f"Dist({world_size!r}): a cluster has 1 rank or more, a whole number")
        self.world_size, self.keep_tape = world_size, keep_tape
        self.profile = make_profile(profile, machine, world_size)
        self.ranks = [Rank(self, number) for number in range(world_size)]
        self.open: dict[tuple, object] = {}  # collectives that have begun, by group and number
        self.driver = None  # the cluster's own; None: asyncio drives the ranks
        self.watch = Watch(self)
        self.everyone = tuple(range(world_size))

    def prepare(self, number: int, layers: int, batch: int) -> Rank:
        """The books of a rank for a new model."""
        for name, value, least in (("num_layers", layers, 1), ("global_batch_size", batch, 1)):
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise PuzzleError(f"Model: {name} is a whole number from {least} on, not {value!r}")
        if not isinstance(number, int) or not 0 <= number < self.world_size:
            raise PuzzleError(
                f"Model: there is no rank {number!r} in a cluster of {self.world_size}: they are 0 "
                f"to {self.world_size - 1}"
            )
        rank = self.ranks[number]
        if rank.next or rank.log:
            raise PuzzleError(
                f"Model: rank {number} of this Dist has worked already: a new run needs a new Dist"
            )
        for other in self.ranks:
            alike = (other.layers, other.batch) == (layers, batch)
            if other.layers and other is not rank and not alike:
                raise PuzzleError(
                    f"Model: rank {number} has {layers} layers and {batch} samples, and rank "
                    f"{other.number} {other.layers} and {other.batch}: give all the same"
                )
        rank.layers, rank.batch = layers, batch
        rank.most_events = 20_000 + 50 * (layers + 2) * (batch + 2)
        return rank

    # The calls below the model's: they cost what the model's cost.

    async def all_reduce(self, rank: int, value, time: float):
        """(the sum over all ranks, the time when it is there)."""
        return await self._collective("all_reduce", rank, value, time)

    async def all_gather(self, rank: int, value, time: float):
        """(all shards, the time when they are there)."""
        return await self._collective("all_gather", rank, value, time)

    async def reduce_scatter(self, rank: int, value, time: float):
        """(this rank's shard of the sum, the time when it is there)."""
        return await self._collective("reduce_scatter", rank, value, time)

    async def send(self, rank_source: int, rank_dest: int, value) -> None:
        """Send a value, alone or as (value, time)."""
        value, time = value if isinstance(value, tuple) else (value, None)
        await send(self._at(rank_source, time), rank_dest, value)

    async def receive(self, rank_source: int, rank_dest: int):
        """(the value, the time when it is there)."""
        rank = self._at(rank_dest, None)
        return await receive(rank, rank_source), rank.now

    async def _collective(self, op: str, number: int, value, time: float):
        rank = self._at(number, time)
        return await start(rank, op, value, self.everyone), rank.now

    def _at(self, number: int, time: float | None) -> Rank:
        if not isinstance(number, int) or not 0 <= number < self.world_size:
            raise Misplaced(f"there is no rank {number!r}: they are 0 to {self.world_size - 1}")
        rank = self.ranks[number]
        if time is not None and abs(time - rank.now) > 1e-9 * max(1.0, rank.now):
            raise Misplaced(f"rank {number}: its clock says {rank.now:g}, not {time:g}")
        return rank
