"""What a rank keeps between two steps, measured, and what it should be."""


def kept(model, optimizers):
    """Bytes of this rank's weights, gradients and optimizer states: {"weights": …, …}.

    Counted are the memory blocks behind the tensors, each once: views of one block are one block.
    """
    parameters = list(model.parameters())
    owned = [p for o in optimizers for group in o.param_groups for p in group["params"]]
    states = [t for o in optimizers for state in o.state.values() for t in state.values()]
    return {
        "weights": _bytes([*parameters, *owned]),
        "gradients": _bytes([p.grad for p in [*parameters, *owned] if p.grad is not None]),
        "optimizer": _bytes([t for t in states if getattr(t, "numel", int)() > 1]),
    }


def expected(parameters, stage, ranks, bytes_each=4):
    """The same in closed form, for Adam; parameters: how many the model has (arXiv 1910.02054).

    Between backward and the next step. ZeRO-1 cuts the two states of Adam, ZeRO-2 the gradients
    too, ZeRO-3 the weights too. Padding, less than `ranks` numbers a unit, is left out.
    """
    each = bytes_each * parameters
    cut = [ranks if stage >= first else 1 for first in (3, 2, 1)]
    return dict(
        zip(
            ("weights", "gradients", "optimizer"),
            (each / cut[0], each / cut[1], 2 * each / cut[2]),
            strict=True,
        )
    )


def _bytes(tensors):
    blocks = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
    return sum(blocks.values())
