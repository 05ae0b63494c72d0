"""Judge the cluster model by published iterations: `python -m helpers.cluster.validate`.

The rows and what judges them are in bench/cluster_model, so this needs a clone.
"""

import sys

from helpers.clone import ROOT, need_clone
from helpers.plain_errors import plain_errors

with plain_errors():
    need_clone()
    sys.path.insert(0, str(ROOT))  # bench/ is in the lab's folder and is not installed
    from bench.cluster_model.validate import judged_recomputation, main  # noqa: F401

    if __name__ == "__main__":
        main(sys.argv[1:])
