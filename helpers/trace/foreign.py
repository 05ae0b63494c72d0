"""Read the Chrome traces of other programs, torch.profiler's first of all.

They know nothing of ranks, lanes and kinds. What can be guessed safely is guessed.
"""

import re

from helpers.trace.events import COLLECTIVES, MESSAGES, Event, Trace, lane_of

# A transfer, of torch's annotations ("gloo:all_reduce", "nccl:send 0->1", "xccl:...") and of the
# kernels: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)", RCCL's of the same names, older
# "ncclKernel_..." and "ncclAllReduceRingLLKernel_...", oneCCL's; and copies from GPU to GPU. torch
# also writes "c10d::allreduce_" for the call that started it: counting it too would count twice.
_BACKEND = re.compile(
    r"(?:gloo|mpi|ucc|\w*ccl):_?(\w+)|oneccl_|Memcpy PtoP"
    r"|(?:void )?(?:nccl|rccl|msccl)(?:Symk?)?(?:Dev)?(?:Kernel_)?(\w*)"
)
_ON_PROCESSOR = re.compile(r"(?:gloo|mpi):")  # back ends that start no kernels
_WORDS = {
    "forward": "F", "fwd": "F", "f": "F", "backward": "B", "bwd": "B", "b": "B",
    "optimizer": "update", "update": "update", "input": "input", "dataloader": "input",
    "wait": "wait", "profilerstep": "step",
}  # fmt: skip
_COLLECTIVE = {kind.replace("-", ""): kind for kind in COLLECTIVES | MESSAGES} | {
    "allgatherbase": "all-gather",
    "allgatherintotensor": "all-gather",
    "reducescatterbase": "reduce-scatter",
    "reducescattertensor": "reduce-scatter",
    "alltoallbase": "all-to-all",
}
# Which of torch's categories is the computing: the first of these that is there.
_COMPUTING = ("gpu_user_annotation", "kernel", "user_annotation", "cpu_op")
_LANES = {"cpu_op": "operators", "python_function": "python", "kernel": "kernels"}
_LANES |= {"user_annotation": "marks", "gpu_user_annotation": "marks"}
_WORK = frozenset({"F", "B", "update"})


def read_foreign(rows: list[dict], content: object) -> Trace:
    """Return the trace in `rows`, the "traceEvents" of a file whose whole JSON is `content`.

    torch.profiler: one file is one rank (`distributedInfo`). Computing is what was marked with
    `record_function` ("forward"), or else the kernels, or else the operators. Other programs: each
    process is a rank, by "rank N" in its name or in order; each thread is a lane, the only one is
    "compute". Instants, arrows and asynchronous events are left out.
    """
    spans = [*(row for row in rows if row["ph"] == "X"), *_begin_and_end(rows)]
    if isinstance(content, dict) and "schemaVersion" in content:
        return Trace(_from_torch(spans, content), {"source": "torch.profiler"}).merged()
    return Trace(_from_threads(spans, rows), {"source": "Chrome trace"}).merged()


def kind_of(name: str) -> str:
    """The kind that an event of another program has, by its name; the name itself if unknown."""
    match = _BACKEND.match(name)
    if match:
        word = (match[1] or match[2] or "").replace("_", "").lower()
        known = [w for w in _COLLECTIVE if word.startswith(w) and not word.startswith("sendrecv")]
        return _COLLECTIVE[max(known, key=len)] if known else name
    if name.startswith("Optimizer.zero_grad"):
        return name  # torch marks it like a step, and it updates nothing
    word = re.split(r"[^a-z]", name.lower().removeprefix("enumerate("))[0]
    return _WORDS.get(word, _COLLECTIVE.get(name.replace("_", "").replace("-", "").lower(), name))


def _begin_and_end(rows: list[dict]) -> list[dict]:
    """Return the pairs of "B" and "E" of each thread, last opened first closed, as "X"."""
    spans, open_rows = [], {}
    for row in sorted((r for r in rows if r["ph"] in "BE"), key=lambda r: r["ts"]):
        stack = open_rows.setdefault((row.get("pid"), row.get("tid")), [])
        if row["ph"] == "B":
            stack.append(row)
        elif stack:
            begin = stack.pop()
            args = {**begin.get("args", {}), **row.get("args", {})}
            spans.append({**begin, "dur": row["ts"] - begin["ts"], "args": args})
    return spans


def _event(row: dict, rank: int, lane: str) -> Event:
    name, start = str(row.get("name", "")), row["ts"] / 1e6
    kind, end = kind_of(name) or "unnamed", start + max(row.get("dur", 0), 0) / 1e6
    if _BACKEND.match(name):
        lane = "communication"
    elif lane_of(kind) != "compute":
        lane = lane_of(kind)
    return Event(rank, kind, start, end, lane, "" if kind == name else name, row.get("args", {}))


def _from_torch(spans: list[dict], content: dict) -> list[Event]:
    rank = (content.get("distributedInfo") or {}).get("rank", 0)
    rows = []
    for row in spans:
        category = row.get("cat")
        if category in (None, "Trace"):
            continue
        kind = kind_of(row["name"])
        # Of annotations, only known words are computing (a whole step is not).
        sent = bool(_BACKEND.match(row["name"]))
        works = kind in _WORK if "annotation" in category else not sent
        rows.append((row, category, kind, sent, works))
    # torch itself marks "Optimizer.step", so that alone stands for no computing.
    marked = {
        category
        for _, category, kind, _, works in rows
        if works and ("annotation" not in category or kind != "update")
    }
    computing = next((category for category in _COMPUTING if category in marked), None)
    kernels = any(category == "kernel" and sent for _, category, _, sent, _ in rows)
    events = []
    for row, category, _, sent, works in rows:
        seen = kernels and sent and category in _COMPUTING and category != "kernel"
        if not seen or _ON_PROCESSOR.match(row["name"]):  # else it is a kernel's, seen twice
            lane = "compute" if works and category == computing else _LANES.get(category, category)
            events.append(_event(row, rank, lane))
    return events


def _from_threads(spans: list[dict], rows: list[dict]) -> list[Event]:
    names = {
        (row["name"], row.get("pid"), row.get("tid") if row["name"] == "thread_name" else None): (
            str(row.get("args", {}).get("name", ""))
        )
        for row in rows
        if row["ph"] == "M" and row.get("name") in ("process_name", "thread_name")
    }
    threads: dict[object, dict] = {}
    for row in spans:
        threads.setdefault(row.get("pid"), {}).setdefault(row.get("tid"), []).append(row)
    events = []
    pids = sorted(threads, key=lambda pid: (isinstance(pid, str), pid))
    for number, pid in enumerate(pids):
        said = re.search(r"\brank\s*(\d+)", names.get(("process_name", pid, None), ""))
        rank = int(said[1]) if said else number
        for tid, mine in threads[pid].items():
            lane = names.get(("thread_name", pid, tid)) or f"thread {tid}"
            lane = lane if len(threads[pid]) > 1 else "compute"
            events += [_event(row, rank, lane) for row in mine]
    return events
