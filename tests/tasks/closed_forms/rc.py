"""Messages between neighbors: the sum, with no message in it."""


def ring(case):
    facts = {
        "tensor": sum(case["tensors"]),
        "collectives": [],
        "messages not waited for": [],
        "ranks it sends to that are no neighbors": [],
        "sends something": case["world"] > 1,
        "sends more than a ring": False,
        "returns what it sent": True,
        "_sent": None,  # only `explain` reads these two
        "_returned": None,
    }
    return [facts if rank < case["world"] else None for rank in range(4)]


THREE_WAYS = "tests/primer/test_exchange.py::"
THREE_WAYS += "test_three_ways_bring_the_tensor_of_the_left_neighbor"
CLOSED_FORMS = {"RC-1": ring, "RC-2": THREE_WAYS}
