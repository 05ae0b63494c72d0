"""When sending takes as long as computing: one bound for each way of training on many devices.

    from helpers.cost.rooflines import data_parallel_tokens
    data_parallel_tokens(model, rate=989e12, link=450e9)      2,198 tokens a replica and step

F, `rate`: FLOP/s of one device. B, `link`: bytes/s that one device sends while it receives as many
(`helpers.cost.rates` has both). Each bound sets bytes / B equal to FLOPs / F and solves for what
one can choose: tokens, or a width. docs/rooflines.md has those in ranks and layers too, says when
each matters, and has the bounds of known models.

Conventions: 2 bytes a value; a matrix of W weights costs 2W FLOPs a token forward and 4W backward;
rings over so many ranks n that each sends all of the result, and not (n-1)/n of it.
Left out: attention scores and recomputation, latency, embedding and logits.
"""

from helpers.cost.flops import flops
from helpers.cost.memory import BYTES
from helpers.cost.model import ModelConfig


def layer_weights(model: ModelConfig, ep: int | None = None) -> float:
    """Return the weights W of a layer's matrices, the mean over the layers: those that a token
    passes; of experts with `ep`, those that one of `ep` ranks holds which share them."""
    passed = flops(model, 1, 1, "weights").weights / 2
    if ep is None or model.moe is None:
        return passed
    one = 3 * model.hidden * model.moe.intermediate * model.expert_layers / model.layers
    return passed + (model.moe.experts / ep - model.moe.chosen) * one


def data_parallel_tokens(
    model: ModelConfig, rate: float, link: float, *, gradient=BYTES, ep: int = 1
) -> float:
    """Return the tokens of a replica and step at which averaging gradients hides behind backward.

    T tokens cost 4WT FLOPs backward. The all-reduce of gradients of b bytes (`gradient`) sends 2bW,
    so T = (b/2) F/B, whatever the model and however W is cut. Only the backward pass of the last
    micro-batch hides them. Of experts, which `ep` ranks share, a rank holds more than a token
    passes: T grows by the ratio.
    """
    held = layer_weights(model, ep) / layer_weights(model)
    return gradient / 2 * held * _intensity(rate, link)


def fsdp_tokens(
    model: ModelConfig, rate: float, link: float, *, gradient=BYTES, weight=BYTES
) -> float:
    """Return the tokens of a rank and *micro-batch* at which FSDP (ZeRO-3) hides its messages.

    Forward a layer is gathered, aW bytes (`weight`) against 2WT FLOPs: T = a/2 F/B. Backward it is
    gathered again and its gradients of b bytes are reduce-scattered, (a + b) W against 4WT:
    T = (a + b)/4 F/B. The larger one is returned; each micro-batch gathers anew.
    """
    return max(weight / 2, (weight + gradient) / 4) * _intensity(rate, link)


def expert_width(
    model: ModelConfig, rate: float, link: float, *, copies=None, dispatch=BYTES, combine=BYTES
) -> float:
    """Return the width f of an expert at which sending tokens takes as long as the experts.

    A token meets k experts of three matrices d x f: 18 k d f FLOPs, forward and backward. It is
    sent to each and comes back, and so do gradients: 8 k d bytes. f = (8/18) F/B, in which k, d and
    the tokens cancel. The experts are equally busy; attention and shared experts are left out.

    copies: of a token on this link, by default k; with node-limited routing, one for each node.
    dispatch, combine: bytes of a value on the way to the experts, and back; gradients the same.
    """
    if model.moe is None:
        raise ValueError("this model has no experts to send tokens to: give a mixture of experts")
    share = (model.moe.chosen if copies is None else copies) / model.moe.chosen
    return share * 2 * (dispatch + combine) / 18 * _intensity(rate, link)


def _intensity(rate: float, link: float) -> float:
    """Return F/B, in FLOPs a byte."""
    if not (rate > 0 and link > 0):
        raise ValueError(f"rate={rate!r} FLOP/s and link={link!r} bytes/s: both must be above 0")
    return rate / link
