"""Forged tapes: right ones, changed at random. The judge of the puzzles answers each with a
verdict, in little memory, and passes none that a second, slower judge finds wrong."""

import contextlib
import copy
import importlib
import json
import sys
from collections import Counter, defaultdict, deque

import pytest

from helpers.grade.task import ROOT, load_module

pytestmark = pytest.mark.stress
CELLS = 12  # a layer, in the eyes of the second judge
GIGABYTE = 1 << 30


@pytest.fixture(scope="module")
def cluster():
    """The simulated cluster, and right tapes of it: (text, case)."""
    load_module(ROOT / "tasks" / "_pz.py", "lab_task_pz")
    steps = load_module(ROOT / "tests" / "puzzles" / "steps.py", "fuzz_steps")
    names = ("tape", "errors", "outcome", "model")
    found = {name: importlib.import_module(f"cluster.{name}") for name in names}

    async def sharded(m):
        """ZeRO-3: weights and states in shards, gathered where they are needed."""
        w, s, a, e, g = m.storage()
        for i in range(m.num_layers):
            w[i, "part"], s[i] = m.load_weights(i, m.rank, m.world_size)
        for i in range(m.num_layers):
            w[i] = await m.all_gather(w[i, "part"])
        steps.there_and_back(m, steps.share(m))
        for i in range(m.num_layers):
            g[i] = await m.reduce_scatter(g[i])
            w[i, "part"], s[i] = m.update(i, g[i], w[i, "part"], s[i])
            m.set_final_weight(i, w[i, "part"])
        return m

    async def pipeline(m):
        """One layer on each rank."""
        w, s, a, e, g = m.storage()
        i, samples = m.rank, range(m.global_batch_size)
        w[i], s[i] = m.load_weights(i)
        a[i] = m.get_input_activation(samples) if i == 0 else await m.receive(i - 1)
        a[i + 1] = m.forward(i, a[i], w[i])
        if i < m.world_size - 1:
            await m.send(i + 1, a[i + 1])
            e[i] = await m.receive(i + 1)
        else:
            e[i] = m.loss(a[i + 1])
        g[i], e[i - 1] = m.backward(i, a[i], e[i], w[i])
        if i:
            await m.send(i - 1, e[i - 1])
        w[i], s[i] = m.update(i, g[i], w[i], s[i])
        m.set_final_weight(i, w[i])
        return m

    cases = [(steps.data_parallel, (2, 2, 4)), (sharded, (3, 2, 3)), (pipeline, (3, 3, 2))]
    tapes = []
    for step, case in cases:
        models = found["model"].run(step, *case, profile="classic", keep_tape=True)
        tapes.append((found["tape"].tape_of(models), case))
    return found, tapes


def verdict_on(found, tape, case):
    """ "" for a pass, else the sentence; whatever else happens is this test's failure."""
    try:
        models = found["tape"].replay(tape, case, profile="classic", seconds=30)
        found["outcome"].outcome(models)
    except found["errors"].PuzzleError as error:
        assert str(error)
        return str(error)
    return ""


