"""GP-7 (problem 2.3): make a pipeline of the blocks of GPT-2."""

import random

import torch

LESSON, MINUTES = "micro_batches", 25
SECONDS = 120
PAGE = "gpt2/README.md"
LIBRARIES = ("transformers.models.gpt2.modeling_gpt2", "transformers.generation")


def observe(module, case):
    from project.models import make_config, make_model

    plain, draw = make_model(make_config("tiny", 50, 16)), torch.Generator()
    draw.manual_seed(case["seed"])
    for p in plain.parameters():  # norms and biases, too
        p.data += 0.05 * torch.randn(p.shape)
    model = make_model(plain.config, kind=module.GPT2LMHeadModelParallel)
    model.load_state_dict(plain.state_dict())
    model.parallelize(["cpu:0", "cpu:1"])
    model._prepare_pipeline_parallel(3)
    pipe = model.transformer.h_pp
    if pipe is None:
        return "there is no pipe afterwards"
    try:
        found = model(input_ids=case["ids"], attention_mask=case["mask"]).logits.detach()
    except Exception as error:
        return f"a batch does not get through ({type(error).__name__}: {error})"
    finally:
        pipe.close()
    if found.ndim == 3:
        found[case["mask"] == 0] = 0  # what padding leads to does not matter
    weights = {id(p) for p in model.transformer.h.parameters()}
    return {
        "parts": [len(part) for part in pipe.partitions],
        "split size": pipe.split_size,
        "weights by their plain names": model.state_dict().keys() == plain.state_dict().keys(),
        "shares the weights": all(id(p) in weights for p in pipe.parameters()),
        "logits": found,
    }


TOLERANCE = 1e-4


def cases():
    ends = (4, 7), (8, 12), (2, 5)
    rows, length, padded = (torch.randint(*each, ()).item() for each in ends)
    ids = torch.randint(0, 50, (rows, length))
    mask = torch.ones_like(ids)
    mask[0, :padded] = 0
    return [{"seed": random.randrange(10**6), "ids": ids, "mask": mask}]


HOLD = "self._hold(Pipe(nn.Sequential(*marked), split_size))"
FORGETS = """
class Forgets(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, both):
        return self.inner(both[0]), both[1]

blocks = """
MUTANTS = {
    (HOLD, "pass"): "keep the pipe: self._hold(pipe)",
    ("BlockWithMask(block)", "block"): "a block is given a pair, and takes its hidden states "
    "alone: BlockWithMask takes the pair",
    (", device) for", ", self.devices[0]) for"): "all blocks have the mark of one device, so there "
    "is one part: mark each with its own",
    ("*marked), split_size", "*marked), 1"): "the split size is 1, whatever was asked for: "
    "give it to Pipe",
    (HOLD, "self.h_pp = Pipe(nn.Sequential(*marked), split_size)"): "the weights have "
    "other names now: self._hold keeps the pipe beside them",
    ("(block)", "(__import__('copy').deepcopy(block))"): "the pipe has weights of its own: take "
    "the blocks themselves, and no copies",
    ("zip(self.h,", "zip(self.h[::-1],"): "the blocks come in another order: each once, from the "
    "first to the last",
    (("blocks = ", FORGETS), ("BlockWithMask(block)", "Forgets(block)")): "the row with padding "
    "has other logits: the blocks do not get the mask",
}
