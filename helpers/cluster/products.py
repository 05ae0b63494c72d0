"""The matrix products of a layer on one device: what they multiply, and how long that takes."""

from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine
from helpers.cost import ModelConfig

Product = tuple[float, float, float, float]  # rows, columns, inner dimension, how many


def products_seconds(
    model: ModelConfig, layout: Layout, machine: Machine
) -> tuple[float, float, float]:
    """Return the seconds of one micro-batch: forward by weights, forward of attention, backward.

    Each product needs two in the backward pass, of the same three dimensions: the gradients of
    its two factors. Fused attention leaves out what the mask hides, half, and computes the scores
    again from Q and K in the backward pass.

    FP8 takes the products with weights `machine.eight` times as fast; attention, the router and
    the logits stay in 16 bits (DeepSeek-V3, arXiv 2412.19437, section 3.3.1).
    """
    multiply = machine.matmul_seconds
    weights = _seconds(weight_products(model, layout), layout, machine)
    own = layout.sequence // layout.cp  # queries of a sequence that are here; all keys pass by
    heads = layout.micro_batch * model.heads / layout.tp
    key, value = head_widths(model)
    scores = machine.attention_seconds if layout.flash else multiply
    keys = scores(own, layout.sequence, key, heads)
    values = keys if key == value else scores(own, layout.sequence, value, heads)
    backward = 2 * (weights + keys + values) + (keys if layout.flash else 0.0)
    return weights, keys + values, backward


def every_second_seconds(model: ModelConfig, layout: Layout, machine: Machine) -> float:
    """Return the seconds of the products that recompute="op" runs again, of a dense layer.

    They are the output projection, and of a LLaMA the keys and the matrix beside the gate.
    """
    n, h, t = layout.tokens, model.hidden, layout.tp
    again = [(n, h, model.query_width / t, 1)]
    if model.gated:
        again += [(n, model.kv_width / t, h, 1), (n, model.intermediate / t, h, 1)]
    return _seconds(again, layout, machine)


def _seconds(products: list[Product], layout: Layout, machine: Machine) -> float:
    """Of products with weights, which may be in 8 bits."""
    times = machine.eight if layout.fp8 else 1.0
    return sum(machine.matmul_seconds(*one, times) for one in products)


def weight_products(model: ModelConfig, layout: Layout) -> list[Product]:
    """Return the products with weights of one layer, forward."""
    return [*_attention(model, layout), *_mlps(model, layout)]


def head_widths(model: ModelConfig) -> tuple[int, int]:
    """Return the width of one head's query and key, and of its value."""
    latent = model.latent
    return (
        (latent.nope + latent.rope, latent.value) if latent else (model.head_size, model.head_size)
    )


def _attention(model: ModelConfig, layout: Layout) -> tuple[Product, ...]:
    """The products of attention with weights.

    Latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1) projects down, on every
    tensor-parallel rank alike, and up again to whole heads, which are cut.
    """
    n, h, t, latent = layout.tokens, model.hidden, layout.tp, model.latent
    if latent is None:
        wide, query = (model.query_width + 2 * model.kv_width) / t, model.query_width / t
        return (n, wide, h, 1), (n, h, query, 1)
    heads, (key, value) = model.heads / t, head_widths(model)
    down = ((n, latent.q_rank, h, 1),) if latent.q_rank else ()
    return (
        *down,
        (n, latent.kv_rank + latent.rope, h, 1),
        (n, heads * key, latent.q_rank or h, 1),
        (n, heads * (latent.nope + value), latent.kv_rank, 1),
        (n, h, heads * value, 1),
    )


def _mlps(model: ModelConfig, layout: Layout) -> list[Product]:
    """The products of the MLPs that are on this device.

    Experts are taken to be equally busy: the ep x expert_tp ranks that share them have
    ep x expert_tp / tp batches of n tokens between them, each token in k of the E experts.
    """
    n, h, moe = layout.tokens, model.hidden, model.moe
    if moe is None:
        sizes = [(n, model.intermediate / layout.tp, 1)]
    else:
        here, etp = moe.experts / layout.ep, layout.expert_tp or layout.tp
        sizes = [(n * moe.chosen * etp / layout.tp / here, moe.intermediate / etp, here)]
        if moe.shared:
            sizes.append((n, moe.shared * moe.intermediate / layout.tp, 1))
    ways = 2 if model.gated else 1
    return [one for r, w, c in sizes for one in ((r, ways * w, h, c), (r, h, w, c))]
