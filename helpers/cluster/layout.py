"""How a training step is spread over devices."""

from dataclasses import dataclass

from helpers.cost import ModelConfig
from helpers.cost.flops import checked_recompute
from helpers.cost.memory import checked_zero
from helpers.cost.wire import checked_way

SIZES = ("batch", "sequence", "dp", "pp", "tp", "cp", "chunks", "micro_batch", "ep")


@dataclass(frozen=True)
class Layout:
    """One way to train: dp x pp x cp x tp devices, and what each does.

    batch: sequences of one step, over all replicas. sequence: tokens of each.
    dp: replicas. pp: stages of the pipeline. tp: devices that share a layer. cp: devices that share
        a sequence, by a zigzag; context: how: "ring", "gather" or "ulysses".
    chunks: stages of one device (interleaved 1F1B); 1 is plain 1F1B. micro_batch: sequences that go
        through a stage together.
    recompute: "none", "selective" (attention scores) or "full" (each layer goes forward twice).
    sequence_parallel: the tensor-parallel ranks also share norms and dropouts.
    flash: fused attention, which never writes the scores to memory, and a fused SwiGLU, which
        doesn't keep its SiLU.
    zero: stage of ZeRO over the replicas; 3 is FSDP, which gathers and reduces layer by layer.
    fp32_gradients: 4 bytes for each in place of 2. fp8: products with weights multiply values of 8
        bits.
    overlap_tp, overlap_dp: collectives of the backward pass run beside the products that give the
        gradients of weights; gradients are averaged, and weights gathered, beside computing. What
        is older than 2022 mostly does neither.
    ep: ranks that share the experts of a layer. tp cuts an expert too, unless sequence parallelism
        leaves each rank tokens of its own: then experts are whole (arXiv 2504.14960).
    dedup: a token goes once to each node that has experts for it, and is passed on there; without,
        once to each expert. overlap_ep: tokens travel beside what another micro-batch computes, see
        `Machine.hidden`.
    uneven: whether stages that do not divide the layers go. One layer is then left out of the last
        stage, the first, the last but one ..., as Llama 3 left one out of each end, where the
        embedding and the loss are (arXiv 2407.21783, section 3.3.2).
    dualpipe: rank r holds the stages r and pp-1-r, so twice the weights, each of them on twice as
        many ranks. Micro-batches come from both ends (arXiv 2412.19437, section 3.2.1), with
        messages beside computing. It has a closed form only: no schedule, so no simulation.

    Neighbors first: ranks that share a layer stand side by side, then those that share a sequence,
    then replicas, then stages: Megatron-LM's default, tp-cp-ep-dp-pp.
    Raises ValueError, one sentence, for sizes that make no layout.
    """

    batch: int
    sequence: int = 2048
    dp: int = 1
    pp: int = 1
    tp: int = 1
    chunks: int = 1
    micro_batch: int = 1
    recompute: str = "full"
    sequence_parallel: bool = False
    flash: bool = False
    zero: int = 0
    fp32_gradients: bool = False
    overlap_tp: bool = False
    overlap_dp: bool = False
    cp: int = 1
    context: str = "ring"
    ep: int = 1
    dedup: bool = False
    overlap_ep: bool = False
    uneven: bool = False
    fp8: bool = False
    dualpipe: bool = False

    def __post_init__(self):
        for name in SIZES:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"Layout({name}={value!r}): give a whole number, 1 or more")
        checked_recompute(self.recompute)
        checked_zero(self.zero)
        checked_way(self.context, "context")
        if self.batch % (self.dp * self.micro_batch):
            raise ValueError(
                f"a batch of {self.batch} cannot be cut into {self.dp} replicas x micro-batches of "
                f"{self.micro_batch}: choose a multiple of {self.dp * self.micro_batch}"
            )
        shares = self.replicas * self.tp // self.per_expert
        if shares % self.ep:
            raise ValueError(
                f"ep {self.ep} does not divide {shares} replicas, among which the experts are "
                "shared: choose a divisor"
            )
        if self.cp > 1 and self.sequence % (2 * self.cp):
            raise ValueError(
                f"a sequence of {self.sequence} tokens cannot be cut into {2 * self.cp} equal "
                f"chunks for cp {self.cp}: choose a multiple of {2 * self.cp}"
            )
        if self.chunks > 1 and self.pp == 1:
            raise ValueError(
                f"{self.chunks} chunks need a pipeline: choose pp of 2 or more, or 1 chunk"
            )
        few = self.micro_batches < 2 * self.pp
        if self.dualpipe and (self.pp % 2 or self.chunks > 1 or few or self.zero == 3):
            raise ValueError(
                f"a DualPipe of pp {self.pp}, {self.chunks} chunks, {self.micro_batches} micro-"
                f"batches, ZeRO {self.zero}: choose an even pp, 1 chunk, 2 pp or more, and 0 to 2"
            )

    @property
    def gpus(self) -> int:
        """How many devices it takes."""
        return self.dp * self.pp * self.cp * self.tp

    @property
    def micro_batches(self) -> int:
        """How many go through each pipeline in one step."""
        return self.batch // (self.dp * self.micro_batch)

    @property
    def tokens(self) -> int:
        """Of one micro-batch, on one device: its part of each sequence."""
        return self.micro_batch * self.sequence // self.cp

    @property
    def replicas(self) -> int:
        """How many ranks hold the same weights: those of all replicas that share a sequence too."""
        return self.dp * self.cp

    @property
    def per_expert(self) -> int:
        """How many devices share an expert."""
        return 1 if self.sequence_parallel else self.tp

    @property
    def expert_copies(self) -> int:
        """How many ranks hold the same expert, or the same part of it."""
        return self.replicas * self.tp // (self.ep * self.per_expert)

    @property
    def sharding(self) -> int:
        """How many ranks share the state that ZeRO cuts."""
        return (1 + self.dualpipe) * self.replicas

    @property
    def expert_sharding(self) -> int:
        """How many share that of an expert."""
        return (1 + self.dualpipe) * self.expert_copies

    @property
    def longest_round(self) -> int:
        """How many micro-batches at most go through a chunk before the next chunk begins."""
        return -(-self.micro_batches // max(1, self.micro_batches // self.pp))

    @property
    def gradient_bytes(self) -> int:
        """Of one gradient."""
        return 4 if self.fp32_gradients else 2

    def on_a_node(self, dimension: str, node: int) -> int:
        """How many ranks of one group are on one node of `node`.

        dimension: "tp", "cp", "pp", "ep", "expert_copies", or "dp", those of a sequence among them.
        """
        strides = {"tp": 1, "cp": self.tp, "dp": self.tp, "pp": self.tp * self.replicas}
        strides |= {"ep": self.per_expert, "expert_copies": self.per_expert * self.ep}
        length = self.replicas if dimension == "dp" else getattr(self, dimension)
        return max(1, min(length, node // strides[dimension]))

    def stage_layers(self, layers: int) -> list[int]:
        """How many of the model's layers each of the pp x chunks stages has."""
        stages = self.pp * self.chunks
        counts = [-(-layers // stages)] * stages
        for i in range(-layers % stages):
            counts[i // 2 if i % 2 else -1 - i // 2] -= 1
        return counts

    def rank_layers(self, layers: int) -> list[int]:
        """How many of the model's layers each rank of a pipeline has."""
        counts = self.stage_layers(layers)
        return [sum(counts[rank :: self.pp]) for rank in range(self.pp)]

    def for_model(self, model: ModelConfig, gpus: int | None = None) -> "Layout":
        """The layout itself if the model can be cut so; ValueError, one sentence, if not.

        gpus: how many there are; left out, as many as it takes.
        """
        if gpus is not None and gpus != self.gpus:
            raise ValueError(
                f"{self._product()} is {self.gpus} device{'s' * (self.gpus != 1)}, and there "
                f"{'is' if gpus == 1 else 'are'} {gpus}: choose numbers whose product is {gpus}"
            )
        for count, what in ((model.heads, "heads"), (model.kv_heads, "heads of keys and values")):
            if count % self.tp:
                raise ValueError(
                    f"tp {self.tp} does not divide {count} {what}: each device needs whole heads, "
                    "so choose a divisor"
                )
        if self.context == "ulysses" and model.heads // self.tp % self.cp:
            raise ValueError(
                f"cp {self.cp} does not divide the {model.heads // self.tp} heads of a device: "
                "Ulysses exchanges positions for heads, so choose a divisor, or a ring"
            )
        experts = model.moe.experts if model.moe else 1
        if experts % self.ep:
            raise ValueError(
                f"ep {self.ep} does not divide {experts} expert{'s' * (experts > 1)}: choose a "
                "divisor"
            )
        if self.cp > 1:
            model.require_usual("a cut sequence")
        stages, chunks = self.pp * self.chunks, f" x {self.chunks} chunks" * (self.chunks > 1)
        if not self.uneven and model.layers % stages:
            raise ValueError(
                f"pp {self.pp}{chunks} does not divide {model.layers} layers: choose a divisor, or "
                "uneven=True"
            )
        if stages > model.layers + 2:
            raise ValueError(
                f"pp {self.pp}{chunks} makes {stages} stages of {model.layers} layers: all but the "
                f"first and the last need one, so choose {model.layers + 2} stages at most"
            )
        return self

    def _product(self) -> str:
        cp = f" x cp {self.cp}" if self.cp > 1 else ""
        return f"dp {self.dp} x pp {self.pp}{cp} x tp {self.tp}"

    def __str__(self) -> str:
        words = {
            f"{self.chunks} chunks": self.chunks > 1,
            f"ep {self.ep}": self.ep > 1,
            f"ZeRO {self.zero}": self.zero,
            "sequence parallel": self.sequence_parallel,
            "FP8": self.fp8,
            "DualPipe": self.dualpipe,
        }
        said = [word for word, on in words.items() if on]
        first = [self._product(), f"micro-batch {self.micro_batch}"]
        return ", ".join([*first, *said, f"recompute {self.recompute}"])
