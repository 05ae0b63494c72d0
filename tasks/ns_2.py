"""NS-2: heal a replica from a peer."""

import random

import numpy as np

HINTS = (
    "What would go wrong with the right weights and Adam's means at zero? With the step at zero? "
    "With the places at zero? And what have the others done while the state traveled?",
    "Without an end: ask each of peers() in turn. What fetch returns for it are the facts of a "
    "State; where it raises an OSError, ask the next one. Once you have a state, apply "
    "missed(state.step) to it until there is none, and return it.",
)
LESSON, MINUTES = "beyond_one_machine", 20


class Gone(Exception):
    """Nobody holds the weights any more."""


def observe(module, case):
    asked, lists = [], [list(each) for each in case["lists"]]

    def peers():
        if not lists:
            raise Gone("nobody holds the weights any more")
        return lists.pop(0)

    def fetch(peer):
        asked.append(peer)
        if peer in case["dead"] or len(asked) > 20:
            raise ConnectionError("the peer has ended")
        state = {name: value.copy() for name, value in case["state"].items()}
        return {**state, "step": case["step"], "places": dict(case["places"])}

    def missed(step):
        return dict(enumerate(case["missed"])).get(step - case["step"])

    try:
        state = module.heal(peers, fetch, missed)
        fields = vars(state) if hasattr(state, "weights") else {"returned": repr(state)[:60]}
    except (Gone, OSError) as error:
        return {"asked": asked, "raised": type(error).__name__}
    return {"asked": asked, **fields}


def cases():
    """A healthy peer; two that die; a list that has to be asked for again; nobody left."""
    found = []
    peers = ([[1, 2]], []), ([[3, 1, 2]], [3, 1]), ([[1], [2, 3]], [1]), ([[2], [1]], [1, 2])
    for (lists, dead), missed in zip(peers, (1, 3, 0, 2), strict=True):
        drawn = np.random.default_rng(random.randrange(10**6))
        means = {name: drawn.normal(size=5) for name in ("weights", "first")}
        found.append({
            "lists": lists,
            "dead": dead,
            "state": {**means, "second": drawn.uniform(0.5, 2, size=5)},
            "step": random.randint(4, 40),
            "places": {replica: random.randint(2, 9) for replica in range(4)},
            "missed": [(drawn.normal(size=5), [0, random.randint(1, 3)]) for _ in range(missed)],
        })  # fmt: skip
    return found


STATE, APPLY = "State(**fetch(peer))", "state.apply(*step)"
LOOP = "while (step := missed(state.step)) is not None:"
MUTANTS = {
    (STATE, f"{STATE}\nstate.first, state.second = 0 * state.first, 0 * state.second"):
        "Adam's two means are zero: the state of a peer is more than its weights",
    (STATE, "State(**{**fetch(peer), 'step': 0})"):
        "the step began at zero, so Adam corrects its means as in the first steps",
    (STATE, "State(**{**fetch(peer), 'places': {}})"):
        "the places were forgotten: the replica would read its text from the start again",
    ("continue", "raise"): "it gives up when the first peer dies: go on with the next one",
    ("while True:", "for _ in range(1):"):
        "when all peers of a list have died it gives up: ask peers() for a new list",
    ("step := missed(state.step)", "step := None"):
        "the steps that it has missed weren't taken: the others went on while the state traveled",
    (APPLY, f"{APPLY}\nbreak"):
        "only one of the missed steps was taken: ask missed() again until it returns None",
    ((LOOP, f"first = missed(state.step)\n{LOOP}"), (APPLY, "state.apply(*first)")):
        "all missed steps were taken with the first one's mean: ask missed(state.step) for each",
}  # fmt: skip
