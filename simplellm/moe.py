"""A mixture of experts in place of each feed-forward network of a LLaMA.

    net = give_experts(make_model(options, tokenizer), Experts(experts=8, top_k=2))

A router sends each token to `top_k` of the experts, so a model has many more parameters than it
uses for one token. Shazeer et al. 2017, arXiv 1701.06538; GShard, arXiv 2006.16668; Switch, arXiv
2101.03961; shared experts, DeepSeekMoE, arXiv 2401.06066.

Shapes: N tokens of d features; E experts, k choices a token.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import nn

from simplellm.blocks import SwiGLU, draw
from simplellm.config import Config


@dataclass(frozen=True)
class Experts:
    """The sizes of a mixture of experts."""

    experts: int = 8  # how many there are
    top_k: int = 2  # how many a token is sent to
    shared: int = 0  # see every token besides: one network of their joint width
    # Width of one expert. By default a token's experts together are as wide as the feed-forward
    # network they replace, so that a token costs what it cost before.
    hidden_dim: int | None = None
    # An expert takes at most ceil(capacity * N * k / E) of the choices of a batch, and drops the
    # rest; None is without a limit ("dropless").
    capacity: float | None = None

    def __post_init__(self):
        if not 1 <= self.top_k <= self.experts:
            words = f"a token cannot choose {self.top_k} of {self.experts} experts"
            raise ValueError(f"{words}: top_k goes from 1 to the number of experts.")
        if self.capacity is not None and not 0 < self.capacity < math.inf:
            cure = "1 is an equal one, 1.25 a quarter more, None takes everything"
            raise ValueError(f"capacity = {self.capacity} is no share of the tokens: {cure}.")

    def places(self, tokens: int) -> int:
        """Return how many choices one expert takes of a batch of `tokens`."""
        if self.capacity is None:
            return tokens
        return math.ceil(self.capacity * tokens * self.top_k / self.experts)


@dataclass
class Routing:
    """Where the tokens of one batch go."""

    probabilities: torch.Tensor  # (N, E), the router's softmax
    chosen: torch.Tensor  # (N, k), the experts of each token
    weights: torch.Tensor  # (N, k), what their results are multiplied by
    kept: torch.Tensor  # (N, k), False where an expert was full

    @property
    def wanted(self) -> torch.Tensor:
        """How many choices fell on each expert, (E,), dropped ones included."""
        return self.chosen.flatten().bincount(minlength=self.probabilities.shape[1])

    @property
    def counts(self) -> torch.Tensor:
        """How many rows each expert computes, (E,)."""
        return self.chosen[self.kept].bincount(minlength=self.probabilities.shape[1])

    def order(self) -> torch.Tensor:
        """Return the kept choices, as numbers in the flat (N * k), those of expert 0 first."""
        expert = self.chosen.where(self.kept, self.probabilities.shape[1]).flatten()
        return expert.argsort(stable=True)[: int(self.kept.sum())]


class Router(nn.Module):
    """Choose the experts of each token: (N, d) -> Routing.

    bias: (E,), added to the probabilities where the choice is made and nowhere else, so that it
    moves tokens and not results (arXiv 2408.15664). It is zero until somebody sets it.

    In half precision, probabilities and bias are float32: a step of 0.001 would round away.
    """

    def __init__(self, config: Config, experts: Experts):
        super().__init__()
        self.experts = experts
        self.gate = nn.Linear(config.dmodel, experts.experts, bias=False)
        self.register_buffer("bias", torch.zeros(experts.experts))

    def _apply(self, move: Callable, recurse: bool = True) -> nn.Module:
        """Move or convert everything, as for any module; but the bias keeps at least float32."""
        bias = self.bias
        super()._apply(move, recurse)
        if not bias.is_meta:
            wide = torch.promote_types(self.bias.dtype, torch.float32)
            self.bias = bias.to(self.bias.device, wide)
        return self

    def forward(self, tokens: torch.Tensor) -> Routing:
        logits = self.gate(tokens)
        wide = torch.promote_types(logits.dtype, torch.float32)
        probabilities = logits.softmax(-1, dtype=wide)
        if probabilities.is_cpu and not probabilities.isfinite().all():
            raise FloatingPointError(
                "the router's probabilities are not numbers: look for the step at which its input "
                "or its weights became nan, and lower the learning rate."
            )
        chosen = (probabilities + self.bias).topk(self.experts.top_k).indices
        weights = probabilities.gather(1, chosen)
        if self.experts.top_k > 1:  # a single weight of 1 would teach the router nothing
            weights = weights / weights.sum(1, keepdim=True)
        return Routing(probabilities, chosen, weights, self.room(chosen))

    def room(self, chosen: torch.Tensor) -> torch.Tensor:
        """Return which choices find room, (N, k): all first choices come before all second ones."""
        places = self.experts.places(len(chosen))
        queue = chosen.T.flatten()  # first choices, then second ones
        order = queue.argsort(stable=True)
        first = queue.bincount(minlength=self.experts.experts).cumsum(0).roll(1)
        first[0] = 0
        number = torch.empty_like(queue)
        number[order] = torch.arange(len(queue), device=queue.device) - first[queue[order]]
        return (number < places).view(chosen.T.shape).T


def run_experts(experts: nn.ModuleDict, rows: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """Run each expert on its rows: the first counts[0] rows are for the first one, and so on.

    An expert without rows runs too, on none: its gradients are then zeros, as on every other rank.
    """
    parts = rows.split(counts.tolist())
    return torch.cat([run(part) for run, part in zip(experts.values(), parts, strict=True)])


class MoE(nn.Module):
    """A mixture of experts: (B, S, d) -> (B, S, d). Of a token that all dropped, the result is 0.

    run: `run_experts`, or what takes its place where the experts are on several ranks.
    routing: of the last batch. wanted: (E,), how many choices fell on each expert in all batches of
        training since somebody set it to 0. Experts are named by their number, "experts.3", on
        every rank.
    """

    def __init__(self, config: Config, experts: Experts):
        super().__init__()
        alike = config.hidden_dim // (experts.top_k + experts.shared)
        wide = replace(config, hidden_dim=experts.hidden_dim or max(1, alike))
        self.router = Router(config, experts)
        self.experts = nn.ModuleDict({str(e): SwiGLU(wide) for e in range(experts.experts)})
        self.shared = None
        if experts.shared:
            self.shared = SwiGLU(replace(config, hidden_dim=experts.shared * wide.hidden_dim))
        self.run: Callable = run_experts
        self.routing: Routing | None = None
        self.wanted: torch.Tensor | int = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = x.flatten(0, -2)
        routing = self.routing = self.router(tokens)
        if self.training:
            self.wanted = self.wanted + routing.wanted
        order = routing.order()
        of = order // routing.chosen.shape[1]  # the token of each choice
        done = self.run(self.experts, tokens[of], routing.counts)
        done = done * routing.weights.flatten()[order, None].to(done.dtype)
        y = torch.zeros_like(tokens).index_add(0, of, done)
        if self.shared is not None:
            y = y + self.shared(tokens)
        return y.view_as(x)

    def __getstate__(self) -> dict:
        return self.__dict__ | {"routing": None}  # it hangs on a graph, which can't be copied


def give_experts(net: nn.Module, experts: Experts) -> nn.Module:
    """Replace the feed-forward network of each block by experts, drawn anew; return the model."""
    for block in net.model.layers:
        like = block.mlp.gate_proj.weight
        with torch.device("meta"):
            block.mlp = MoE(net.config, experts)
        draw(block.mlp, like.device)
        block.mlp.router.bias.zero_()
        block.mlp.to(like.dtype)
    return net


def moe_layers(net: nn.Module) -> list[MoE]:
    return [module for module in net.modules() if isinstance(module, MoE)]
