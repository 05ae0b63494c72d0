"""GP-7 (problem 2.3): the blocks of GPT-2 as a pipeline."""

from helpers.grade import Task
from tasks import _gp  # noqa: F401

TASK = Task(
    id="GP-7",
    title="make a pipeline of the blocks of GPT-2",
    file="gpt2/pipeline/model_parallel.py",
    function="GPT2ModelParallel._prepare_pipeline_parallel",
    notebook="20",
    libraries=("transformers.models.gpt2.modeling_gpt2", "transformers.generation"),
    points=15,
    minutes=25,
    seconds=120,
    hints=(
        "Pipe wants an nn.Sequential, and it cuts where the device changes. What does a block take "
        "besides its hidden states? And how does Pipe know the device of a block on a CPU?",
        "BlockWithMask lets a block take and return a pair. WithDevice marks a layer with its "
        "device; self.devices has the device of each block. self._hold(pipe) keeps the pipe.",
        "WithDevice(BlockWithMask(block), device) for each block of self.h with its device; "
        "nn.Sequential of all; self._hold(Pipe(that, split_size, recorders)).",
    ),
)


def run(module, case):
    """Logits of the pipeline with a mask, its parts, and what holds its weights.

    case: {"weights": of the model, "input_ids", "attention_mask", "split_size", "padded": places
    of the first row that are padding, whose logits do not matter}.
    """
    from project.models import make_config, make_model

    model = make_model(make_config("tiny", 50, 16), kind=module.GPT2LMHeadModelParallel)
    model.load_state_dict(case["weights"])
    model.parallelize(["cpu:0", "cpu:1"])
    model._prepare_pipeline_parallel(case["split_size"])
    pipe = model.transformer.h_pp
    if pipe is None:
        return "no pipe"
    try:
        found = model(
            input_ids=case["input_ids"], attention_mask=case["attention_mask"]
        ).logits.detach()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        pipe.close()
    if found.ndim == 3:
        found[0, : case["padded"]] = 0
    weights = {id(p) for p in model.transformer.h.parameters()}
    return {
        "parts": [len(part) for part in pipe.partitions],
        "split size": pipe.split_size,
        "names": sorted(model.state_dict()),
        "shares the weights": all(id(p) in weights for p in pipe.parameters()),
        "logits": found,
    }
