"""The search beside another one: the bubble rates of ZB-2p that a paper publishes, and ours.

    python -m helpers.search        the table, in Markdown; docs/measured.md keeps it

Table 5 of Qi et al., arXiv 2401.10241: rates of the longest span, with twice the memory of 1F1B.
"""

import time

from helpers.search.search import search
from helpers.simulate import Costs
from helpers.simulate.published import ROWS, Published

LARGEST = Published("28.3B", 32, 96, 1, 10.419, 10.207, 7.715, 0.408, {"ZB-2p": 0.0038})
# Of the 34h + 5as bytes of a token and layer, 32h stay for W: (hidden size, heads), s = 1024.
SIZES = {"1.5B": (2304, 24), "6.2B": (4096, 32), "28.3B": (6144, 48)}


def twice_the_memory(row: Published) -> Costs:
    """Return the costs of a published row, in milliseconds, with room for 2p micro-batches."""
    hidden, heads = SIZES[row.model]
    kept = 32 * hidden / (34 * hidden + 5 * heads * 1024)
    room = {"activation_bytes": 1, "kept_for_weights": kept, "memory_limit": 2 * row.p}
    return Costs(row.forward, row.input_grad, row.weight_grad, latency=row.latency, **room)


def main() -> None:
    """Print the table."""
    print("| model | p | m | published | first walk | 40 walks | seconds |\n" + "|---" * 7 + "|")
    for row in (*ROWS, LARGEST):
        begun, costs = time.perf_counter(), twice_the_memory(row)
        found = [search(row.p, row.m, costs, walks=n, goal="span").simulated for n in (1, 40)]
        rates = " | ".join(f"{done.bubble('span'):.4f}" for done in found)
        words = f"{row.rates['ZB-2p']:.4f} | {rates} | {time.perf_counter() - begun:.0f}"
        print(f"| {row.model} | {row.p} | {row.m} | {words} |")


if __name__ == "__main__":
    main()
