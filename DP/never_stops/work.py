"""What is computed: gradients of a tiny LLaMA on stories, weights and gradients as one vector."""

import numpy as np
import torch

from simplellm.losses import causalLLMLoss
from simplellm.options import TrainingFlags, make_stories, prepare

TINY = "--layers 1 --dmodel 24 --heads 2 --seq-l 32".split()
STORIES = 96  # sequences of each replica; its place wraps around


class Work:
    """A model, and a text for each replica that is cut into batches of one to three sequences."""

    def __init__(self, replicas, flags=TINY, seed=0, dtype=torch.float64):
        torch.set_num_threads(1)
        options = TrainingFlags("", batch_size=replicas).parse_args([*flags, "--seed", str(seed)])
        self.tokenizer, net = prepare(options, "cpu")
        self.net = net.to(dtype)
        streams = (
            make_stories(options, self.tokenizer, r, replicas, STORIES, quiet=True)
            for r in range(replicas)
        )
        self.text = torch.stack([next(iter(stream)) for stream in streams])

    def start(self):
        """Return the weights that everybody begins with."""
        return vector(self.net.parameters())

    def batch(self, replica, place):
        """Return the batch at a place of a replica's text; batches have one to three sequences."""
        size = 1 + (replica + place) % 3
        return self.text[replica, [(3 * place + i) % self.text.shape[1] for i in range(size)]]

    def gradient(self, weights, ids):
        """Return loss, number of tokens and gradient of sequences."""
        load(self.net, weights)
        self.net.zero_grad()
        loss = self.loss_of(ids)
        loss.backward()
        gradient = vector(p.grad for p in self.net.parameters())
        return loss.item(), ids[:, 1:].numel(), gradient

    def loss_of(self, ids):
        return causalLLMLoss(self.net(ids), ids, self.tokenizer.vocab_size)


def vector(tensors):
    """Return tensors as one flat array."""
    return torch.cat([tensor.detach().flatten() for tensor in tensors]).numpy()


@torch.no_grad()
def load(net, weights):
    """Write a flat array into a model's parameters."""
    flat = torch.from_numpy(np.asarray(weights))
    sizes = [p.numel() for p in net.parameters()]
    for p, part in zip(net.parameters(), flat.split(sizes), strict=True):
        p.copy_(part.view_as(p))


def on_one_device(work, counted, new):
    """Return the state after one device has taken exactly the batches that counted.

    Its batch of a step is all their sequences together, in one forward and one backward.

    counted: for each step {replica: place}. new(weights): a fresh `State`.
    """
    state = new(work.start())
    for places in counted:
        ids = torch.cat([work.batch(replica, place) for replica, place in places.items()])
        state.apply(work.gradient(state.weights, ids)[2], places)
    return state
