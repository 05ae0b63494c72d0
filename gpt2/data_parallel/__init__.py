"""Data parallelism: each rank trains on a part of the data."""
