"""`make gpu`: what a machine with GPUs must show, in one command; leaves build/gpu/report.md.

Each training script's losses and gradients beside those of the CPU, NCCL with as many ranks as
there are GPUs, the rates of bfloat16 and of 8 bits, and a traced step of lesson 12, which lies in
build/gpu/gpu_step.json.gz afterwards. Ends with 1 where something is wrong, 2 without a GPU.
"""

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.functional import ScalingType, scaled_mm

from helpers.check.task import load_module
from helpers.doctor import machine
from helpers.files import write_whole
from helpers.ranks import find_place, launch, run_script
from helpers.ranks.connect import rank_device
from helpers.trace import Trace, shares

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "gpu"
TRACED = "DP/ddp/profile_ddp.py"
SMALL = "--dmodel 64 --heads 4 --layers 4 --seq-l 32 --optimizer sgd --lr 0.5 --steps 3".split()
ONE = "primer/intro.py"  # the script on one device
# Each script with several ranks: how many it may have, and the flags that go with so many. The
# largest number that the GPUs allow is taken, because NCCL needs a GPU for each rank.
ANY = {1: "", 2: "", 4: ""}
SCRIPTS = {
    "DP/gradient_aggr/intro_DP_GA.py": ANY,
    "DP/weight_aggr/intro_DP_WA.py": ANY,
    "DP/ddp/intro_DDP.py": ANY,
    "DP/zero/intro_ZeRO.py": {n: "--stage 3" for n in ANY},
    "PP/naive/intro_PP_naive.py": ANY,
    "PP/microbatches/intro_PP_microbatches.py": ANY,
    "PP/1F1B/intro_PP_1F1B.py": ANY,
    "PP/schedules/intro_PP_schedule.py": {1: "", 2: "", 4: "--chunks 1 --schedule 1F1B"},
    "DP_PP/intro_DP_PP.py": {1: "--stages 1", 2: "--stages 2", 4: "--stages 2"},
    "DP_PP/survival/intro_survival.py": {1: "--stages 1", 2: "--stages 2", 4: "--stages 2"},
    "DP_PP/torchs_words.py": {2: "--stages 2", 4: "--stages 2"},
    "TP/llama/intro_TP.py": ANY,
    "CP/ring/intro_CP_ring.py": ANY,
    "CP/ulysses/intro_CP_ulysses.py": ANY,
    "EP/experts/intro_EP.py": ANY,
}
# float32 on both, added in another order; TF32 is off, as it is in torch from the start.
TOLERANCE = 1e-3
TERA = 1e12

Row = tuple[str, bool, str]  # what was looked at, whether it is right, what was found


# --- each script, on the CPU and on the GPU ------------------------------------------------------


def trained(path: str, flags: list[str], on_cpu: bool) -> tuple[list, list]:
    """Return the losses of a script's run on this rank, and the gradients of its last step."""
    sys.path.insert(0, str((ROOT / path).parent))  # as if it had been started there
    script = load_module(ROOT / path, "the_script")
    device = torch.device("cpu") if on_cpu else rank_device()
    if path == ONE:
        options = script.read_flags([*flags, "--device", device.type])
        losses, net, _ = script.train(options, be_silent)
    else:
        options = script.read_flags(flags)
        losses, net, *_ = script.train(options, find_place(), device, be_silent)
    gradients = [
        getattr(p.grad, "full_tensor", lambda g=p.grad: g)().cpu().double()  # torch's own shards
        for part in (net.values() if isinstance(net, dict) else [net])
        if isinstance(part, torch.nn.Module)
        for p in part.parameters()
        if p.grad is not None
    ]
    return list(losses.values() if isinstance(losses, dict) else losses), gradients


def be_silent(step: int, loss: float) -> None:
    pass


