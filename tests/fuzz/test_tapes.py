"""Forged tapes: right ones, changed at random. The judge of the puzzles answers each with a
verdict, in little memory; tests/puzzles/test_tape.py says which forgeries it must refuse."""

import contextlib
import copy
import importlib
import json
import sys

import pytest

from helpers.grade.task import ROOT, load_module

pytestmark = pytest.mark.stress
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
        assert verdict_on(found, tape, case) == ""
    with little_memory():
        for _ in range(effort(1500, 100_000)):
            tape, case = numbers.choice(tapes)
            verdict_on(found, changed(tape, numbers), case)


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
