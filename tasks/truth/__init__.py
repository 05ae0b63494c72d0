"""The judge's side of each task: its cases, the truth, and the mistakes. Never seen by the work."""
