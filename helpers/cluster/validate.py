"""Judge the cluster model by published iterations: `python -m helpers.cluster.validate`.

The rows and what judges them are in bench/cluster_model, so this needs a clone.
"""

import sys

from helpers.clone import ROOT, need_clone
from helpers.plain_errors import plain_errors


def judged_recomputation() -> tuple:
    """Return the rows of table 5 with their errors, and the one factor that they are judged by."""
    return _judge().judged_recomputation()


def _judge():
    need_clone()
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))  # bench/ is in the lab's folder and is not installed
    from bench.cluster_model import validate

    return validate


if __name__ == "__main__":
    with plain_errors():
        _judge().main(sys.argv[1:])