def apart(ours: tuple[list, list], cpus: tuple[list, list]) -> tuple[float, float]:
    """Return how far a rank's losses and its gradients are from the CPU's, both relative."""
    losses = [abs(a - b) / abs(b) for a, b in zip(ours[0], cpus[0], strict=True)]
    pairs = list(zip(ours[1], cpus[1], strict=True))
    off = sum(((a - b) ** 2).sum().item() for a, b in pairs)
    size = sum((b**2).sum().item() for _, b in pairs)
    return max(losses, default=0.0), (off / size) ** 0.5 if size else 0.0


def beside_the_cpu(path: str, ways: dict[int, str], gpus: int, backend: str = "nccl") -> Row:
    """Compare a script's run on as many ranks as it can have here with the same run on the CPU."""
    possible = [n for n in ways if n <= gpus]
    if not possible:
        return path, True, f"not run: it needs {min(ways)} GPUs"
    ranks = max(possible)
    flags = [*SMALL, *ways[ranks].split()]
    if "survival" in path:
        flags += ["--checkpoints", str(FOLDER / "checkpoints"), "--every", "1000"]
    expected = launch(trained, ranks, (path, flags, True), backend="gloo", quiet=True)
    found = launch(trained, ranks, (path, flags, False), backend=backend, quiet=True)
    pairs = [apart(*each) for each in zip(found, expected, strict=True)]
    losses, gradients = (max(each) for each in zip(*pairs, strict=True))
    said = f"{ranks} rank{'s' * (ranks > 1)}: losses {losses:.1e}, gradients {gradients:.1e} apart"
    trains = any(losses for losses, _ in expected)
    return path, trains and max(losses, gradients) < TOLERANCE, said


# --- messages, rates, a trace --------------------------------------------------------------------


def exchanged(megabytes: float) -> tuple[bool, float]:
    """Add up and hand around a tensor on all ranks: whether it arrived, and seconds of the sum."""
    device, rank, ranks = rank_device(), dist.get_rank(), dist.get_world_size()
    x = torch.full((int(megabytes * 250_000),), float(rank), device=device)
    dist.all_reduce(x)
    right = bool((x == ranks * (ranks - 1) / 2).all())
    seconds = timed(lambda: dist.all_reduce(x))
    if ranks > 1:
        mine, theirs = torch.full((4,), float(rank), device=device), torch.empty(4, device=device)
        pair = [
            dist.P2POp(dist.isend, mine, (rank + 1) % ranks),
            dist.P2POp(dist.irecv, theirs, (rank - 1) % ranks),
        ]
        for work in dist.batch_isend_irecv(pair):
            work.wait()
        right = right and bool((theirs == (rank - 1) % ranks).all())
    return right, seconds


def messages(gpus: int, backend: str = "nccl", megabytes: float = 256) -> Row:
    found = launch(exchanged, gpus, (megabytes,), backend=backend, quiet=True, checked=False)
    seconds = max(seconds for _, seconds in found)
    sent = 2 * (gpus - 1) / gpus * megabytes / 1e3 / seconds
    said = f"an all-reduce of {megabytes:g} MB takes {1e3 * seconds:.2f} ms, {sent:.1f} GB/s a rank"
    return f"{backend}, {gpus} rank{'s' * (gpus > 1)}", all(right for right, _ in found), said


def timed(work: Callable[[], object], repeat: int = 5) -> float:
    """Return the shortest seconds of work, on whatever device it is."""
    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    best = float("inf")
    for _ in range(repeat + 1):  # the first one may choose a kernel
        wait()
        begun = time.perf_counter()
        work()
        wait()
        best = min(best, time.perf_counter() - begun)
    return best


