"""The cost of training in closed form: parameters, FLOPs, bytes kept, bytes sent.

    model = read_config("TP/llama_7b_config.json")
    parameters(model).total                        6,738,415,616
    flops(model, attention="causal").layer         863 billion: one layer, forward
    states(parameters(model).total, zero=1, ranks=64).total
    layer_activations(model, batch=1, sequence=2048, tp=4)
    bill(gpus * hours)                             dollars, kWh, euros and t CO2

Several conventions circulate for each number, so each result names its own: `.convention`.
`helpers.cost.rooflines` says at how many tokens or ranks sending takes as long as computing, and
`helpers.cost.rates` how fast devices are. `helpers.cluster` turns costs into seconds on a machine.
"""

from helpers.cost.budget import EXERCISE, bill
from helpers.cost.flops import RECOMPUTE, flops
from helpers.cost.huggingface import read_config
from helpers.cost.memory import forward_peak, kept_by_layer, layer_activations, states
from helpers.cost.model import MODELS, ModelConfig, MoE, gpt, parameters
from helpers.cost.rates import RATES
from helpers.cost.wire import all_reduce_bytes, bytes_on_the_wire, context_parallel_bytes
