"""The loss at steps 8, 16, 24 and 32, counted from 1: of 51 healthy seeds and of each mistake.

`python forensics/curves.py` writes _curves.json. Nobody chose the seeds.
"""

import json
from pathlib import Path

_KEPT = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def _by_seed(losses):
    return {int(seed): of_seed for seed, of_seed in losses.items()}


HEALTHY, TWINS = _by_seed(_KEPT["healthy"]), _by_seed(_KEPT["twins"])  # twins: the mistakes' seeds
SICK = {name: _by_seed(losses) for name, losses in _KEPT["sick"].items()}
