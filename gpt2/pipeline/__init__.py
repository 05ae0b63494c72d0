"""Pipeline parallelism by threads: each part of the model on a device of its own."""
