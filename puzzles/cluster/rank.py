"""The books of one rank: its clock, its values, its memory, and what it did."""

from collections.abc import MutableMapping

from cluster.errors import Forged, Freed, Misplaced, Missing, NeverEnds, OutOfMemory, PuzzleError
from cluster.facts import Facts, words
from cluster.values import CLASSES, KINDS, Value

NAMES = ("weights", "opt_states", "activations", "grad_activations", "grad_weights")
_make = object.__new__
_put, _pop = dict.__setitem__, dict.pop  # asked a hundred thousand times in a run


class Storage(dict):
    """A dictionary of values. It knows what it takes, and which keys it had once.

    Only profiles whose memory is what lies in storage ask for the numbers.
    """

    def __init__(self, rank, name: str):
        super().__init__()
        self._rank, self._name, self._gone = rank, name, set()
        self._places: dict = {}  # for the tape: a number for each key

    def __setitem__(self, key, value):
        rank = self._rank
        if value.__class__ not in KINDS or value._rank is not rank:
            self._refuse(key, value)
        if rank.by_storage:
            old = self.get(key)
            if old is not None:
                self._out(key, old)
            number, stored = value._number, rank.stored
            stored[number] = stored.get(number, 0) + 1
            rank.in_storage += rank.weight[number]
            place = self._places.setdefault(key, len(self._places))
            rank.write("put", self._name, place, number)
        _put(self, key, value)

    def __delitem__(self, key):
        value = _pop(self, key, None)
        if value is None:
            self[key]  # which says why not
        if self._rank.by_storage:
            self._out(key, value)
        self._gone.add(key)

    def __missing__(self, key):
        rank, name = self._rank, f"{self._name}[{key!r}]"
        if key in self._gone:
            raise Freed(f"rank {rank.number} uses {name}, which it has freed: delete it later")
        raise Freed(f"rank {rank.number} has no {name}: nothing was put there")

    # By the methods here, which know what a value weighs.
    setdefault, update = MutableMapping.setdefault, MutableMapping.update

    def pop(self, key, *default):
        if key not in self and default:
            return default[0]
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        key = next(reversed(self))
        return key, self.pop(key)

    def clear(self):
        for key in list(self):
            del self[key]

    def __ior__(self, other):
        self.update(other)
        return self

    def _out(self, key, value):
        """A value leaves a place: it may still lie at another."""
        rank, number = self._rank, value._number
        left = rank.stored.pop(number) - 1
        if left:
            rank.stored[number] = left
        rank.in_storage -= rank.weight[number]
        rank.write("drop", self._name, self._places[key])

    def _refuse(self, key, value):
        place = f"rank {self._rank.number}: {self._name}[{key!r}]"
        if isinstance(value, Value) and value._rank is not None:
            raise Misplaced(f"{place} is given a value of rank {value._rank.number}: send it")
        if isinstance(value, Value):
            self._rank.use(value, value.kind, f"{self._name}[{key!r}] = …")
        took = f"a {type(value).__name__}"
        if hasattr(value, "__await__"):
            took = "a call that has not been awaited: write await before the call"
        raise Misplaced(f"{place} takes values of the cluster, not {took}")


