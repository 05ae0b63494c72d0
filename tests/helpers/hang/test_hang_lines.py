"""A program that hangs ends in a sentence with ranks, lines and a cure, a legal one in none.

    "s1 r1 / s0 r0"   rank 0 sends to rank 1 and receives from it, and rank 1 the other way round

The letters are those of CALLS; "a01" is the all_reduce of ranks 0 and 1, "s1:7" has tag 7. What
stands between backticks is Python.
"""

import inspect
import random
import re
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from helpers import private
from helpers.draw import who_waits
from helpers.hang.calls import METHODS
from helpers.hang.monitor import the_monitor
from helpers.ranks import launch, supervisor
from tests.drawn import SEED

pytestmark = pytest.mark.ranks

ROOT = Path(__file__).resolve().parents[3]
CALLS = {
    "s": "dist.send(x, {n}{tag})",
    "r": "dist.recv(x, {n}{tag})",
    "*": "dist.recv(x)",
    "i": "dist.isend(x, {n}{tag}).wait()",
    "S": "works += [dist.isend(x, {n}{tag})]",
    "R": "works += [dist.irecv(y, {n}{tag})]",
    "w": "[work.wait() for work in works]",
    "p": "batch += [dist.P2POp(dist.isend, x, {n}{tag})]",
    "q": "batch += [dist.P2POp(dist.irecv, y, {n}{tag})]",
    "!": "works += dist.batch_isend_irecv(batch)",
    "b": "dist.barrier()",
    "a": "dist.all_reduce(x, group=groups.get('{n}'))",
    "A": "works += [dist.all_reduce(x, async_op=True)]",
    "E": "works += [dist.group.WORLD.allreduce([x])]",
    "B": "dist.broadcast(x, {n})",
    "k": "while not works[0].is_completed(): time.sleep(0.01)",
    "K": "[work.is_completed() or time.sleep(0.01) for _ in range(90) for work in works]",
    "W": "with suppress(RuntimeError): works[-1].wait(timeout=limit)",
    "g": "dist.new_group([{ranks}])",
    "l": "dist.new_group([{ranks}], use_local_synchronization=True)",
    "d": "dist.recv(x.double(), {n})",
    "v": "assert x.tolist() == [2 ** len(works)] * 4",
    "o": "dist.group.WORLD.recv([x], {n}, 0).wait()",
    "t": "dist.all_to_all_single(y, x, [2, 2], [{ranks}])",
    "f": "for _ in range({n}): dist.all_reduce(x), dist.barrier()",
    "h": "signal.signal(signal.SIGALRM, lambda *_: dist.send(x, {n})); signal.alarm(1)",
    "(": "def thread():",
    ")": "threads += [threading.Thread(target=thread)]; threads[-1].start()",
    "j": "[thread.join() for thread in threads]",
    "L": "model(torch.ones(4, 3)).sum().backward()",
    "F": "model(torch.ones(4, 3)).sum()",
    "N": "model.require_backward_grad_sync = False; model(torch.ones(4, 3)).sum().backward()",
    "D": "model = torch.nn.parallel.DistributedDataParallel(model)",
    "I": "from torch.distributed import rpc; rpc.init_rpc(str(rank), rank=rank, world_size=3)",
    "J": "dist.all_gather_object([0, 0], rank); dist.broadcast_object_list([rank])",
    ".": "time.sleep(1.0)",
}
SETUP = """
import ctypes, io, os, signal, subprocess, threading, time
from contextlib import suppress
from datetime import timedelta
import torch
import torch.distributed as dist

def program():
    x, y, two, three = torch.ones(4), torch.ones(4), torch.ones(2), torch.ones(3)
    even, uneven, five, limit = [two, two], [two, three], torch.ones(5), timedelta(seconds=1)
    rank, works, batch, threads, model = dist.get_rank(), [], [], [], torch.nn.Linear(3, 2)
    late = lambda: (time.sleep(1), dist.send(x, 1))
"""
HAS = "it has finished already, while"
REDUCE = "C++ all_reduce of 8 float32, started inside C++ by line"
# The program, what the first line of its report says, and the cure.
HANGS = [
    ("s1 r1 / s0 r0", "ranks 0 and 1 both send first", "isend"),
    ("s1 r2 / s2 r0 / s0 r1", "a ring of sends. Ranks 0, 1 and 2 all", "every second rank"),
    ("r1 s1 / r0 s0", "ranks 0 and 1 both receive first", "let one of them send first"),
    ("r1 /", "rank 0 receives 4 float32 from rank 1 at line", "let rank 1 send it"),
    ("* /", "from any rank", "let rank 1 send it"),
    ("o1 /", "rank 0 receives 4 float32 from rank 1 at line", "let rank 1 send it"),
    ("r1 * / s0", "from any rank", "let rank 1 send it"),
    ("r1 b / b s0", "while rank 1 calls barrier at line", "before all"),
    ("i1 b / b", "sends 4 float32 to rank 1 (isend)", "collective"),
    ("s1:1 / r0:2", "rank 0 sends to rank 1 with tag 1", "the same tag on both sides"),
    ("S1:0 R1:0 w / S0:1 R0:1 w", "they never meet", "the same tag on both"),
    ("p1:0 q1:0 ! w / p0:1 q0:1 ! w", "they never meet", "the same tag on both"),
    ("`dist.isend(x, 1)` r1:7 / r0:7", "rank 0 sends to rank 1 with tag 0 at line", "the same tag"),
    ("a a a a / a a a / a a a", "finished already, while rank 0 calls all_red", "often"),
    ("a01 a01 s1 / a01 r0", "each waits for what the other would do next", "before all of them"),
    ("a01 a02 / a12 a01 / a02 a12", "of their groups in different orders", "same order"),
    ("a01 b / b a01", "of their groups in different orders", "same order"),
    ("a01 /", "rank 1 left early", "every rank of the group must call it"),
    ("A k / r0", "deadlock: ", "before all"),
    ("R1 R1:1 `while not all(w.is_completed() for w in works): pass` / r0", "deadlock: ", "send"),
    ("g01 /", "rank 0 is in dist.new_group (ranks 0, 1)", "also the ranks that do not"),
    ("l01 / r0 /", "but rank 1 never called it", "every member must call"),
    ("`import tqdm; tqdm.tqdm(total=3, file=io.StringIO()).update()` a /", HAS, "often"),
    # What waits here is in C++: DDP sends the 8 numbers of the model's gradient together.
    ("D L L / D L L L", f"rank 0 left early: {HAS} rank 1 calls {REDUCE}", "number of steps"),
    ("D L L L / D L F L", f"rank 1 left early: {HAS} rank 0 calls {REDUCE}", "skip (continue)"),
    ("D N / D L", f"rank 0 left early: {HAS} rank 1 calls {REDUCE}", "as often as the others"),
    ("D L / L", f"rank 1 left early: {HAS} rank 0 calls C++ all_gather", "as often as the others"),
    ("D L r1 L / D L L", "rank 0 receives 4 float32 from rank 1 at line 18", "on both sides"),
    ("D L a L / D L L", "(SUM) at line 18 of program.py, in program, but rank 1", "let rank 1"),
]
ENDS = [
    "s1 r1 / r0 s0",
    "i1 r1 / r0 i0",
    "S1 R1 w / S0 R0 w",
    "p1 q1 ! w / p0 q0 ! w",
    "q1 p1 q1:1 ! `works[0].wait()` b s1:1 `works[2].wait()` / . p0 q0 ! w b r0:1 s0:1",
    "s1:1 s1:2 / r0:1 r0:2",
    "* * / s0 / . s0",
    "* `dist.recv(five, 2)` / / s0 . `dist.send(five, 0)`",
    "r1 s2 / . s0 / r0",
    "s1 / `dist.recv(x.view(2, 2), 0)`",
    "s1 o1 / r0 . `dist.group.WORLD.send([x], 0, 0).wait()`",
    ". a / a",
    "A k / . A k",
    "A K s1 w / r0 a",
    "A W s1 / r0 . a",
    "E r1 w / a s0 / . a",
    "A / A w / . A w",
    "`dist.monitored_barrier(timeout=timedelta(seconds=9))` / . `dist.monitored_barrier()`",
    "h1 A k / r0 A k",
    "h1 ( r1 ) j / r0 s0",
    "A `subprocess.run(['sleep', '1'])` s1 w / r0 a",
    "A `ctypes.CDLL(None).usleep(1_000_000)` s1 w / r0 a",  # in C, as while a disk is slow
    "`dist.distributed_c10d._get_default_store().wait(['go'])` s1 / r0 / "
    ". `dist.distributed_c10d._get_default_store().set('go', '1')`",
    "`list(torch.utils.data.DataLoader([1.0], num_workers=1, "
    "worker_init_fn=lambda _: time.sleep(1)))` s1 / r0",
    "`works += [dist.all_reduce(x, async_op=True).get_future()]` s1 w / r0 . a",
    "`dist.all_reduce(x, async_op=True).get_future().then(lambda _: late())` r1 / a r0 s0",
    "`x.requires_grad_().register_hook(lambda g: dist.all_reduce(g))` `x.sum().backward()` / . a",
    "I A `rpc.rpc_sync('2', time.sleep, (1,))` s1 w `rpc.shutdown()` / "
    "I r0 a `rpc.shutdown()` / I a `rpc.shutdown()`",
    "I r1 `rpc.shutdown()` / I r0 s0 `rpc.shutdown()` / "
    "I . `rpc.rpc_sync('0', dist.send, (x, 1))` `rpc.shutdown()`",
    "( . s1 ) / r0",
    "( . s1 ) b / r0 b",
    "( . s1 ) r1 / r0 s0",
    "( . r1 ) j b / s0 b",
    "( . a01 ) a10 j / ( a01 ) . a10 j",
    "`threading.Thread(target=late, daemon=True).start()` / r0",
    "`import _thread; _thread.start_new_thread(late, ())` r1 / r0 s0",
    "`from concurrent.futures import ThreadPoolExecutor; ThreadPoolExecutor(2).submit(late)` / r0",
    "`import weakref; weakref.finalize(threading, late)` / r0",
    "A w v A w v A w v / . A w . A w . A w",
    "a `dist.all_reduce(x, dist.ReduceOp(dist.ReduceOp.SUM))` / a a",
    "a01 a02 / a01 a12 / a02 a12",
    "a01 b `dist.destroy_process_group(); dist.init_process_group('gloo')` a / "
    "a01 b `dist.destroy_process_group(); dist.init_process_group('gloo')` . a",
    "g01 . a / g01 a",
    "l01 / l01 / .",
    "J `dist.all_to_all_single(y, x, [1, 3], [1, 3])` / "
    "J `dist.all_to_all_single(y, x, [3, 1], [3, 1])`",
]
# What checked mode refuses before it is sent, and what it says.
REFUSED = [
    ("s5 /", "rank 0 sends to rank 5, but the ranks are 0 to 1"),
    ("r5 /", "rank 0 receives from rank 5, but the ranks are 0 to 1"),
    ("p5 ! /", "rank 0 sends to rank 5, but the ranks are 0 to 1"),
    ("B5 /", "rank 0 calls broadcast from rank 5"),
    ("`dist.send(x, group_dst=2, group=dist.group.WORLD)` /", "sends to group rank 2"),
    ("`dist.recv(x, rank - 1)` /", "let rank 0 skip it, or take (rank - 1) % 2 for a ring"),
    ("/ `dist.send(x, rank + 1)`", "let the last rank skip it, or take (rank + 1) % 2"),
    ("S0 /", "rank 0 sends to itself, which torch.distributed can't do"),
    ("R0 /", "rank 0 receives from itself, which torch.distributed can't do"),
    ("r1", "rank 0 receives from rank 1, but there is only rank 0: start more ranks"),
    ("`dist.isend(None, 1)` r1 / r0", "rank 0 failed first at line"),
    ("s1 / d0", "dtype mismatch: rank 0 sends 4 float32"),
    ("i1 / `dist.irecv(two.double(), 0).wait()`", "dtype mismatch: rank 0 sends 4 float32"),
    ("s1 / `dist.recv(two, 0)`", "too long: rank 0 sends 4 float32 to rank 1"),
    ("i1 / `dist.irecv(torch.ones(2, 3), 0).wait()`", "too short: rank 0 sends 4 float32 to"),
    # Its receive comes later, so a thread looks at it.
    ("`dist.isend(x, 1)` ......... / . `dist.recv(two, 0)`", "message too long"),
    ("`works = [dist.isend(torch.ones(2**21), 1)]` W s1:2 / .........", "without a time limit"),
    ("a / B0", "different collectives meet: rank 0 calls all_reduce of 4 fl"),
    ("a / b", "rank 1 calls barrier at line"),
    ("f3 b / f2 b", "rank 0 calls all_reduce of 4 float32 (SUM) for the 3rd time at line"),
    ("a / `dist.all_reduce(two)`", "the tensors of a collective have different sizes: rank 0"),
    ("a / `dist.all_reduce(two, async_op=True).wait()`", "have different sizes: rank 0 calls"),
    ("a / `dist.all_reduce(x.double())`", "have different dtypes: rank 0 calls all_reduce of 4"),
    ("a / `dist.all_reduce(x, dist.ReduceOp.MAX)`", "the ranks disagree about a collective: rank"),
    ("B0 / B1", "(from rank 0) at line"),
    ("g01 / g0", "very rank must call dist.new_group"),
    ("a01 a10 / a10 a01", "in the group of"),
    ("l02 / / l2 l02", "has made 1 group before"),
    ("t22 / t31", "with 3 numbers for rank 0, which takes 2"),
    ("t13 / t22", "with 1 number for itself and room for 2"),
    ("`dist.reduce_scatter(two, uneven)` / `dist.reduce_scatter(two, even)`", "1, which takes 2"),
    ("`dist.reduce_scatter_tensor(two, five)` / `dist.reduce_scatter_tensor(two, x)`", "room for"),
    ("`dist.all_gather(uneven, two)` / `dist.all_gather(even, two)`", "which takes 3"),
    ("`dist.all_gather_into_tensor(five, two)` / `dist.all_gather_into_tensor(x, two)`", "room f"),
    ("`dist.gather(two, uneven)` / `dist.gather(two)`", "for rank 0, which takes 3"),
    ("`dist.scatter(two, uneven)` / `dist.scatter(two)`", "3 numbers for rank 1, which take"),
    ("`dist.all_to_all(even, uneven)` / `dist.all_to_all(even, even)`", "1, which takes 2"),
    ("`dist.all_to_all_single(y, x)` / `dist.all_to_all_single(y.int(), x.int())`", "(int32) at l"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """In lessons two seconds must pass; here the code waits in vain from the first moment."""
    # A machine may stop for a while, so the answers have time.
    impatient = {"STALL_S": 0.2, "ASK_S": 0.05, "GRACE_S": 0.1, "ANSWER_S": 10}
    for name, seconds in impatient.items():
        monkeypatch.setattr(supervisor, name, seconds)


def source_of(program):
    groups = sorted(set(re.findall(r"a(\d+)", program)))
    made = ", ".join(f"'{ranks}': dist.new_group({[*map(int, ranks)]})" for ranks in groups)
    lines = [f"{SETUP}    groups = {{{made}}}"]
    for rank, calls in enumerate(program.split("/")):
        lines += [f"    if rank == {rank}:", "        pass"]
        depth = 2
        for python, letter, n, count in re.findall(r"`(.+?)`|([^\d\s])(\d*)(?::(\d+))?", calls):
            tag = f", tag={count}" if count else ""
            call = python or CALLS[letter].format(n=n, tag=tag, ranks=", ".join(n))
            depth -= letter == ")"
            lines.append(f"{'    ' * depth}{call}")
            depth += letter == "("
    return "\n".join(lines)


def started(program, folder, checked, seconds=60):
    path = folder / "program.py"
    path.write_text(source_of(program))
    scope = {"__name__": "__main__"}
    exec(compile(path.read_text(), str(path), "exec"), scope)  # noqa: S102
    how = {"timeout": seconds, "on_error": "report", "quiet": True, "checked": checked}
    return launch(scope["program"], program.count("/") + 1, **how), path


def name(value):
    return ("unchecked", "checked")[value] if isinstance(value, bool) else value.replace("/", "|")


BOTH = [(checked, *row) for checked in (True, False) for row in HANGS]
BOTH.remove((False, *HANGS[-1]))  # gloo takes one's numbers for the other's: nothing is proven


@pytest.mark.slow_for("unchecked")
@pytest.mark.parametrize("checked, program, words, cure", BOTH, ids=name)
def test_a_hang_is_told(checked, program, words, cure, tmp_path):
    # The first model of DDP imports a compiler, which takes long on a busy machine.
    report, path = started(program, tmp_path, checked, 240)
    said, source = str(report), path.read_text().splitlines()
    assert words in said.splitlines()[0], said
    assert cure in said.split("Cure: ")[1], said
    assert "did not finish within" not in said, "it was proven, not waited for"
    assert ("in the main thread, is at work at line" in said) == ("j" in program), said
    shown = re.findall(r"^ +(\d+) \| +(.+)$", said, re.M)
    assert shown and all(source[int(number) - 1].strip() == text for number, text in shown), said
    assert any(re.search(r"dist\.|work|model", text) for _, text in shown), said


def drawn(seed, ranks):
    """A program of 60 steps, each of which all ranks do in the same order, and so it ends."""
    draw, rows = random.Random(seed), [""] * ranks
    for tag in range(60):
        rows[draw.randrange(ranks)] += draw.choice([""] * 19 + [" ."])
        one, other = draw.sample(range(ranks), 2)
        if draw.random() < 0.4:
            call = draw.choice([" a", " A", " b", " B0", " a10"])
            rows = [row + call * ("10" not in call or rank < 2) for rank, row in enumerate(rows)]
        else:
            rows[one] += draw.choice([" s{0}", " S{0}", " ( s{0} )"]).format(f"{other}:{tag}")
            rows[other] += draw.choice([" r{0}", " R{0}", " ( r{0} )"]).format(f"{one}:{tag}")
    return " j w /".join(rows) + " j w"


DRAWN = [
    pytest.param(drawn(seed, ranks), id=f"seed {seed} on {ranks}", marks=pytest.mark.slow)
    for seed in (range(int(SEED), int(SEED) + 20) if SEED else range(3))
    for ranks in (2, 4)
]


@pytest.mark.slow_for("unchecked")
@pytest.mark.parametrize("program", [*ENDS, *DRAWN], ids=name)
@pytest.mark.parametrize("checked", [True, False], ids=name)
def test_a_right_program_ends(program, checked, tmp_path):
    report, _ = started(program, tmp_path, checked)
    assert report.failure is None, report


@pytest.mark.parametrize("program, words", REFUSED, ids=name)
def test_a_call_that_cannot_be_right_is_refused(program, words, tmp_path):
    report, _ = started(program, tmp_path, True)
    assert words in str(report).splitlines()[0], report


def test_after_its_time_all_ranks_are_asked_whether_they_compute_or_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(supervisor, "ASK_S", 5)  # so once before it, and no verdict
    ended = "the ranks did not finish within 2 s, and were stopped: "
    computes, waits = "rank 0 waits for others, and rank 1 is still at work", "deadlock: ranks 0 a"
    for program, told in {"r1 / .........": computes, "r1 / r0": waits}.items():
        report, _ = started(program, tmp_path, True, 2)
        assert str(report).startswith(ended + told), report


@pytest.mark.slow
def test_without_proof_the_rows_are_shown_and_a_verdict_waits_for_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(supervisor, "NOTE_S", 1.0)
    report, _ = started("( r1 ) ( r1 ) j / r0", tmp_path, True, 4)
    said = str(report)
    assert said.startswith("the ranks did not finish within 4 s")
    assert said.count("receives 4 float32 from rank 1 at line") == 2, said
    assert "thread.join()" in said and "has other threads" in said


@pytest.mark.parametrize(
    "program, page", [(0, "README.md"), (0, "site/index.md"), (2, "jobs/README.md")]
)
def test_pages_quote_the_words_of_today_and_a_report_has_a_picture(program, page, tmp_path):
    report, _ = started(HANGS[program][0], tmp_path, True)
    assert who_waits(report.failure.waits).alt.startswith("Who waits for whom.")
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert str(report).splitlines()[0] in text, f"{page} quotes older words"


def calls_that_leave_something():
    """On each of two ranks: what nobody waits for, before and after, and how much is stored."""
    x, other, left = torch.ones(2), 1 - dist.get_rank(), the_monitor().not_waited_for
    for _ in range(200):
        dist.all_reduce(x)
        works = dist.batch_isend_irecv([dist.P2POp(dist.isend, x, other)])
        works += [dist.isend(x, other)]
        for _ in range(2):
            dist.recv(x.clone(), other)
        before = [(operation.name, operation.peer == other) for operation in left()]
        for work in works:
            work.wait()
    return before, left(), dist.distributed_c10d._get_default_store().num_keys()


def test_what_nobody_waits_for_is_known_and_notes_are_cleared_away():
    for before, after, keys in launch(calls_that_leave_something, 2, timeout=60, quiet=True):
        assert (before, after) == ([("isend", True)] * 2, []) and keys < 100


def test_every_file_that_waits_is_there():
    assert all(Path(name).is_file() for name in private.files_that_wait())


def test_no_method_of_a_group_that_gives_a_work_goes_unrecorded():
    """Torch 2.13 renamed two of them, and a hang under fully_shard couldn't be explained."""
    group = {name: getattr(dist.ProcessGroup, name) for name in dir(dist.ProcessGroup)}
    work = "-> torch._C._distributed_c10d.Work"
    given = {inspect.unwrap(m).__name__ for m in group.values() if work in (m.__doc__ or "")}
    unseen = {name for name in given - set(METHODS) if not name.endswith("_coalesced")}
    assert unseen <= {"_end_coalescing"}, "several at once are seen by torch's own recorder alone"
