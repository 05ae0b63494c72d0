"""The same blocks in two threads and in two processes: the same gradients, one picture."""

import torch
from pipeline.by_process import loss_of, one_step, together
from pipeline.model_parallel import BlockWithMask
from pipeline.partition import WithDevice
from pipeline.pipe import Pipe
from project.models import make_config, make_model

from helpers.ranks import launch
from helpers.schedules import from_trace, gpipe
from helpers.timeline import Timeline
from helpers.trace import Recorder


def test_threads_and_processes_give_the_same_gradients(tmp_path):
    config = make_config("tiny", 50, 12)
    hidden = torch.randn(8, 10, config.n_embd, generator=torch.Generator().manual_seed(1))
    blocks = make_model(config).transformer.h
    marked = [WithDevice(BlockWithMask(b), f"cpu:{n // 2}") for n, b in enumerate(blocks)]
    recorders = [Recorder(part) for part in range(2)]
    with Pipe(torch.nn.Sequential(*marked), 2, recorders) as pipe:
        out, _ = pipe((hidden, None))
        loss_of(out, hidden).backward()
        threads = pipe.trace()

    answers = launch(one_step, 2, args=(config, hidden, 4, 1), quiet=True)
    named = {name: gradient for _, _, mine in answers for name, gradient in mine.items()}
    expected = {
        f"{n}.{name}": p.grad for n, b in enumerate(blocks) for name, p in b.named_parameters()
    }
    assert named.keys() == expected.keys()
    for name, gradient in named.items():
        torch.testing.assert_close(gradient, expected[name], rtol=1e-4, atol=1e-7, msg=name)

    processes = together([trace for trace, _, _ in answers])
    assert from_trace(processes).ranks == gpipe(2, 4).ranks
    order = [[e.info["micro_batch"] for e in threads.events if e.rank == part] for part in (0, 1)]
    assert order == [[0, 1, 2, 3]] * 2  # the clock's: the forward half of the same schedule
    both = Timeline({"two threads": threads, "two processes": processes})
    assert both.save(tmp_path / "both.html") and both.picture().save(tmp_path / "both.svg")
