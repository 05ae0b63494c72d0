"""Work in place of the solutions of LA that is no mutant: what the check must say of it."""

PROGRAMS = {
    "LA-1": {
        "half of a launcher is enough":
            ({" and size_name in environ": ""},
             "WORLD_SIZE is not: believe the next launcher that says both: this raises KeyError"),
        "text": ({"return rank,": "return str(rank),"}, "not text: ('"),
        "two numbers": ({"return rank, world_size,": "return world_size,"}, "give three numbers"),
        "a message without the name":
            ({'f"{rank_name}={rank} does not fit {size_name}={world_size}"': '"no"'},
             "cannot be: name the variable with the rank in the message, not only 'no'"),
        "another error":
            ({'raise ValueError(f"{rank_name}': 'raise KeyError(f"{rank_name}'},
             "cannot be: raise ValueError: this raises KeyError: 'RANK=")},
}  # fmt: skip
