"""CO-3: wrong and right work."""

from helpers.grade.task import Program

PROGRAMS = (Program("memory forgotten", {"done.fits and ": ""}, says="does not fit:"),)

RIGHT = {
    "by the library": """
        from helpers.cluster import search

        return search(model, machine, gpus, batch)[0].layout
        """,
}
