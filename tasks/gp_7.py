"""GP-7 (problem 2.3): the blocks of GPT-2 as a pipeline."""

from pathlib import Path

from helpers.grade import Mistake, Submission, Task
from helpers.grade.task import load_module

gp = load_module(Path(__file__).with_name("_gp.py"), "lab_task_gp")

TASK = Task(
    id="GP-7",
    title="make a pipeline of the blocks of GPT-2",
    file="gpt2/pipeline/model_parallel.py",
    function="GPT2ModelParallel._prepare_pipeline_parallel",
    notebook="16",
    libraries=("transformers.models.gpt2.modeling_gpt2", "transformers.generation"),
    points=15,
    minutes=25,
    seconds=120,
    hints=(
        "Pipe wants an nn.Sequential, and it cuts where the device changes. What does a block take "
        "beside its hidden states? And how does Pipe know the device of a block on a CPU?",
        "BlockWithMask lets a block take and give a pair. WithDevice marks a layer with its "
        "device; self.devices has the device of each block. self._hold(pipe) keeps the pipe.",
        "WithDevice(BlockWithMask(block), device) for each block of self.h with its device; "
        "nn.Sequential of all; self._hold(Pipe(that, split_size, recorders)).",
    ),
)


def make(seed, **kind):
    """A small GPT-2, and what it takes: ids, and a mask that pads the first row."""
    import torch
    from project.models import make_config, make_model

    ids = torch.randint(0, 50, (4, 9), generator=torch.Generator().manual_seed(seed))
    mask = torch.ones_like(ids)
    mask[0, :4] = 0
    model = make_model(make_config("tiny", 50, 16), seed, **kind)
    return model, {"input_ids": ids, "attention_mask": mask}


def work(module, seed):
    """Logits of the pipeline with a mask, the parts, the split size, the names of the weights, and
    whether the pipe has these weights."""
    model, given = make(seed, kind=module.GPT2LMHeadModelParallel)
    model.parallelize(["cpu:0", "cpu:1"])
    model._prepare_pipeline_parallel(3)
    pipe = model.transformer.h_pp
    if pipe is None:
        return None
    try:
        found = model(**given).logits
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        pipe.close()
    lengths, names = [len(part) for part in pipe.partitions], sorted(model.state_dict())
    # Which object it is can only be seen here; what it computes is judged outside.
    weights = {id(p) for p in model.transformer.h.parameters()}
    shared = all(id(p) in weights for p in pipe.parameters())
    return found.detach(), lengths, pipe.split_size, names, shared


def verify(submission: Submission) -> None:
    """Raises Mistake or WorkFailed."""
    import torch

    (answer,) = submission.on_ranks(work, 1, submission.seed)
    if answer is None:
        raise Mistake("there is no pipe afterwards: keep it by self._hold(pipe)")
    if isinstance(answer, str):
        raise Mistake(f"a batch does not get through ({answer}): BlockWithMask takes a pair")
    found, lengths, split_size, names, shared = answer
    model, given = make(submission.seed)
    with torch.no_grad():
        plain = model(**given).logits
    if lengths != [2, 2]:
        raise Mistake(
            f"4 blocks on 2 devices make parts of {lengths}, and should of [2, 2]: mark each block "
            "with its own device"
        )
    if split_size != 3:
        raise Mistake(f"the split size is {split_size}, and 3 was asked for")
    if names != sorted(model.state_dict()):
        raise Mistake("the weights have other names now: self._hold keeps the pipe beside them")
    if not shared:
        raise Mistake("the pipe has weights of its own: take the blocks themselves, and no copies")
    if found.shape != plain.shape:
        raise Mistake(f"the logits are {tuple(found.shape)}, and must be {tuple(plain.shape)}")
    if not gp.near(found[1:], plain[1:], 1e-4):
        raise Mistake("the logits are not the plain model's: does each block come once, in order?")
    if not gp.near(found[0, 4:], plain[0, 4:], 1e-4):
        raise Mistake("the row with padding has other logits: the blocks do not get the mask")