def rate(device: torch.device, dtype: torch.dtype, size: int = 8192) -> Row:
    """Multiply square matrices of a type: whether that is right, and how fast."""
    name = f"products of {str(dtype).removeprefix('torch.')}"
    narrow = dtype.itemsize == 1
    if narrow and device.type == "cuda" and torch.cuda.get_device_capability(device) < (8, 9):
        return name, True, "not run: this GPU has none"
    draw = torch.Generator().manual_seed(0)
    a, b = (torch.randn(size, size, generator=draw).to(device, dtype) for _ in range(2))
    one = torch.ones((), device=device)
    tensor = ScalingType.TensorWise

    def multiply() -> torch.Tensor:
        if narrow:  # b.T: the layout in which the GPU wants the second one
            return scaled_mm(a, b.T, one, tensor, one, tensor, output_dtype=torch.bfloat16)
        return a @ b.T

    rows = slice(0, 16)  # enough to see a wrong product
    exact = a[rows].double() @ b.double().T
    off = ((multiply()[rows].double() - exact).norm() / exact.norm()).item()
    said = f"{2 * size**3 / timed(multiply) / TERA:.3g} TFLOP/s at {size:,}, {off:.1e} off"
    return name, off < 0.01, said


def traced(gpus: int, flags: Iterable[str] = ("--size", "lab")) -> Row:
    """Record the step of lesson 12 on every GPU, and keep it where the next reader finds it."""
    folder = FOLDER / "traces"
    for old in folder.glob("*.json"):
        old.unlink()
    arguments = ["--profile", "--trace-dir", str(folder), *flags]
    report = run_script(ROOT / TRACED, gpus, arguments, quiet=True)
    if not report.ok:
        return TRACED, False, str(report.failure)
    trace = Trace.load_all(sorted(folder.glob("*.json")))
    trace.save(FOLDER / "gpu_step.json.gz")
    found = list(shares(trace).values())
    mean = {
        name: sum(getattr(each, name) for each in found) / len(found)
        for name in ("computing", "communication", "input", "idle")
    }
    said = ", ".join(f"{name} {share:.0%}" for name, share in mean.items())
    return TRACED, len(found) == gpus, f"{said} of {1e3 * found[0].seconds:.0f} ms"


# --- the report ----------------------------------------------------------------------------------


def checks(device: torch.device, gpus: int) -> Iterable[Callable[[], Row]]:
    """Return every check, to be called one after the other."""
    yield lambda: messages(gpus)
    yield lambda: rate(device, torch.bfloat16)
    yield lambda: rate(device, torch.float8_e4m3fn)
    yield lambda: traced(gpus)
    yield lambda: beside_the_cpu(ONE, {1: ""}, gpus)
    for path, ways in SCRIPTS.items():
        yield lambda path=path, ways=ways: beside_the_cpu(path, ways, gpus)


def tell(found: Iterable[Callable[[], Row]], about: str, path: Path) -> bool:
    """Run checks, print a line for each, write the report, and return whether all are right."""
    lines, right = [], True
    for check in found:
        try:
            name, good, said = check()
        except Exception as error:  # one that breaks must not hide the others
            name, good = "a check", False
            said = f"{type(error).__name__}: {error}"
        right = right and good
        said = " ".join(said.split()).replace("|", "/")
        print(f"{'right' if good else 'WRONG'}  {name}: {said}", flush=True)
        lines.append(f"| {name} | {'right' if good else '**wrong**'} | {said} |")
    verdict = "Everything is right." if right else "Something is wrong."
    head = f"# What this machine's GPUs show\n\n{about}\n\n{verdict}\n\n| | | |\n|---|---|---|\n"
    write_whole(path, head + "\n".join(lines) + "\n")
    print(f"{verdict} The report: {path}")
    return right


def main() -> int:
    if not torch.cuda.is_available():
        said = "torch sees no GPU of NVIDIA's here, and `make gpu` has nothing to look at; what the"
        print(f"error: {said} lessons need is told by `python -m helpers.doctor`", file=sys.stderr)
        return 2
    about = machine()
    found = checks(torch.device("cuda", 0), torch.cuda.device_count())
    return 0 if tell(found, about, FOLDER / "report.md") else 1


if __name__ == "__main__":
    sys.exit(main())
