"""What the work's process sees of each task: its facts, its hints, and how it is run on a case."""
