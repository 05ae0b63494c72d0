"""The same training on two ranks under FSDP2: each rank reads one of the two batches.

--forget half: the second layer isn't given to fully_shard, so nobody averages its gradients.
"""

import torch
import torch.distributed as dist
from alone import batch, build, flags, loss_of
from torch.distributed.fsdp import fully_shard

if __name__ == "__main__":
    dist.init_process_group("gloo")
    options = flags()
    model = build(options.model)
    layers = model.model.layers if options.model == "llama" else model.layers
    kept = set(layers[1].parameters()) if options.forget == "half" else set()
    for layer in layers[: 1 if kept else 2]:
        fully_shard(layer)
    fully_shard(model, ignored_params=kept)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(2):
        optimizer.zero_grad()
        loss_of(model, batch(step, dist.get_rank())).backward()
        optimizer.step()
    dist.destroy_process_group()
