"""What runs on real ranks in the tests."""

import torch
import torch.distributed as dist

from helpers.ranks import launch

LONG, SHORT = "Der alte Mann hat ein Pferd gesucht, weil die Kinder rufen.", "Die Uhr."


def rows(count):
    """Sentences of very different lengths, so that ranks have different numbers of tokens."""
    texts = [f"{LONG if n % 2 else SHORT} {'a' * (3 * n)}" for n in range(count)]
    return [{"de": text, "en": text.lower()} for text in texts]


def steps(path, samples, world, batch, longest=64):
    """On a rank: train one pass; the weights after it, and the tokens of each step."""
    import sys

    sys.path.insert(0, path)

    from data_parallel.dataset import partition_dataset
    from project import utils
    from project.models import make_config, make_model
    from project.run_data_parallel import average_gradients

    torch.set_num_threads(1)
    rank = dist.get_rank() if dist.is_initialized() else 0
    data = rows(samples)
    tokenizer = utils.get_tokenizer(data, 300, "de", "en")
    model = make_model(make_config("tiny", len(tokenizer), longest))
    collate = utils.german_to_english(tokenizer, longest)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if world:
        batches = partition_dataset(rank, world, data, batch, collate)
        _, counts = utils.train(
            model, optimizer, batches, batch, collate, "", rank, average_gradients
        )
    else:  # one device: the batches that `batch` ranks have together, step by step
        loaders = [list(partition_dataset(r, batch, data, batch, list)) for r in range(batch)]
        together = [
            collate([row for loader in loaders if step < len(loader) for row in loader[step]])
            for step in range(max(map(len, loaders)))
        ]
        _, counts = utils.train(model, optimizer, _Loader(together), batch, collate, "")
    return {n: p.detach().clone() for n, p in model.named_parameters()}, counts


def several(path, sizes):
    """On one of three ranks: what `steps` gives for each number of samples and longest row."""
    return [steps(path, samples, 3, 3, longest) for samples, longest in sizes]


class _Loader:
    """A list of batches that is not taken for a list of samples."""

    def __init__(self, batches):
        self.batches = batches

    def __len__(self):
        return len(self.batches)

    def __iter__(self):
        return iter(self.batches)


def on_ranks(function, ranks, *arguments):
    return launch(function, ranks=ranks, args=arguments, quiet=True)
