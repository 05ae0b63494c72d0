"""On GPUs each script trains as on the CPU, products are right, a step is traced: `make gpu`.

Each training script's losses and weights beside those of the CPU, NCCL with as many ranks as
there are GPUs, the rates of bfloat16 and of 8 bits, and a traced step of lesson 12, which lies in
build/gpu/gpu_step.json.gz afterwards. In every other run the CPU stands in for the GPU, and gloo
for NCCL.
"""

import os
import re
import time
from pathlib import Path

import pytest
import torch
from torch.nn.functional import ScalingType, scaled_mm

from helpers.check.task import load_module
from helpers.ranks import launch, run_script
from helpers.ranks.connect import rank_device
from helpers.trace import Trace, shares
from tests.scripts import be_silent, on_rank

pytestmark = pytest.mark.ranks

ROOT = Path(__file__).resolve().parents[1]
GPUS = torch.cuda.device_count()
RANKS, BACKEND = (GPUS, "nccl") if GPUS else (2, "gloo")
if "LAB_GPU" in os.environ and not GPUS:
    pytest.exit("torch sees no GPU of NVIDIA's here: python -m helpers.doctor tells more", 2)
SMALL = "--dmodel 64 --heads 4 --layers 4 --seq-l 32 --optimizer sgd --lr 0.5 --steps 3".split()
ONE = "primer/intro.py"  # the script on one device
# How many ranks a script may have, and the flags that go with so many. The largest number that the
# GPUs allow is taken, because NCCL needs a GPU for each rank.
ANY = {1: "", 2: "", 4: ""}
STAGES = {1: "--stages 1", 2: "--stages 2", 4: "--stages 2"}
WAYS = {
    "DP/zero/intro_ZeRO.py": dict.fromkeys(ANY, "--stage 3"),
    "PP/schedules/intro_PP_schedule.py": {1: "", 2: "", 4: "--chunks 1 --schedule 1F1B"},
    "DP_PP/intro_DP_PP.py": STAGES,
    "DP_PP/survival/intro_survival.py": STAGES,
    "DP_PP/torchs_words.py": {2: "--stages 2", 4: "--stages 2"},
    ONE: {1: ""},
}
SCRIPTS = [  # all that train on ranks
    str(path.relative_to(ROOT))
    for folder in "CP DP DP_PP EP PP TP".split()
    for path in sorted((ROOT / folder).rglob("*.py"))
    if re.search(r"^    run_as_rank\(.*\btrain\b", path.read_text(encoding="utf-8"), re.M)
]
LONG = "CP DP/ddp DP/zero DP_PP/ EP PP/1F1B PP/microbatches PP/schedules TP".split()


def trained(path: str, flags: list[str], on_cpu: bool) -> tuple[list, torch.Tensor]:
    """Return the losses of a script's run on this rank, and the weights that it ends with."""
    device = torch.device("cpu") if on_cpu else rank_device()
    if path == ONE:
        script = load_module(ROOT / path, "the_script")
        options = script.read_flags([*flags, "--device", device.type])
        losses, net, _ = script.train(options, be_silent)
        weights = net.state_dict()
    else:
        losses, weights, _ = on_rank(path, flags, device)
    each = [getattr(w, "full_tensor", lambda w=w: w)() for w in weights.values()]
    each += [torch.empty(0)]  # a rank of ZeRO gives none
    return losses, torch.cat([w.cpu().double().flatten() for w in each])


@pytest.mark.slow
@pytest.mark.long_for(*LONG)
@pytest.mark.parametrize("path", [ONE, *SCRIPTS])
def test_a_script_trains_as_it_does_on_the_cpu(path, tmp_path):
    ways = WAYS.get(path, ANY)
    if not (possible := [n for n in ways if n <= RANKS]):
        pytest.skip(f"it needs {min(ways)} GPUs")
    flags = [*SMALL, *ways[max(possible)].split()]
    if "survival" in path:
        flags += ["--checkpoints", str(tmp_path), "--every", "1000"]
    cpu, here = (
        launch(trained, max(possible), (path, flags, on_cpu), backend=backend, quiet=True)
        for on_cpu, backend in ((True, "gloo"), (False, BACKEND))
    )
    assert any(losses for losses, _ in cpu)
    # float32 on both, added in another order; TF32 is off, as it is in torch from the start.
    for (losses, weights), (expected, exact) in zip(here, cpu, strict=True):
        assert losses == pytest.approx(expected, rel=1e-3)
        assert (weights - exact).norm() <= 1e-4 * exact.norm()


def timed(work) -> float:
    """Return the shortest seconds of work, on whatever device it is."""
    wait, seconds = torch.cuda.synchronize if GPUS else lambda: None, []
    for _ in range(6):  # the first one may choose a kernel
        wait()
        begun = time.perf_counter()
        work()
        wait()
        seconds.append(time.perf_counter() - begun)
    return min(seconds)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn], ids=str)
def test_a_product_is_right(dtype):
    narrow, device = dtype.itemsize == 1, "cuda" if GPUS else "cpu"
    if narrow and GPUS and torch.cuda.get_device_capability() < (8, 9):
        pytest.skip("this GPU has none")
    size, draw = 8192 if GPUS else 256, torch.Generator().manual_seed(0)
    a, b = (torch.randn(size, size, generator=draw).to(device, dtype) for _ in range(2))
    one, tensor = torch.ones((), device=device), ScalingType.TensorWise

    def multiply() -> torch.Tensor:
        if narrow:  # b.T: the layout in which the GPU wants the second one
            return scaled_mm(a, b.T, one, tensor, one, tensor, output_dtype=torch.bfloat16)
        return a @ b.T

    exact = a[:16].double() @ b.double().T  # enough to see a wrong product
    assert (multiply()[:16].double() - exact).norm() < 0.01 * exact.norm()
    print(f"products of {dtype}: {2 * size**3 / timed(multiply) / 1e12:.3g} TFLOP/s at {size:,}")


@pytest.mark.long
def test_a_step_is_traced(tmp_path):
    flags = ["--profile", "--trace-dir", str(tmp_path), *(["--size", "lab"] if GPUS else [])]
    report = run_script(ROOT / "DP/ddp/profile_ddp.py", RANKS, flags, quiet=True)
    assert report.ok, str(report.failure)
    trace = Trace.load_all(sorted(tmp_path.glob("*.json")))
    assert len(shares(trace)) == RANKS
    if GPUS:
        trace.save(ROOT / "build/gpu/gpu_step.json.gz")
    print(next(iter(shares(trace).values())))
