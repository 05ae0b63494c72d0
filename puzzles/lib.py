"""What a training step imports: the cluster's names, as the CS 8803 SMR lab has them."""

from cluster import Dist, Event, Group, Model, PuzzleError
from cluster.values import (  # fmt: skip
    BLOCK_SIZE,
    HIDDEN_SIZE,
    Activation,
    ActivationGrad,
    OptState,
    Weight,
    WeightGrad,
)

DATATYPE = "float16"
BYTES_PER_ELEMENT = 2
