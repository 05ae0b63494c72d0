"""Work in place of the solutions of CO: what the check must name, and what it must pass."""

PROGRAMS = {
    "CO-1": {
        "a dictionary": ("return {'parameters': 1}", "give three numbers"),
        "by the library": """
        from helpers.cost import parameters

        return parameters(model).total, flops(model).layer / 1e12, forward_peak(model).total / 1e9
        """},
    "CO-3": {
        "memory forgotten": ({"done.fits and ": ""}, "does not fit:"),
        "by the library": """
        from helpers.cluster import search

        return search(model, machine, gpus, batch)[0].layout
        """},
}  # fmt: skip
