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
    "compute". What has no duration of its own is left out: instants, arrows, begin and end.
    """
    spans = [row for row in rows if row["ph"] == "X"]
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
    own = [row for row in rows if "annotation" not in row[1] or row[2] != "update"]
    marked = {category for _, category, _, _, works in own if works}
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
    processes, threads = {}, {}
    for row in rows:
        said = str(row.get("args", {}).get("name", "")) if row["ph"] == "M" else ""
        if row.get("name") == "process_name":
            processes[row.get("pid")] = re.search(r"\brank\s*(\d+)", said)
        elif row.get("name") == "thread_name":
            threads[row.get("pid"), row.get("tid")] = said
    events = []
    pids = sorted({row.get("pid") for row in spans}, key=lambda pid: (isinstance(pid, str), pid))
    for number, pid in enumerate(pids):
        mine, said = [row for row in spans if row.get("pid") == pid], processes.get(pid)
        rank, alone = int(said[1]) if said else number, len({row.get("tid") for row in mine}) == 1
        for row in mine:
            lane = threads.get((pid, row.get("tid"))) or f"thread {row.get('tid')}"
            events.append(_event(row, rank, "compute" if alone else lane))
    return events
