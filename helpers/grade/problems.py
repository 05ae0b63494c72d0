"""What labs of other courses ask for, and which of the tasks here asks it."""

# What labs on distributed training ask for, and the task that asks it here. By course, in their
# order; the second part of a pair may also be a lesson or a script, where no code is to be written.
PROBLEMS = (
    (
        "Data, pipeline and combined parallelism",
        (
            ("train on one device first", ("lesson 01",)),
            ("average the gradients of all devices", ("DP-1",)),
            ("average their weights instead", ("DP-2",)),
            ("pass a batch through stages on several devices, and its gradients back", ("PP-1",)),
            ("micro-batches, without a deadlock and rightly scaled", ("PP-2", "RC-2")),
            ("forward and backward in turn", ("PP-3",)),
            ("two pipelines of three stages, three micro-batches each", ("DP-PP-1",)),
        ),
    ),
    (
        "DDP and profiling on a cluster",
        (
            ("the memory of a model with a trillion parameters", ("CO-1",)),
            ("from one GPU to many with DDP", ("PF-1", "DP-4")),
            ("profile a step, and read the trace", ("lesson 13",)),
            ("count ranks by one launcher alone, or by none", ("LA-1", "LA-2")),
            ("a transformer on made-up data, of other shapes", ("PF-2", "PF-5")),
            ("data from a file, in several formats", ("PF-3",)),
            ("large tensors and other number types", ("PF-4",)),
            ("what a collective costs between two machines", ("LA-3", "RC-1")),
        ),
    ),
    (
        "GPT-2 in two ways",
        (
            ("cut a data set into parts", ("GP-1", "DP-3")),
            ("start processes, and average gradients", ("GP-2",)),
            ("split a sequence of layers where the device changes", ("GP-3",)),
            ("the clock of a pipeline", ("GP-4",)),
            ("compute one tick in worker threads", ("GP-5",)),
            ("a batch in micro-batches through the pipeline", ("GP-6",)),
            ("GPT-2's blocks as a pipeline", ("GP-7",)),
            ("measure how both ways scale, and draw it", ("lesson 16",)),
        ),
    ),
    (
        "Tensor parallelism and the cost of training",
        (
            ("split the data among the copies of a model", ("TP-1",)),
            ("groups, indices and sizes of each rank", ("TP-2",)),
            ("what the naive split must collect, forward", ("TP-3",)),
            ("what Megatron's split must send", ("TP-4",)),
            ("parameters, operations and memory of a LLaMA", ("CO-1",)),
            ("the best size and data for a budget", ("CO-2",)),
        ),
    ),
    (
        "Training puzzles",
        (
            ("data parallel with accumulation", ("PZ-P0",)),
            ("ZeRO", ("PZ-P1",)),
            ("a pipeline with any number of layers on a rank", ("PZ-P2",)),
            ("1F1B", ("PZ-P3",)),
            ("a strategy of one's own, scored", ("PZ-P4",)),
        ),
    ),
)
