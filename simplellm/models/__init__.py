"""Three trained models to talk to: one training, saved early, in the middle and at its end.

>>> from simplellm.generation import write_story
>>> from simplellm.models import pretrained
>>> tokenizer, net = pretrained("best")
>>> print(write_story(net, tokenizer, seed=1))

`primer/train_models.py` trained them, and wrote their facts beside them: `facts("best")`.
"""

import json
from pathlib import Path

from simplellm.checkpoint import load_model
from simplellm.llama import CausalLLama, LLama
from simplellm.tokenizers import SPTokenizer

FOLDER = Path(__file__).resolve().parent
NAMES = ("early", "middle", "best")


def pretrained(name: str) -> tuple[SPTokenizer, LLama]:
    """Return the tokenizer and the trained model called "early", "middle" or "best"."""
    about = facts(name)
    tokenizer = SPTokenizer(about["tokenizer"])
    return tokenizer, load_model(of_sizes(about, tokenizer, "cpu"), weights_file(name))


def of_sizes(sizes: dict, tokenizer: SPTokenizer, device: str) -> LLama:
    """Return a model of these sizes, named as flags are: dmodel, heads, layers, seq_l."""
    size = {"dmodel": sizes["dmodel"], "num_heads": sizes["heads"], "n_layers": sizes["layers"]}
    rest = {"ctx_size": sizes["seq_l"], "padding_idx": tokenizer.pad_id, "device": device}
    return LLama(CausalLLama, tokenizer.vocab_size, **size, **rest)


def facts(name: str) -> dict:
    """Return what is known of a model: its sizes, and what was measured when it was trained.

    `steps` and `tokens` it has been trained for, and the `minutes` that took; `loss` in nats per
    token and `bits_per_byte` of stories that it hasn't read; of the complete `sentences` of ten
    stories it writes, how many are `right`: sentences that the stories' grammar can write.
    """
    if name not in NAMES:
        raise ValueError(
            f'there is no model "{name}": choose "early", "middle" or "best"; a file of your own '
            "needs a name that ends in .safetensors"
        )
    both = json.loads((FOLDER / "models.json").read_text(encoding="utf-8"))
    return both["model"] | both[name]


def weights_file(name: str | Path) -> Path:
    """Return the file of a model's weights: of a shipped one by its name, or any path as it is."""
    path = Path(name)
    if str(name) not in NAMES and (path.exists() or path.suffix == ".safetensors"):
        return path
    facts(str(name))
    return FOLDER / f"{name}.safetensors"
