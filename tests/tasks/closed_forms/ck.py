"""A checkpoint that is whole or not there: what must be on the disk, and when."""


def whole(case):
    facts = {
        "the name is there": ["", ""],
        "there at the return": True,
        "parts": ["rank0.pt", "rank1.pt", "rank2.pt"],
        "its part is synced": [True, True],
        "whose names nobody synced": ["", ""],
    }
    return [facts | {"loaded": state} for state in case["states"]]


CLOSED_FORMS = {"CK-1": whole}
