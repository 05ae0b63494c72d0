"""GPT-2 with its blocks on several devices: one after the other, or as a pipeline.

For transformers 5, where a block takes its mask as an argument and returns a tensor.
"""

import torch
from torch import nn
from transformers import GPT2LMHeadModel, GPT2Model
from wrong_input import WrongInput

from pipeline.partition import WithDevice
from pipeline.pipe import Pipe


class BlockWithMask(nn.Module):
    """A block that takes and returns (hidden states, attention mask), as `Pipe` needs it."""

    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, both):
        hidden, mask = both
        return self.block(hidden, attention_mask=mask), mask


class PipeAsBlock(nn.Module):
    """All blocks as one, called as GPT-2 calls a block."""

    def __init__(self, pipe):
        super().__init__()
        self.pipe = pipe

    def forward(self, hidden, past, mask, *_, **__):
        if mask is not None:  # rows that are equal for every sample come as one
            mask = mask.expand(len(hidden), *mask.shape[1:])
        return self.pipe((hidden, mask))[0]


class GPT2ModelParallel(GPT2Model):
    """GPT-2 without its head, with blocks on several devices.

    devices: of each block; None before `parallelize`. h_pp: the pipe, or None.
    """

    def __init__(self, config):
        super().__init__(config)
        self._on_one_device()

    def _on_one_device(self):
        self.devices, self.moving = None, []
        self._hold(None)

    def _hold(self, pipe):
        # Not as a submodule: the parameters keep the names that they have in the plain model.
        self.__dict__["h_pp"] = pipe

    def parallelize(self, devices=None):
        """Spread the blocks evenly over the devices, in order; by default all GPUs, or two CPUs.

        The embeddings go to the first device, the last norm to the last.
        """
        self.deparallelize()
        count = len(self.h)
        devices = [torch.device(device) for device in devices or default_devices()[:count]]
        if len(devices) > count:
            told = f"each needs one at least; take {count} devices or fewer"
            raise WrongInput(f"{len(devices)} devices for {count} blocks: {told}")
        self.devices = [devices[number * len(devices) // count] for number in range(count)]
        for block, device in zip(self.h, self.devices, strict=True):
            self.moving.append(move_before(block.to(device), device))
        self.wte.to(devices[0])
        self.wpe.to(devices[0])
        self.ln_f.to(devices[-1])

    def deparallelize(self):
        """Everything on the CPU again, without a pipe."""
        self._finalize_pipeline_parallel()
        for hook in self.moving:
            hook.remove()
        self._on_one_device()
        self.to("cpu")

    def _prepare_pipeline_parallel(self, split_size=1):
        """Send the blocks' input through a `Pipe` from now on. split_size: as in `Pipe`."""
        if self.devices is None:
            raise WrongInput("the blocks are not on several devices yet: call parallelize() first")
        self._finalize_pipeline_parallel()
        # BEGIN SOLUTION GP-7
        blocks = zip(self.h, self.devices, strict=True)
        marked = [WithDevice(BlockWithMask(block), device) for block, device in blocks]
        self._hold(Pipe(nn.Sequential(*marked), split_size))
        # END SOLUTION

    def _finalize_pipeline_parallel(self):
        """Without the pipe again; its threads end."""
        if self.h_pp is not None:
            self.h_pp.close()
        self._hold(None)

    def forward(self, *given, past_key_values=None, use_cache=None, **more):
        """As the plain model, to which the pipe is one block. WrongInput for a pipe and a cache."""
        more |= {"past_key_values": past_key_values, "use_cache": use_cache}
        if self.h_pp is None:
            return super().forward(*given, **more)
        if past_key_values is not None or use_cache:
            told = "leave it out, or call _finalize_pipeline_parallel() first"
            raise WrongInput(f"a pipeline cannot take a cache (use_cache, past_key_values): {told}")
        blocks, self.h = self.h, nn.ModuleList([PipeAsBlock(self.h_pp)])
        try:
            return super().forward(*given, **more)
        finally:
            self.h = blocks


class GPT2LMHeadModelParallel(GPT2LMHeadModel):
    """GPT-2 with its head. The logits are on the first device, where the tied table is."""

    def __init__(self, config):
        super().__init__(config)
        # A second transformer would draw other weights, so the one that is there changes its class.
        self.transformer.__class__ = GPT2ModelParallel
        self.transformer._on_one_device()

    def parallelize(self, devices=None):
        self.transformer.parallelize(devices)
        first = self.transformer.devices[0]
        self.transformer.moving.append(move_before(self.lm_head.to(first), first))

    def deparallelize(self):
        self.transformer.deparallelize()
        self.lm_head.to("cpu")

    def _prepare_pipeline_parallel(self, split_size=1):
        self.transformer._prepare_pipeline_parallel(split_size)

    def _finalize_pipeline_parallel(self):
        self.transformer._finalize_pipeline_parallel()


def move_before(module, device):
    """Bring what a module is given to its device; return the hook, which can be removed."""

    def moved(x):
        return x.to(device) if isinstance(x, torch.Tensor) else x

    def hook(module, given, named):
        return tuple(map(moved, given)), {name: moved(x) for name, x in named.items()}

    return module.register_forward_pre_hook(hook, with_kwargs=True)


def default_devices():
    """Return all GPUs if there are two or more; else two marks of the CPU."""
    count = torch.cuda.device_count()
    return [f"cuda:{number}" for number in range(count)] if count > 1 else ["cpu:0", "cpu:1"]
