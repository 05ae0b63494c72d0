"""What a training step imports: the cluster's names, as the CS 8803 SMR lab has them."""

from cluster.errors import PuzzleError
from cluster.model import Dist, Event, Group, Model
from cluster.profiles import BLOCK_SIZE, HIDDEN_SIZE
from cluster.values import Activation, ActivationGrad, OptState, Weight, WeightGrad

DATATYPE = "float16"
BYTES_PER_ELEMENT = 2

__all__ = [
    "BLOCK_SIZE",
    "BYTES_PER_ELEMENT",
    "DATATYPE",
    "HIDDEN_SIZE",
    "Activation",
    "ActivationGrad",
    "Dist",
    "Event",
    "Group",
    "Model",
    "OptState",
    "PuzzleError",
    "Weight",
    "WeightGrad",
]