class Rank:
    """One rank of a cluster.

    now: its clock. log: of each event (type, layer, start, duration, memory, samples, more).
    book, weight: the facts and the size of each value that lives. stored: how often each of them
    lies in the dictionaries.
    """

    def __init__(self, cluster, number: int):
        self.cluster, self.number, self.profile = cluster, number, cluster.profile
        self.size, self.by_storage = self.profile.size, self.profile.in_storage
        self.layers = self.batch = self.most_events = 0
        self.now = 0.0
        self.log: list[tuple] = []
        self.book: dict[int, Facts] = {}
        self.weight: dict[int, float] = {}
        self.next = 0
        self.held = self.in_storage = 0.0
        self.peak, self.peak_time = 0.0, 0.0
        self.stored: dict[int, int] = {}
        self.storage = tuple(Storage(self, name) for name in NAMES)
        self.tape: list[tuple] | None = [] if cluster.keep_tape else None
        self.finals: dict[int, Facts] = {}
        self.loaded: set[int] = set()
        self.pending: dict[int, object] = {}  # started, and not awaited yet
        self.pendings = 0
        self.outgoing: dict[int, object] = {}  # channels, by the rank at the other end
        self.incoming: dict[int, object] = {}
        self.waiting = None  # the Pending that it stands in
        self.collectives: list = []  # started, in order, not ended yet
        self.called: dict[tuple, int] = {}  # how many collectives of each group
        self.groups: dict[tuple, int] = {}  # for the tape: a number for each group
        self.lane_free = self.send_free = 0.0
        self.ended = False

    # --- values ---

    def new(self, facts: Facts) -> Value:
        """A value that this rank holds from now on."""
        value = _make(CLASSES[facts.kind])
        self.next = number = self.next + 1
        value._rank, value._number, value._claim = self, number, None
        self.book[number] = facts
        self.weight[number] = size = self.size(facts)
        if not self.by_storage:
            self.hold(size, facts)
        return value

    def hold(self, size: float, facts: Facts) -> None:
        """Take memory that a value will fill."""
        self.held += size
        if self.held > self.peak:
            self.peak, self.peak_time = self.held, self.now
            if self.held > self.profile.limit:
                self.out_of_memory(facts)

    def facts_of(self, value: Value) -> Facts:
        facts = self.book.get(value._number)
        if facts is None:
            raise Forged(f"rank {self.number}: a value without an entry in the cluster's books")
        return facts

    def use(self, value, kind: str, op) -> Facts:
        """The facts of a value that `op` needs on this rank. Forged, Misplaced.

        op: in words, or ("forward", layer): words are made where they are needed.
        """
        if value.__class__ is not CLASSES[kind] or value._rank is not self:
            self._refuse_value(value, kind, op)
        return self.facts_of(value)

    def must_store(self, op, *values: Value) -> None:
        """Where only storage counts as memory, refuse what is used beside it."""
        for value in values if self.by_storage else ():
            facts = self.facts_of(value)
            if value._number in self.stored or facts in map(self.book.get, self.stored):
                continue
            self.refuse(
                Missing,
                op,
                f"{words(facts)} is in none of the five dictionaries of model.storage(), where its "
                "memory counts: put it there first, and leave it there until the call has returned",
            )

    def derived(self, op: str, facts: Facts, value: Value, inputs: tuple) -> Value:
        """A value made of others on this rank, in no time: a sum, a shard, shards put together."""
        self.write(op, *(v._number if isinstance(v, Value) else v for v in (value, *inputs)))
        return self.new(facts)

    def _refuse_value(self, value, kind: str, op) -> None:
        begin = f"rank {self.number}, {told(op)}"
        if not isinstance(value, Value):
            raise Misplaced(f"{begin}: it needs {_a(kind)}, and got {_a(type(value).__name__)}")
        facts = value.facts
        if value._rank is None:
            raise Forged(
                f"{begin}: {words(facts)} was built by hand, and nobody has computed it: use what "
                "the model's own methods return"
            )
        if value._rank.cluster is not self.cluster:
            raise Forged(f"{begin}: {words(facts)} belongs to another run")
        if facts.kind != kind:
            raise Misplaced(f"{begin}: it needs {_a(kind)}, and got {words(facts)}")
        if value._rank is not self:
            raise Misplaced(
                f"{begin}: {words(facts)} lies on rank {value._rank.number}: send it with "
                "model.send and model.receive"
            )
        raise Forged(f"{begin}: {words(facts)} is of a class of its own, {type(value).__name__}")

    # --- time and memory ---

    def write(self, *row) -> None:
        """Add a row to the tape, where one is kept."""
        if self.tape is not None:
            self.tape.append(row)

    def memory(self) -> float:
        """What the profile counts now."""
        return self.in_storage if self.by_storage else self.held

    def event(self, typ: str, layer, seconds: float, samples=0, more=None, start=None) -> None:
        """Something that this rank does now, and for so long; or beside the rest, from `start`."""
        begun = self.now if start is None else start
        self.log.append((typ, layer, begun, seconds, self.memory(), samples, more))
        if start is None:
            self.now += seconds
        if len(self.log) > self.most_events:
            raise NeverEnds(
                f"rank {self.number} has done {len(self.log):,} things, far more than a step of "
                f"{self.layers} layers and {self.batch} samples needs: is there a loop that "
                "never ends?"
            )

    def out_of_memory(self, facts: Facts) -> None:
        """Write the event down, and raise OutOfMemory with what takes the room."""
        kinds: dict[str, float] = {}
        for each in self.book.values():
            kinds[each.kind] = kinds.get(each.kind, 0) + self.profile.size(each)
        most = sorted(kinds.items(), key=lambda item: -item[1])[:3]
        held = ", ".join(f"{size / 1e9:.1f} GB in {kind}s" for kind, size in most)
        self.log.append(("out_of_memory", facts.layer, self.now, 0.0, self.held, 0, None))
        raise OutOfMemory(
            f"rank {self.number} runs out of memory at {self.now:.4g} s, with {words(facts)}: it "
            f"would hold {self.held / 1e9:.1f} GB ({held}), and the card has "
            f"{self.profile.limit / 1e9:.1f} GB"
        )

    def refuse(self, error: type[PuzzleError], op, sentence: str) -> None:
        """Raise an error: who, in what, and why."""
        raise error(f"rank {self.number}, {told(op)}: {sentence}")


def told(op) -> str:
    """("forward", 3) -> "forward of layer 3"."""
    return op if isinstance(op, str) else f"{op[0]} of layer {op[1]}"


def _a(word: str) -> str:
    return f"an {word}" if word[:1].lower() in "aeo" else f"a {word}"
