"""CP-2: the forward pass of ring attention."""

from helpers.grade import Task

TASK = Task(
    id="CP-2",
    title="let keys and values travel around the ring",
    file="CP/ring/ring_attention.py",
    function="ring_forward",
    notebook="13",
    points=20,
    minutes=25,
    ranks=4,
    hints=(
        "Write down for rank 0 of four whose keys it has in each step. Which rank were they on in "
        "the step before? What must be on its way while the rank computes?",
        "In step t, rank r has the keys of rank (r - t) % size. In each step but the last: start "
        "to pass on, compute the block, merge, wait for the next keys. In the last step, only the "
        "block and the merge are left.",
        "for step in range(ring.size): arrived = ring.pass_on(k, v) unless it is the last; part = "
        "block(q, k, v, mask_of((ring.rank - step) % ring.size)); found = part, or "
        "merge(found, part); k, v = arrived() unless it is the last. Then finish(found).",
    ),
)


def run(module, case):
    """On every rank: whose keys were computed with which mask, in what order, and what came back.

    case: for each rank a number that its q, k and v are filled with. Blocks are not computed here:
    each becomes a list of what it was made of, and two merged ones are one list.
    """
    import torch

    from helpers.trace import Recorder

    seen, ring = [], module.Ring(recorder=Recorder(0, enabled=False))
    send = ring.pass_on

    def pass_on(*tensors):
        seen.append(f"pass on {len(tensors)}")
        arrived = send(*tensors)
        return lambda: (seen.append("wait"), arrived())[1]

    def block(q, k, v, mask):
        seen.append("block")
        return [[int(t.flatten()[0]) for t in (q, k, v)] + [mask]]

    ring.pass_on, module.block = pass_on, block
    module.merge = lambda one, other: one + other
    module.finish = lambda found: {"finished": sorted(found)}
    q, k, v = (torch.full((1, 2, 3, 4), float(n)) for n in case["numbers"][ring.rank])
    result = module.ring_forward(q, k, v, lambda source: f"mask of {source}", ring)
    return {"steps": seen, "result": result, "k afterwards": int(k.flatten()[0])}
