"""GPT-2 with its blocks on several devices: one after the other, or as a pipeline.

For transformers 5: a block takes its mask as an argument, and gives a tensor.
"""

from collections.abc import Sequence

import torch
from torch import nn
from transformers import DynamicCache, GPT2Config, GPT2LMHeadModel, GPT2Model
from transformers.masking_utils import create_causal_mask
from transformers.modeling_outputs import BaseModelOutputWithPastAndCrossAttentions
from wrong_input import WrongInput

from helpers.trace import Recorder
from pipeline.partition import WithDevice
from pipeline.pipe import Pipe

Devices = Sequence[torch.device | str]


class BlockWithMask(nn.Module):
    """A block of GPT-2 that takes and gives (hidden states, attention mask), as `Pipe` needs it."""

    def __init__(self, block: nn.Module):
        super().__init__()
        self.block = block

    def forward(self, both: tuple[torch.Tensor, torch.Tensor | None]):
        hidden, mask = both
        return self.block(hidden, attention_mask=mask), mask


class GPT2ModelParallel(GPT2Model):
    """GPT-2 without its head, with blocks on several devices.

    devices: of each block; None before `parallelize`. h_pp: the pipe, or None.
    """

    def __init__(self, config: GPT2Config):
        super().__init__(config)
        self._on_one_device()

    def _on_one_device(self) -> None:
        self.devices: list[torch.device] | None = None
        self._hold(None)

    def _hold(self, pipe: Pipe | None) -> None:
        # Not as a submodule: the parameters keep the names that they have in the plain model.
        self.__dict__["h_pp"] = pipe

    def parallelize(self, devices: Devices | None = None) -> None:
        """Spread the blocks evenly over the devices, in order; by default all GPUs, or two CPUs.

        The embeddings go to the first device, the last norm to the last.
        """
        devices = devices or default_devices()[: len(self.h)]
        devices = [torch.device(device) for device in devices]
        if len(devices) > len(self.h):
            raise WrongInput(
                f"{len(devices)} devices for {len(self.h)} blocks: each needs one at least; take "
                f"{len(self.h)} devices or fewer"
            )
        count = len(self.h)
        self.devices = [devices[number * len(devices) // count] for number in range(count)]
        for block, device in zip(self.h, self.devices, strict=True):
            block.to(device)
        self.wte.to(devices[0])
        self.wpe.to(devices[0])
        self.ln_f.to(devices[-1])

    def deparallelize(self) -> None:
        """Everything on the CPU again, without a pipe."""
        self._finalize_pipeline_parallel()
        self.devices = None
        self.to("cpu")

    def _prepare_pipeline_parallel(
        self, split_size: int = 1, recorders: Sequence[Recorder] | None = None
    ) -> None:
        """Send the blocks' input through a `Pipe` from now on. split_size: as in `Pipe`."""
        if self.devices is None:
            raise WrongInput("the blocks are not on several devices yet: call parallelize() first")
        self._finalize_pipeline_parallel()
        # BEGIN SOLUTION GP-7
        blocks = zip(self.h, self.devices, strict=True)
        marked = [WithDevice(BlockWithMask(block), device) for block, device in blocks]
        self._hold(Pipe(nn.Sequential(*marked), split_size, recorders))
        # END SOLUTION

    def _finalize_pipeline_parallel(self) -> None:
        """Without the pipe again; its threads end."""
        if self.h_pp is not None:
            self.h_pp.close()
        self._hold(None)

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        past_key_values=None,
        use_cache: bool | None = None,
        **more,
    ) -> BaseModelOutputWithPastAndCrossAttentions:
        """As the plain model; on several devices with these arguments, in a pipe without a cache.

        Raises WrongInput for others.
        """
        if self.devices is None:
            return super().forward(
                input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids,
                past_key_values=past_key_values, use_cache=use_cache, **more,
            )  # fmt: skip
        refused = [name for name, value in more.items() if not (value is None or value is False)]
        if self.h_pp is not None and (past_key_values is not None or use_cache):
            refused.append("a cache (use_cache, past_key_values)")
        if refused:
            raise WrongInput(
                f"a model on several devices cannot take {refused[0]}: leave it out, or call "
                "_finalize_pipeline_parallel(), or deparallelize(), first"
            )
        past = past_key_values
        if use_cache and past is None:
            past = DynamicCache(config=self.config)
        hidden, mask = self._before_blocks(input_ids, attention_mask, position_ids, past)
        if self.h_pp is not None:
            hidden, _ = self.h_pp((hidden, mask))
        else:
            for block, device in zip(self.h, self.devices, strict=True):
                here = None if mask is None else mask.to(device)
                hidden = block(hidden.to(device), past, here)
        return BaseModelOutputWithPastAndCrossAttentions(self.ln_f(hidden), past)

    def _before_blocks(self, input_ids, attention_mask, position_ids, past):
        """The embeddings [rows, length, width], and the mask that every block takes, or None."""
        input_ids = input_ids.to(self.wte.weight.device)
        if position_ids is None:
            before = 0 if past is None else past.get_seq_length()
            position_ids = torch.arange(input_ids.shape[1], device=input_ids.device)[None] + before
        hidden = self.wte(input_ids)
        mask = create_causal_mask(
            config=self.config, inputs_embeds=hidden, attention_mask=attention_mask,
            past_key_values=past, position_ids=position_ids,
        )  # fmt: skip
        if mask is not None:  # the same rows for every sample come as one
            mask = mask.expand(len(hidden), *mask.shape[1:])
        return self.drop(hidden + self.wpe(position_ids)), mask


class GPT2LMHeadModelParallel(GPT2LMHeadModel):
    """GPT-2 with its head. The logits are on the first device, where the tied table is."""

    def __init__(self, config: GPT2Config):
        super().__init__(config)
        # Building the transformer a second time would draw other weights: the one that is there
        # learns what it lacks.
        self.transformer.__class__ = GPT2ModelParallel
        self.transformer._on_one_device()
        self.lm_head.register_forward_pre_hook(lambda head, x: (x[0].to(head.weight.device),))

    def parallelize(self, devices: Devices | None = None) -> None:
        self.transformer.parallelize(devices)
        self.lm_head.to(self.transformer.wte.weight.device)

    def deparallelize(self) -> None:
        self.transformer.deparallelize()
        self.lm_head.to("cpu")

    def _prepare_pipeline_parallel(
        self, split_size: int = 1, recorders: Sequence[Recorder] | None = None
    ) -> None:
        self.transformer._prepare_pipeline_parallel(split_size, recorders)

    def _finalize_pipeline_parallel(self) -> None:
        self.transformer._finalize_pipeline_parallel()


def default_devices() -> list[str]:
    """All GPUs where there are two or more; else two marks of the CPU."""
    count = torch.cuda.device_count()
    return [f"cuda:{number}" for number in range(count)] if count > 1 else ["cpu:0", "cpu:1"]
