"""simplellm: a small LLaMA, whole or in pipeline stages, with its losses, tokenizer and data.

| module | what is in it |
|---|---|
| `simplellm.llama` | `LLama`, `CausalLLama`; the names of the next two can be imported here too |
| `simplellm.stages` | the first, middle and last stage of a pipeline |
| `simplellm.slicing` | one whole model cut into stages: `slice_stages` |
| `simplellm.blocks` | RMSNorm, rotary positions, attention, SwiGLU: what one layer is made of |
| `simplellm.moe` | experts in place of the feed-forward networks: `give_experts` |
| `simplellm.config` | sizes and rotary settings, checked |
| `simplellm.losses` | `causalLLMLoss`, `perplexityLoss`, `check_finite` |
| `simplellm.generation` | sampling text from a model |
| `simplellm.checkpoint` | weights to a file and back |
| `simplellm.devices` | which device a model goes to |
| `simplellm.tokenizers`, `simplellm.dataloaders`, `simplellm.stories` | text, tokens and batches |

`import simplellm` looks for PyTorch but doesn't load it, because loading takes seconds.
"""

import importlib.util
import re
import sys
from pathlib import Path

LEAST_TORCH = (2, 6)


def installed_torch() -> str | None:
    """Return the version of the PyTorch that `import torch` would load ("2.13.0+cpu"), or None."""
    if "torch" not in sys.modules:
        spec = importlib.util.find_spec("torch")
        if spec is None or spec.origin is None:
            return None
        file = Path(spec.origin).with_name("version.py")
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        written = re.search(r"(?m)^__version__\b.*?['\"](.+?)['\"]", text)
        if written:
            return written[1]
        import torch  # noqa: F401  an unusual build: only the module itself knows its version
    return getattr(sys.modules["torch"], "__version__", None)


def check_torch(found: str | None) -> None:
    """Raise ImportError with one sentence unless `found` is a version that simplellm runs on."""
    least = ".".join(map(str, LEAST_TORCH))
    version = re.match(r"(\d+)\.(\d+)", found or "")
    if not version or tuple(map(int, version.groups())) < LEAST_TORCH:
        raise ImportError(
            f"simplellm needs PyTorch {least} or newer and found {found or 'none'} for the Python "
            f"at {sys.executable}: run `pip install torch==2.13.0` there."
        )


check_torch(installed_torch())
