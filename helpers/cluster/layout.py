"""How a training step is spread over devices."""

from dataclasses import dataclass

from helpers.cost import RECOMPUTE, ModelConfig
from helpers.cost.memory import ZERO
from helpers.cost.model import one_of, require_sizes
from helpers.cost.wire import CONTEXT
from helpers.words import many


@dataclass(frozen=True)
class Layout:
    """One way to train: dp x pp x cp x tp devices, and what each does.

    Neighbors first: ranks that share a layer stand side by side, then those that share a sequence,
    then replicas, then stages: Megatron-LM's default, tp-cp-ep-dp-pp. Software older than 2022
    mostly overlaps nothing. Raises ValueError, one sentence, for sizes that make no layout.
    """

    batch: int  # sequences of one step, over all replicas
    sequence: int = 2048  # tokens of each
    dp: int = 1  # replicas
    pp: int = 1  # stages of the pipeline
    tp: int = 1  # devices that share a layer
    chunks: int = 1  # stages of one device (interleaved 1F1B); 1 is plain 1F1B
    micro_batch: int = 1  # sequences that go through a stage together
    recompute: str = "full"  # each layer goes forward twice; or "selective", "op", "none"
    sequence_parallel: bool = False  # the tensor-parallel ranks also share norms and dropouts
    flash: bool = False  # fused attention, which writes no scores; SwiGLU that keeps no SiLU
    zero: int = 0  # stage over the replicas; 3 is FSDP, which gathers and reduces layer by layer
    fp32_gradients: bool = False  # 4 bytes for each in place of 2
    overlap_tp: bool = False  # collectives run beside the products for the gradients of weights
    overlap_dp: bool = False  # gradients are averaged, and weights gathered, beside computing
    cp: int = 1  # devices that share a sequence, by a zigzag
    context: str = "ring"  # how: or "gather", or "ulysses"
    # Ranks that share the experts of a layer. tp cuts an expert too, unless sequence parallelism
    # leaves each rank tokens of its own: then experts are whole (arXiv 2504.14960).
    ep: int = 1
    dedup: bool = False  # a token goes once to each node with experts for it; else to each expert
    dispatch_bytes: int = 2  # of a value on its way to an expert: 1 in 8 bits; back it takes 2
    overlap_ep: bool = False  # beside what another micro-batch computes, see `Machine.hidden`
    # Stages needn't divide the layers: one is left out of the last stage, the first, the last but
    # one ..., as Llama 3 did where embedding and loss are (arXiv 2407.21783, section 3.3.2).
    uneven: bool = False
    fp8: bool = False  # products with weights multiply values of 8 bits
    # Rank r holds the stages r and pp-1-r, so twice the weights, each of them on twice as many
    # ranks. Micro-batches come from both ends (arXiv 2412.19437, section 3.2.1), with messages
    # beside computing. It has a closed form only: no schedule, so no simulation.
    dualpipe: bool = False

    def __post_init__(self):
        require_sizes(self, "batch sequence dp pp tp cp chunks micro_batch ep")
        one_of(RECOMPUTE, self.recompute, "recompute")
        one_of(ZERO, self.zero, "zero")
        one_of(CONTEXT, self.context, "context")
        one_of((1, 2), self.dispatch_bytes, "dispatch_bytes")
        if self.batch % (least := self.dp * self.micro_batch):
            words = f"{self.dp} replicas x micro-batches of {self.micro_batch}"
            words = f"a batch of {self.batch} cannot be cut into {words}"
            raise ValueError(f"{words}: choose a multiple of {least}")
        if (shares := self.replicas * self.tp // self.per_expert) % self.ep:
            words = f"ep {self.ep} does not divide {shares} replicas"
            raise ValueError(f"{words}, among which the experts are shared: choose a divisor")
        if self.cp > 1 and self.sequence % (least := 2 * self.cp):
            words = f"a sequence of {self.sequence} tokens cannot be cut into {least} equal chunks"
            raise ValueError(f"{words} for cp {self.cp}: choose a multiple of {least}")
        if self.chunks > 1 and self.pp == 1:
            raise ValueError(f"{self.chunks} chunks need a pipeline: choose pp of 2 or more")
        few = self.micro_batches < 2 * self.pp
        if self.dualpipe and (self.pp % 2 or self.chunks > 1 or few or self.zero == 3):
            words = f"pp {self.pp}, {self.chunks} chunks, {self.micro_batches} micro-batches"
            choose = "choose an even pp, 1 chunk, 2 pp or more, and 0 to 2"
            raise ValueError(f"a DualPipe of {words}, ZeRO {self.zero}: {choose}")

    @property
    def gpus(self) -> int:
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
        return 1 if self.sequence_parallel else self.tp

    @property
    def expert_copies(self) -> int:
        """How many ranks hold the same expert, or the same part of it."""
        return self.replicas * self.tp // (self.ep * self.per_expert)

    @property
    def sharding(self) -> tuple[int, int]:
        """How many ranks share the state that ZeRO cuts, and that of an expert."""
        return (1 + self.dualpipe) * self.replicas, (1 + self.dualpipe) * self.expert_copies

    @property
    def longest_round(self) -> int:
        """How many micro-batches at most go through a chunk before the next chunk begins."""
        return -(-self.micro_batches // max(1, self.micro_batches // self.pp))

    @property
    def kept(self) -> tuple:
        """What `layer_activations` asks for: by how much a layer's activations are cut."""
        sizes = self.micro_batch, self.sequence, self.tp, self.sequence_parallel
        return *sizes, self.recompute, self.cp, self.flash

    @property
    def gradient_bytes(self) -> int:
        return 4 if self.fp32_gradients else 2

    def on_a_node(self, dimension: str, node: int) -> int:
        """How many ranks of one group, "tp", "cp", "pp", "ep", "expert_copies", or "dp" (those of a
        sequence among them), are on one node of `node`."""
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
        """The layout itself if the model can be cut so and there are so many GPUs; ValueError, one
        sentence, if not."""
        if gpus is not None and gpus != self.gpus:
            words = f"{self._product()} is {many(self.gpus, 'device')}, and there"
            words += f" {'is' if gpus == 1 else 'are'} {gpus}"
            raise ValueError(f"{words}: choose numbers whose product is {gpus}")
        for count, what in ((model.heads, "heads"), (model.kv_heads, "heads of keys and values")):
            if count % self.tp:
                words = f"tp {self.tp} does not divide {count} {what}"
                raise ValueError(f"{words}: each device needs whole heads, so choose a divisor")
        if self.context == "ulysses" and (heads := model.heads // self.tp) % self.cp:
            words = f"cp {self.cp} does not divide the {heads} heads of a device"
            cure = "Ulysses exchanges positions for heads, so choose a divisor, or a ring"
            raise ValueError(f"{words}: {cure}")
        if (experts := model.moe.experts if model.moe else 1) % self.ep:
            words = f"ep {self.ep} does not divide {many(experts, 'expert')}"
            raise ValueError(f"{words}: choose a divisor")
        if self.cp > 1:
            model.require_usual("a cut sequence")
        stages, layers = self.pp * self.chunks, model.layers
        words = f"pp {self.pp}" + f" x {self.chunks} chunks" * (self.chunks > 1)
        if not self.uneven and layers % stages:
            words += f" does not divide {layers} layers"
            raise ValueError(f"{words}: choose a divisor, or uneven=True")
        if stages > layers + 2:
            words += f" makes {stages} stages of {layers} layers: all but the first and the last"
            raise ValueError(f"{words} need one, so choose {layers + 2} stages at most")
        return self

    def _product(self) -> str:
        cp = f" x cp {self.cp}" if self.cp > 1 else ""
        return f"dp {self.dp} x pp {self.pp}{cp} x tp {self.tp}"

    def __str__(self) -> str:
        said = {
            f"{self.chunks} chunks": self.chunks > 1,
            f"ep {self.ep}": self.ep > 1,
            f"ZeRO {self.zero}": self.zero,
            "sequence parallel": self.sequence_parallel,
            "FP8": self.fp8,
            "DualPipe": self.dualpipe,
        }
        first = [self._product(), f"micro-batch {self.micro_batch}"]
        return ", ".join([*first, *filter(said.get, said), f"recompute {self.recompute}"])
