"""What a rank keeps between two steps, and what it holds during one: measured, and expected."""

from contextlib import ExitStack
from weakref import WeakValueDictionary

from helpers.cost import states
from helpers.private import after_each_operation


class Watch(ExitStack):
    """Note after each operation how many bytes all tensors hold that it has seen.

    with Watch(model.parameters()) as watch: …
    watch.phase = "F"; watch.held: {"F": [bytes after each operation], …}

    Memory blocks count, each once, and a block that has been freed counts nothing. What an
    operation allocates inside and frees again isn't seen.
    """

    def __init__(self, tensors=()):
        super().__init__()
        self.phase, self.held, self.blocks = "", {}, WeakValueDictionary()
        self.know(tensors)
        self.enter_context(after_each_operation(self.note))

    def know(self, tensors):
        blocks = [t.untyped_storage() for t in tensors]
        self.blocks.update((id(block), block) for block in blocks)

    def note(self, tensors):
        self.know(tensors)
        now = sum(block.nbytes() for block in list(self.blocks.values()))
        self.held.setdefault(self.phase, []).append(now)


def kept(model, optimizer):
    """Bytes of this rank's weights, gradients and optimizer states: {"weights": …, …}.

    Counted are the memory blocks behind the tensors, each once: views of one block are one block.
    """
    owned = [p for group in optimizer.param_groups for p in group["params"]]
    weights = [*model.parameters(), *owned]
    states = [t for state in optimizer.state.values() for t in state.values()]
    return {
        "weights": _bytes(weights),
        "gradients": _bytes([p.grad for p in weights if p.grad is not None]),
        "optimizer": _bytes([t for t in states if getattr(t, "numel", int)() > 1]),
    }


def expected(parameters, stage, ranks):
    """The same by the formula, for float32 and Adam, between backward and the next step.

    Padding, less than `ranks` numbers a unit, is left out.
    """
    found = states(parameters, "fp32", stage, ranks)
    return {name: getattr(found, name) for name in ("weights", "gradients", "optimizer")}


def _bytes(tensors):
    blocks = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
    return sum(blocks.values())
