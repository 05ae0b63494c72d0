"""What is computed: gradients of a tiny LLaMA on stories, weights and gradients as one vector."""

import torch
from rules import State
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from simplellm.losses import causalLLMLoss
from simplellm.options import TrainingFlags, make_stories, prepare

TINY = "--layers 1 --dmodel 24 --heads 2 --seq-l 32".split()
STORIES = 96  # sequences of each replica; its place wraps around


class Work:
    """A model, and a text for each replica that is cut into batches of one to three sequences."""

    def __init__(self, replicas):
        torch.set_num_threads(1)
        options = TrainingFlags("", batch_size=replicas).parse_args(TINY)
        self.tokenizer, net = prepare(options, "cpu")
        self.net = net.double()
        streams = (
            make_stories(options, self.tokenizer, r, replicas, STORIES, quiet=True)
            for r in range(replicas)
        )
        self.text = torch.stack([next(iter(stream)) for stream in streams])

    def start(self):
        """Return the weights that everybody begins with."""
        return as_array(self.net.parameters())

    def batch(self, replica, place):
        """Return the batch at a place of a replica's text; batches have one to three sequences."""
        size = 1 + (replica + place) % 3
        return self.text[replica, [(3 * place + i) % self.text.shape[1] for i in range(size)]]

    def gradient(self, weights, ids):
        """Return loss, number of tokens and gradient of sequences."""
        vector_to_parameters(torch.from_numpy(weights), self.net.parameters())
        self.net.zero_grad()
        loss = causalLLMLoss(self.net(ids), ids, self.tokenizer.vocab_size)
        loss.backward()
        return loss.item(), ids[:, 1:].numel(), as_array(p.grad for p in self.net.parameters())


def as_array(tensors):
    """Return tensors as one flat array."""
    return parameters_to_vector(tensors).detach().numpy()


def on_one_device(work, counted):
    """Return the weights after one device has taken exactly the batches that counted.

    counted: for each step {replica: place}; their sequences together are its batch.
    """
    state = State.new(work.start())
    for places in counted:
        ids = torch.cat([work.batch(replica, place) for replica, place in places.items()])
        state.apply(work.gradient(state.weights, ids)[2], places)
    return state.weights
