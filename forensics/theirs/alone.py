"""Somebody else's training on one device: two steps of a Hugging Face LLaMA on made-up text.

It knows nothing of this course, and neither does fsdp2.py: `python -m helpers.oracle` compares them
as they are.
"""

import argparse

import torch

BATCHES, SEQUENCES, LENGTH, VOCABULARY = 2, 4, 16, 96


def build(kind):
    torch.manual_seed(1)
    if kind == "llama":
        from transformers import LlamaConfig, LlamaForCausalLM

        sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
        heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
        return LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, **sizes, **heads))
    return Plain()


class Plain(torch.nn.Module):
    """Much the same from torch's own parts, which are loaded sooner."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(VOCABULARY, 32)
        layers = (torch.nn.TransformerEncoderLayer(32, 4, 64, 0.0) for _ in range(2))
        self.layers = torch.nn.ModuleList(layers)
        self.head = torch.nn.Linear(32, VOCABULARY)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def loss_of(model, ids):
    logits = model(ids)
    logits = getattr(logits, "logits", logits)
    return torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


def batch(step, number):
    draw = torch.Generator().manual_seed(100 * step + number)
    return torch.randint(VOCABULARY, (SEQUENCES, LENGTH), generator=draw)


def flags():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=("llama", "plain"), default="llama")
    parser.add_argument("--forget", choices=("nothing", "half"), default="nothing")
    return parser.parse_args()


if __name__ == "__main__":
    model = build(flags().model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(2):
        optimizer.zero_grad()
        for number in range(BATCHES):
            (loss_of(model, batch(step, number)) / BATCHES).backward()
        optimizer.step()
