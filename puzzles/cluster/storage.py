"""The five dictionaries of a rank: what lies in them is counted as it comes and goes."""

from cluster.errors import Freed, Misplaced
from cluster.value import Value
from cluster.values import KINDS

_NOTHING = object()
_put, _pop = dict.__setitem__, dict.pop  # asked a hundred thousand times in a run


class Storage(dict):
    """A dictionary of values. It knows what it takes, and which keys it had once.

    Only profiles whose memory is what lies in storage ask for the numbers.
    """

    def __init__(self, rank, name: str):
        super().__init__()
        self._rank, self._name, self._gone = rank, name, set()
        self._counts = rank.profile.in_storage
        self._places: dict = {}  # for the tape: a number for each key

    def __setitem__(self, key, value):
        rank = self._rank
        if value.__class__ not in KINDS or value._rank is not rank:
            self._refuse(key, value)
        if self._counts:
            old = self.get(key)
            if old is not None:
                self._out(key, old)
            number, stored = value._number, rank.stored
            stored[number] = stored.get(number, 0) + 1
            rank.in_storage += rank.weight[number]
            if rank.tape is not None:
                place = self._places.setdefault(key, len(self._places))
                rank.tape.append(("put", self._name, place, number))
        _put(self, key, value)

    def __delitem__(self, key):
        value = _pop(self, key, None)
        if value is None:
            self[key]  # which says why not
        if self._counts:
            self._out(key, value)
        self._gone.add(key)

    def __missing__(self, key):
        rank, name = self._rank, f"{self._name}[{key!r}]"
        if key in self._gone:
            raise Freed(f"rank {rank.number} uses {name}, which it has freed: delete it later")
        raise Freed(f"rank {rank.number} has no {name}: nothing was put there")

    def pop(self, key, default=_NOTHING):
        if key not in self and default is not _NOTHING:
            return default
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        key = next(reversed(self))
        return key, self.pop(key)

    def clear(self):
        for key in list(self):
            del self[key]

    def setdefault(self, key, default=None):
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *others, **more):
        for key, value in dict(*others, **more).items():
            self[key] = value

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
        if rank.tape is not None:
            rank.tape.append(("drop", self._name, self._places[key]))

    def _refuse(self, key, value):
        place = f"rank {self._rank.number}: {self._name}[{key!r}]"
        if isinstance(value, Value) and value._rank is not None:
            raise Misplaced(f"{place} is given a value of rank {value._rank.number}: send it")
        if isinstance(value, Value):
            self._rank.use(value, value.kind, f"{self._name}[{key!r}] = …")
        cure = ": write await before the call" if hasattr(value, "__await__") else ""
        took = type(value).__name__
        raise Misplaced(f"{place} takes values of the cluster, not a {took}{cure}")
