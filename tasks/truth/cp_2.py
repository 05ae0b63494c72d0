"""CP-2: what each rank computes in which order, and what comes out otherwise."""

import random

RANKS = 4


def cases(seed):
    """A number for each rank's queries, keys and values; no two are equal."""
    numbers = random.Random(seed).sample(range(10, 99), 3 * RANKS)
    return [{"numbers": [numbers[3 * r : 3 * r + 3] for r in range(RANKS)]}]


def truth(
    case, keys=-1, masks=-1, first=0, blocks=RANKS, late=False, finish=True, merge=True, more=0
):
    """What each rank does; or with one thing wrong.

    keys, masks: -1 where step t has those of rank r - t. first: the step that it begins with.
    late: keys are waited for before the block is computed. more: messages that nobody needs.
    """
    found = []
    for rank in range(RANKS):
        made, steps = [], []
        for step in range(first, first + blocks):
            of, mask = (rank + keys * step) % RANKS, (rank + masks * step) % RANKS
            own = case["numbers"][rank][0], *case["numbers"][of][1:]
            made.append([*own, f"mask of {mask}"])
            message = step - first < blocks - 1 + more
            order = ["block", "pass on 2", "wait"] if late else ["pass on 2", "block", "wait"]
            steps += order if message else ["block"]
        result = sorted(made) if merge else made[-1:]
        result = {"finished": result} if finish else made
        found.append({"steps": steps, "result": result, "k afterwards": case["numbers"][rank][1]})
    return found


MISTAKES = {
    "the mask is always that of the rank's own keys: in step t it has the keys of rank r - t": {
        "masks": 0
    },
    "the masks go around the wrong way: what the rank before had, this rank has next, so in step t "
    "these are the keys of rank r - t": {"masks": 1},
    "nothing travels: each rank has only seen its own keys": {"blocks": 1},
    "the last block is missing: there are as many blocks as ranks": {"blocks": RANKS - 1},
    "one message too many: after the last block, the keys would only come back home": {"more": 1},
    "the message starts after the block is computed: start it before, so that both go on at once": {
        "late": True
    },
    "only the last block is left: merge each with what was found before": {"merge": False},
    "the result isn't divided by the sum yet: return finish(…)": {"finish": False},
}


def explain(case, seen):
    for rank, one in enumerate(seen):
        passes = sum(step.startswith("pass on") for step in one["steps"])
        if passes >= RANKS:
            return (
                f"rank {rank} passes on {passes} times, and {RANKS - 1} are enough: after these "
                "every rank has seen the keys of all"
            )
        if one["steps"].count("wait") < sum(step != "block" for step in one["steps"]) / 2:
            return f"rank {rank} doesn't wait for every message that it started"
        if one["steps"][:3] == ["pass on 2", "wait", "block"]:
            return f"rank {rank} waits for the next keys before it has computed with its own"
    return None
