"""Work in place of the solutions of CO: what the check must name, and what it must pass."""

PROGRAMS = {
    "CO-1": {
        "a dictionary": ("return {'parameters': 1}", "give three numbers"),
        "by the library": """
        from helpers.cost import parameters

        return parameters(model).total, flops(model).layer / 1e12, forward_peak(model).total / 1e9
        """},
    "CO-2": {
        "N alone": ({", budget / (6 * n)": ""}, "give two numbers, (N, D)"),
        "half of D": ({"(6 * n)": "(12 * n)"}, "6 N D is 0.5 times the budget"),
        "a third of N":
            ({"return n, budget / (6 * n)": "return n / 3, budget / (2 * n)"},
             "the model is too small: the loss is"),
        "on a grid": """
        sizes = [10 ** (k / 2000) for k in range(2000, 28000)]
        n = min(sizes, key=lambda n: law.loss(n, budget / 6 / n))
        return n, budget / 6 / n
        """},
    "CO-3": {
        "memory forgotten": ({"done.fits and ": ""}, "does not fit:"),
        "by the library": """
        from helpers.cluster import search

        return search(model, machine, gpus, batch)[0].layout
        """},
}  # fmt: skip
