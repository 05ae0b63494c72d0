"""The cost of training in closed form: parameters, FLOPs, bytes kept, bytes sent.

    model = read_config("TP/llama_7b_config.json")
    parameters(model).total                        6,738,415,616
    flops(model, attention="causal").layer         863 billion: one layer, forward
    states(parameters(model).total, zero=1, ranks=64).total
    layer_activations(model, batch=1, sequence=2048, tp=4)
    bill(gpus * hours)                             dollars, kWh, euros and t CO2

Several conventions circulate for each number, so each result names its own: `.convention`.
`helpers.cost.rooflines` says from how many tokens or ranks on sending takes longer than computing,
and `python -m helpers.cost.rooflines` writes docs/rooflines.md with its bounds for known models.
`helpers.cluster` turns these costs into seconds on a machine.
"""

from helpers.cost.activations import (
    Kept,
    kept_by_layer,
    layer_activations,
)
from helpers.cost.config import Latent, ModelConfig, MoE, gpt
from helpers.cost.energy import Bill, bill
from helpers.cost.flops import ATTENTION, RECOMPUTE, Flops, Utilisation, flops, utilisation
from helpers.cost.forward import ForwardPeak, forward_peak
from helpers.cost.huggingface import read_config
from helpers.cost.parameters import Parameters, parameters
from helpers.cost.scaling import EXERCISE, Optimum, ScalingLaw
from helpers.cost.states import PRECISIONS, ZERO, Precision, States, states
from helpers.cost.wire import (
    Wire,
    all_gather_bytes,
    all_reduce_bytes,
    bytes_on_the_wire,
    context_parallel_bytes,
    data_parallel_bytes,
    pipeline_bytes,
    tensor_parallel_bytes,
)
