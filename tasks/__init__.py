"""Each task: facts, hints, how its work is observed, and its cases and mutants."""
