"""simplellm: a small LLaMA, whole or in pipeline stages, with its losses, tokenizer and data.

| module | what is in it |
|---|---|
| `simplellm.llama` | `LLama`, `CausalLLama`, and the first, middle and last stage of a pipeline |
| `simplellm.slicing` | one whole model cut into stages: `slice_stages` |
| `simplellm.blocks` | RMSNorm, rotary positions, attention, SwiGLU: what one layer is made of |
| `simplellm.moe` | experts in place of the feed-forward networks: `give_experts` |
| `simplellm.config` | sizes and rotary settings, checked |
| `simplellm.losses` | `causalLLMLoss`, `perplexityLoss`, `check_finite` |
| `simplellm.generation` | sampling text from a model |
| `simplellm.checkpoint` | weights to a file and back |
| `simplellm.devices` | which device a model goes to |
| `simplellm.options` | the flags of all training scripts, and what they ask for |
| `simplellm.models` | three trained models to talk to |
| `simplellm.tokenizers`, `simplellm.dataloaders`, `simplellm.stories` | text, tokens and batches |

`import simplellm` asks for PyTorch's version but doesn't load it, because loading takes seconds.
"""

import sys
from importlib import metadata

from packaging.version import Version

LEAST_TORCH = "2.6"


def check_torch() -> None:
    """Raise ImportError with one sentence unless the installed PyTorch is new enough."""
    try:
        found = metadata.version("torch")
    except metadata.PackageNotFoundError:
        found = None
    if found is None or Version(found).release < Version(LEAST_TORCH).release:
        raise ImportError(
            f"simplellm needs PyTorch {LEAST_TORCH} or newer and found {found or 'none'} for the "
            f"Python at {sys.executable}: run `pip install torch==2.13.0` there."
        )


check_torch()