@contextlib.contextmanager
def little_memory():
    """A thousand megabytes more than now, where the system can hold a process to that."""
    if sys.platform != "linux":
        yield
        return
    import resource

    now = next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if "VmData" in line)
    kept = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (now + GIGABYTE, kept[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, kept)


def test_changed_tapes(cluster, effort, numbers):
    found, tapes = cluster
    for tape, case in tapes:
        assert verdict_on(found, tape, case) == "" and right(json.loads(tape))
    passed = 0
    with little_memory():
        for _ in range(effort(1500, 100_000)):
            tape, case = numbers.choice(tapes)
            forged = changed(tape, numbers)
            if verdict_on(found, forged, case) == "":
                passed += 1
                assert right(json.loads(forged)), forged
    assert passed  # a change may be none, or one that does no harm


ODD = (
    0,
    1,
    -1,
    2,
    7,
    2**31,
    10**300,
    65_536,
    1_000_000_007,
    1.5,
    float("nan"),
    True,
    None,
    "",
    "f",
)
ODD += ("weights", "grad_weights", "all_reduce", "__class__", [], [0], [[]], {}, {"a": 1})


def changed(tape, numbers):
    """The tape after one to three changes."""
    table = json.loads(tape)
    for _ in range(numbers.randint(1, 3)):
        rows = numbers.choice(table["ranks"])
        place = numbers.randrange(len(rows)) if rows else 0
        match numbers.randrange(8) if rows else 7:
            case 0:
                del rows[place]
            case 1:
                rows.insert(numbers.randrange(len(rows) + 1), copy.deepcopy(rows[place]))
            case 2:
                other = numbers.randrange(len(rows))
                rows[place], rows[other] = rows[other], rows[place]
            case 3 | 4:
                words = sorted({row[0] for row in rows if row and type(row[0]) is str})
                word = numbers.choice(words or [""])  # each as often, however many rows it has
                same = [n for n, row in enumerate(rows) if row and row[0] == word]
                place = numbers.choice(same or [place])
                spot = numbers.randrange(len(rows[place]) or 1)
                if word == "input":
                    rows[place] = [word, numbers.choice("01234567f")]
                elif type(rows[place][spot]) is int and numbers.random() < 0.7:
                    near = rows[place][spot] + numbers.choice((-2, -1, 1, 2))
                    rows[place][spot] = numbers.choice((near, numbers.randrange(40)))
                else:
                    rows[place][spot] = numbers.choice(ODD)
                if numbers.random() < 0.1:
                    rows[place] = numbers.choice(ODD)
                    return json.dumps(table)  # no list any more: not to be changed again
            case 5:
                word = numbers.choice(list(WORDS))
                row = [word, *(numbers.choice(ODD) for _ in range(WORDS[word]))]
                rows.insert(place, row)
            case 6:
                table["ranks"][numbers.randrange(len(table["ranks"]))] = copy.deepcopy(rows)
            case 7:
                return damaged(json.dumps(table), numbers)
    return json.dumps(table)


WORDS = dict.fromkeys(("free", "input", "empty", "loss", "receive", "take", "group"), 1)
WORDS |= dict.fromkeys(("final", "add", "combine", "send", "drop"), 2)
WORDS |= dict.fromkeys(("load", "forward", "shard", "collective", "put"), 3)
WORDS |= {"backward": 4, "update": 4, "open": 1}


def damaged(text, numbers):
    """A text that was cut, or nested without end, or has one character changed."""
    place = numbers.randrange(len(text))
    return numbers.choice(
        (
            text[:place],
            text[:place] + "[" * numbers.choice((5, 5000, 100_000)) + text[place:],
            text[:place] + numbers.choice('0123456789[]{}",:-.eE ') + text[place + 1 :],
            text[:place] + "9" * numbers.choice((10, 400, 5000)) + text[place:],
        )
    )


# --- the second judge: the arithmetic of a step, sample by sample and shard by shard -----------


class Wrong(Exception):
    """The step is not right."""


def needs(what):
    if not what:
        raise Wrong


def right(table) -> bool:
    """Whether the ranks of a tape train every layer, once, on every sample."""
    world, layers, batch = table["case"]
    ranks = [Second(number, layers, batch) for number in range(world)]
    wires, calls = defaultdict(deque), {}
    try:
        moved = True
        while moved:
            moved = False
            for rank, rows in zip(ranks, table["ranks"], strict=True):
                while rank.at < len(rows) and rank.play(rows[rank.at], wires, calls):
                    rank.at += 1
                    moved = True
        for rank, rows in zip(ranks, table["ranks"], strict=True):
            needs(rank.at == len(rows) and not rank.pending)
        for layer in range(layers):
            cells = [rank.finals[layer] for rank in ranks if layer in rank.finals]
            needs(frozenset().union(*cells) == frozenset(range(CELLS)))
            needs(all(layer in rank.finals for rank in ranks if layer in rank.loaded))
    except Wrong:
        return False
    return True


class Second:
    """One rank. A value: (kind, layer, how often each sample counts, cells, step)."""

    def __init__(self, number, layers, batch):
        self.number, self.layers, self.batch = number, layers, batch
        self.at = self.next = self.started = 0
        self.values, self.pending, self.finals, self.loaded = {}, {}, {}, set()
        self.groups, self.called = [], Counter()

    def new(self, *value):
        self.next += 1
        self.values[self.next] = value

    def play(self, row, wires, calls) -> bool:
        """Do a row; False where it has to wait."""
        word, *rest = row
        if word == "take":
            return self.take(rest[0], wires, calls)
        if word in ("send", "receive", "collective"):
            self.started += 1
            if word == "send":
                wires[self.number, rest[0]].append(self.values[rest[1]])
            elif word == "collective":
                group = tuple(self.groups[rest[2]])
                key = group, self.called[group]
                self.called[group] += 1
                calls.setdefault(key, {})[self.number] = rest[0], self.values[rest[1]]
                rest = [key]
            self.pending[self.started] = word, rest
            return True
        if word == "group":
            self.groups.append(sorted(set(rest[0])))
        elif word not in ("free", "put", "drop"):
            self.compute(word, rest)
        return True

    def take(self, number, wires, calls) -> bool:
        word, rest = self.pending[number]
        if word == "receive":
            wire = wires[rest[0], self.number]
            if not wire:
                return False
            self.new(*wire.popleft())
        elif word == "collective":
            key = rest[0]
            group, given = key[0], calls[key]
            if len(given) < len(group):
                return False
            self.new(*together(given, group, self.number))
        del self.pending[number]
        return True

    def compute(self, word, rest):
        whole = frozenset(range(CELLS))
        v = self.values
        if word == "load":
            layer, shard, parts = rest
            needs(CELLS % parts == 0)
            each = CELLS // parts
            self.loaded.add(layer)
            for kind in "WS":
                self.new(
                    kind, layer, Counter(), frozenset(range(shard * each, (shard + 1) * each)), 0
                )
        elif word == "input":
            mask = int(rest[0], 16)
            self.new("A", 0, Counter(i for i in range(self.batch) if mask >> i & 1), whole, 0)
        elif word == "empty":
            self.new("G", rest[0], Counter(), whole, 0)
        elif word == "forward":
            layer, x, w = rest[0], v[rest[1]], v[rest[2]]
            needs(x[:2] == ("A", layer) and w[:2] == ("W", layer) and w[3:] == (whole, 0))
            self.new("A", layer + 1, x[2], whole, 0)
        elif word == "loss":
            needs(v[rest[0]][:2] == ("A", self.layers))
            self.new("E", self.layers - 1, v[rest[0]][2], whole, 0)
        elif word == "backward":
            layer, x, e, w = rest[0], *(v[number] for number in rest[1:])
            needs(x[:2] == ("A", layer) and e[:2] == ("E", layer) and w[:2] == ("W", layer))
            needs(x[2] == e[2] and w[3:] == (whole, 0))
            self.new("G", layer, x[2], whole, 0)
            self.new("E", layer - 1, x[2], whole, 0)
        elif word == "update":
            layer, g, w, s = rest[0], *(v[number] for number in rest[1:])
            needs(g[:2] == ("G", layer) and w[:2] == ("W", layer) and s[:2] == ("S", layer))
            needs(g[2] == Counter(range(self.batch)) and g[3] >= w[3] == s[3])
            needs(w[4] == s[4] == 0)
            self.new(*w[:4], 1)
            self.new(*s[:4], 1)
        elif word == "final":
            w = v[rest[1]]
            needs(w[:2] == ("W", rest[0]) and w[4] == 1)
            self.finals[rest[0]] = w[3]
        elif word == "shard":
            value, shard, parts = v[rest[0]], *rest[1:]
            needs(CELLS % parts == 0 and value[3] == whole)
            each = CELLS // parts
            self.new(*value[:3], frozenset(range(shard * each, (shard + 1) * each)), value[4])
        else:
            a, b = v[rest[0]], v[rest[1]]
            needs(a[:2] == b[:2] and a[4] == b[4])
            if word == "add":
                needs(a[0] == "G" and a[3] == b[3])
                self.new(*a[:2], a[2] + b[2], a[3], a[4])
            else:
                needs(word == "combine" and a[2] == b[2])
                self.new(*a[:3], a[3] | b[3], a[4])


def together(given, group, number):
    """What a rank has of a collective: a sum, or all cells."""
    (word, first), *others = (given[rank] for rank in group)
    needs(all(op == word and v[:2] == first[:2] and v[4] == first[4] for op, v in others))
    values = [first, *(v for _, v in others)]
    if word == "all_gather":
        needs(all(v[2] == first[2] for v in values))
        return *first[:3], frozenset().union(*(v[3] for v in values)), first[4]
    needs(all(v[3] == first[3] for v in values))
    cells = first[3]
    if word == "reduce_scatter":
        needs(CELLS % len(group) == 0)
        each, place = CELLS // len(group), group.index(number)
        cells = frozenset(range(place * each, (place + 1) * each))
    return *first[:2], sum((v[2] for v in values), Counter()), cells, first[4]
