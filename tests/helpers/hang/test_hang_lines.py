"""Programs that hang, and programs that don't, each in one line: what a student is told of them.

    "s1 r1 / s0 r0"   rank 0 sends to rank 1 and receives from it, and rank 1 the other way round

The letters are those of CALLS; "a01" is the all_reduce of ranks 0 and 1, "s1:7" has tag 7.
"""

import re
import signal
import threading
import time

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from helpers.ranks import launch

pytestmark = pytest.mark.ranks

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
    "k": "while not works[0].is_completed(): time.sleep(0.01)",
    "g": "dist.new_group([{ranks}])",
    "l": "dist.new_group([{ranks}], use_local_synchronization=True)",
    "d": "dist.recv(x.double(), {n})",
    "v": "assert x.tolist() == [2 ** len(works)] * 4",
    "o": "dist.group.WORLD.recv([x], {n}, 0).wait()",
    "t": "dist.all_to_all_single(y, x, [2, 2], [{ranks}])",
    "h": "signal.signal(signal.SIGALRM, lambda *_: dist.send(x, {n})); signal.alarm(1)",
    "(": "def thread():",
    ")": "threads += [threading.Thread(target=thread)]; threads[-1].start()",
    "j": "[thread.join() for thread in threads]",
    "D": "model = DistributedDataParallel(model)",
    "L": "model(torch.ones(4, 3)).sum().backward()",
    "F": "model(torch.ones(4, 3)).sum()",
    "N": "model.require_backward_grad_sync = False; model(torch.ones(4, 3)).sum().backward()",
    ".": "time.sleep(1.0)",
}
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
    ("S1:0 R1:0 w / S0:1 R0:1 w", "and rank 1 receives with tag 1", "the same tag on both"),
    ("p1:0 q1:0 ! w / p0:1 q0:1 ! w", "and rank 1 receives with tag 1", "the same tag on both"),
    ("a a a a / a a a / a a a", "finished already, while rank 0 calls all_red", "often"),
    ("a01 a01 s1 / a01 r0", "each waits for what the other would do next", "before all of them"),
    ("a01 a02 / a12 a01 / a02 a12", "of their groups in different orders", "same order"),
    ("a01 b / b a01", "of their groups in different orders", "same order"),
    ("a01 /", "rank 1 left early", "every rank of the group must call it"),
    ("A k / r0", "deadlock: ", "before all"),
    ("g01 /", "rank 0 is in dist.new_group (ranks 0, 1)", "also the ranks that do not"),
    ("l01 / r0 /", "but rank 1 never called it", "every member must call"),
    # What waits here is in C++: DDP sends the 8 numbers of the model's gradient together.
    ("D L L / D L L L", f"rank 0 left early: {HAS} rank 1 calls {REDUCE}", "number of steps"),
    ("D L L L / D L F L", f"rank 1 left early: {HAS} rank 0 calls {REDUCE}", "skip (continue)"),
    ("D N / D L", f"rank 0 left early: {HAS} rank 1 calls {REDUCE}", "as often as the others"),
    ("D L / L", f"rank 1 left early: {HAS} rank 0 calls C++ all_gather", "as often as the others"),
    ("D L r1 L / D L L", "rank 0 receives 4 float32 from rank 1 at line 9", "on both sides"),
    ("D L a L / D L L", "(SUM) at line 9 of program.py, in program, but rank 1", "let rank 1"),
]
ENDS = [
    "s1 r1 / r0 s0",
    "i1 r1 / r0 i0",
    "S1 R1 w / S0 R0 w",
    "p1 q1 ! w / p0 q0 ! w",
    "s1:1 s1:2 / r0:1 r0:2",
    "* * / s0 / . s0",
    "r1 s2 / . s0 / r0",
    ". a / a",
    "A k / . A k",
    "h1 A k / r0 A k",
    "( . s1 ) / r0",
    "( . s1 ) b / r0 b",
    "( . s1 ) r1 / r0 s0",
    "( . r1 ) j b / s0 b",
    "A w v A w v A w v / . A w . A w . A w",
    "a01 a02 / a01 a12 / a02 a12",
    "g01 . a / g01 a",
    "l01 / l01 / .",
]
# What checked mode refuses before it is sent, and what it says.
REFUSED = [
    ("s5 /", "rank 0 sends to rank 5, but the ranks are 0 to 1"),
    ("r5 /", "rank 0 receives from rank 5, but the ranks are 0 to 1"),
    ("p5 ! /", "rank 0 sends to rank 5, but the ranks are 0 to 1"),
    ("S0 /", "rank 0 sends to itself, which torch.distributed can't do"),
    ("R0 /", "rank 0 receives from itself, which torch.distributed can't do"),
    ("r1", "rank 0 receives from rank 1, but there is only rank 0: start more ranks"),
    ("s1 / d0", "dtype mismatch: rank 0 sends 4 float32 to rank 1"),
    ("t22 / t31", "with 3 numbers for rank 0, which takes 2"),
    ("t13 / t22", "with 1 number for itself and room for 2"),
]


def source_of(program):
    groups = sorted(set(re.findall(r"a(\d+)", program)))
    made = ", ".join(f"'{ranks}': dist.new_group({[*map(int, ranks)]})" for ranks in groups)
    lines = [
        "def program():",
        "    x, y, works, batch, threads = torch.ones(4), torch.ones(4), [], [], []",
        "    model = torch.nn.Linear(3, 2)",
        f"    groups = {{{made}}}",
    ]
    for rank, calls in enumerate(program.split("/")):
        lines += [f"    if dist.get_rank() == {rank}:", "        pass"]
        depth = 2
        for letter, n, count in re.findall(r"([^\d\s:])(\d*)(?::(\d))?", calls):
            tag = f", tag={count}" if count else ""
            call = CALLS[letter].format(n=n, tag=tag, ranks=", ".join(n))
            depth -= letter == ")"
            lines.append(f"{'    ' * depth}{call}")
            depth += letter == "("
    return "\n".join(lines)


def started(program, folder, checked, seconds=60):
    path = folder / "program.py"
    path.write_text(source_of(program))
    scope = {each.__name__: each for each in (signal, threading, time, torch)}
    scope |= {"dist": dist, "DistributedDataParallel": DistributedDataParallel}
    scope["__name__"] = "__main__"
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


@pytest.mark.slow_for("unchecked")
@pytest.mark.parametrize("program", ENDS, ids=name)
@pytest.mark.parametrize("checked", [True, False], ids=name)
def test_a_right_program_ends(program, checked, tmp_path):
    report, _ = started(program, tmp_path, checked)
    assert report.failure is None, report


@pytest.mark.parametrize("program, words", REFUSED, ids=name)
def test_a_call_that_cannot_be_right_is_refused(program, words, tmp_path):
    report, _ = started(program, tmp_path, True)
    assert words in str(report).splitlines()[0], report


def test_after_its_time_a_rank_that_computes_is_told_from_one_that_waits(tmp_path):
    report, _ = started("r1 / .........", tmp_path, True, 2)
    assert str(report).startswith("the ranks did not finish within 2 s, and were stopped")
    assert "rank 0 waits for others, and rank 1 is still at work" in str(report)
