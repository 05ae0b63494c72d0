"""Work in place of the solutions of LA that is no mutant: what the check must say of it."""

from tests.tasks.planted import Program

PROGRAMS = (
    Program(
        "LA-1",
        "half of a launcher is enough",
        {" and size_name in environ": ""},
        says="WORLD_SIZE is not: believe the next launcher that says both: this raises KeyError",
    ),
    Program("LA-1", "text", {"return rank,": "return str(rank),"}, says="not text: ('"),
    Program(
        "LA-1",
        "two numbers",
        {"return rank, world_size,": "return world_size,"},
        says="give three numbers",
    ),
    Program(
        "LA-1",
        "a message without the name",
        {'f"{rank_name}={rank} does not fit {size_name}={world_size}"': '"no"'},
        says="cannot be: name the variable with the rank in the message, not only 'no'",
    ),
    Program(
        "LA-1",
        "another error",
        {'raise ValueError(f"{rank_name}': 'raise KeyError(f"{rank_name}'},
        says="cannot be: raise ValueError: this raises KeyError: 'RANK=",
    ),
    Program(
        "LA-3",
        "text",
        {"return 2 * (ranks - 1) * max(times)": "return str(max(times))"},
        says="give a number of seconds, not '",
    ),
)
