"""Launchers: a table of who says what."""

from tasks.la_1 import NAMES


def of_the_innermost(case):
    """Nothing but the launchers that say both, and whether they agree."""
    environ = case[1]
    told = {
        names[0]: [int(environ[name]) for name in names if name in environ]
        for names in NAMES.values()
        if {*names[:2]} <= environ.keys()
    }
    worlds = [(rank, size) for rank, size, *_ in told.values()]
    by_hand = "RANK" in told and "TORCHELASTIC_RUN_ID" not in environ
    if worlds and (worlds[0][0] not in range(worlds[0][1]) or by_hand and len({*worlds}) > 1):
        return {"raises": f"ValueError, which names {next(iter(told))}", "returns": "nothing"}
    rank, size, *local = next(iter(told.values()), (0, 1, 0))
    return {"raises": "nothing", "returns": (rank, size, *(local or [rank]))}


CLOSED_FORMS = {"LA-1": of_the_innermost}
