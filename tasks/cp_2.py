"""CP-2: let keys and values travel around the ring."""

import random

import torch

from helpers.trace import Recorder

HINTS = (
    "Write down for rank 0 of four whose keys it has in each step. Which rank were they on in the "
    "step before? What must be on its way while the rank computes?",
    "for step in range(ring.size): arrived = ring.pass_on(k, v) unless it is the last; part = "
    "block(q, k, v, mask_of((ring.rank - step) % ring.size)); found = part, or merge(found, "
    "part); k, v = arrived() unless it is the last. Then finish(found).",
)
LESSON, MINUTES, RANKS = "long_context", 30, 4


def observe(module, case):
    """The messages, whose keys were computed with which mask, in what order, and what came back.

    Blocks are not computed here: each becomes a list of what it was made of, and two merged ones
    are one list.
    """
    steps, ring = [], module.Ring(recorder=Recorder(0, enabled=False))
    send = ring.pass_on

    def pass_on(*tensors):
        steps.append(f"pass on {len(tensors)}")
        arrived = send(*tensors)
        return lambda: (steps.append("wait"), arrived())[1]

    def block(q, k, v, mask):
        steps.append("block")
        return [[int(t.flatten()[0]) for t in (q, k, v)] + [mask]]

    ring.pass_on, module.block = pass_on, block
    module.merge = lambda one, other: one + other
    module.finish = lambda found: {"finished": sorted(found)}
    q, k, v = (torch.full((1, 2, 3, 4), float(n)) for n in case[ring.rank])
    result = module.ring_forward(q, k, v, lambda source: f"mask of {source}", ring)
    return {
        "messages started": sum(step.startswith("pass on") for step in steps),
        "messages waited for": steps.count("wait"),
        "blocks computed": steps.count("block"),
        "the order": steps,
        "the result": result,
        "k afterwards": int(k.flatten()[0]),
    }


def cases():
    """A number for each rank's queries, keys and values; no two are equal."""
    numbers = random.sample(range(10, 99), 3 * RANKS)
    return [[numbers[3 * rank : 3 * rank + 3] for rank in range(RANKS)]]


START, WAIT = "arrived = ring.pass_on(k, v)", "k, v = arrived()"
STEPS = """
found = None
for step in range({blocks}):
    if step < {messages}:
        arrived = ring.pass_on(k, v)
    part = block(q, k, v, mask_of((ring.rank - step) % ring.size))
    found = part if found is None else merge(found, part)
    if step < {messages}:
        k, v = arrived()
return finish(found)
"""
MUTANTS = {
    ("(ring.rank - step) % ring.size", "ring.rank"): "the mask is always that of the rank's own "
    "keys: in step t it has the keys of rank r - t",
    ("ring.rank - step", "ring.rank + step"): "the masks go around the wrong way: what the rank "
    "before had, this rank has next, so in step t these are the keys of rank r - t",
    "return finish(block(q, k, v, mask_of(ring.rank)))": "nothing travels: each rank has only "
    "seen its own keys",
    STEPS.format(blocks="ring.size - 1", messages="ring.size - 2"): "the last block is missing: "
    "there are as many blocks as ranks",
    ("range(ring.size)", "range(ring.size - 1)"): "the last message arrives, and nobody computes "
    "with its keys: there are as many blocks as ranks",
    STEPS.format(blocks="ring.size", messages="ring.size"): "one message too many: after the last "
    "block, the keys would only come back home",
    ((START, "pass"), (WAIT, "k, v = ring.pass_on(k, v)()")): "the message starts after the block "
    "is computed: start it before, so that both go on at once",
    ((START, f"{START}()"), (WAIT, "k, v = arrived")): "each rank waits for the next keys before "
    "it has computed with its own, so nothing goes on at once",
    (WAIT, "pass"): "the keys that arrive are never taken: wait for them, k, v = arrived()",
    ("part if found is None else merge(found, part)", "part"): "only the last block is left: "
    "merge each with what was found before",
    ("finish(found)", "found"): "the result isn't divided by the sum yet: return finish(…)",
}
