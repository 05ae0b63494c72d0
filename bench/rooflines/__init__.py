"""Write docs/rooflines.md: where sending takes as long as computing, beside what runs used.

The bounds are `helpers.cost.rooflines`; the command: `python -m helpers.cost.rooflines`.
"""
