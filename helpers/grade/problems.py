"""What labs of other courses ask for, and which of the tasks here asks it."""

# By course, in their order: what is asked; the tasks that ask it here, or the lesson with the
# question; and what is given ready here, "" if nothing is that others leave to be written.
PROBLEMS = (
    (
        "Data, pipeline and combined parallelism",
        (
            ("train on one device first", ("lesson 01",), "`primer/intro.py`"),
            ("average the gradients of three ranks", ("DP-1",), ""),
            ("average their weights instead", ("DP-2",), ""),
            ("three stages, one batch at a time, with send and recv", ("PP-1",), ""),
            ("three micro-batches, scaled, and no deadlock of sends", ("PP-2", "RC-2"), ""),
            ("forward and backward in turn, to need less memory", ("PP-3",), ""),
            (
                "two pipelines of three stages, three micro-batches each",
                ("DP-PP-1", "PP-2"),
                "the pipelines, in `DP_PP/intro_DP_PP.py`; you write who averages with whom",
            ),
        ),
    ),
    (
        "DDP and profiling on a cluster",
        (
            (
                "estimate the memory of a trillion parameters",
                ("lesson 12", "lesson 13"),
                "exercise 9 of lesson 13; lesson 12 puts a well-known sum right",
            ),
            ("one training script for a GPU, and for none", ("PF-1",), ""),
            (
                "the same under DDP: sampler, scaled learning rate",
                ("DP-4",),
                "`DP/ddp/intro_DDP.py` and `DP/ddp/profile_ddp.py`; you write DDP's buckets",
            ),
            (
                "profile a step, and find input and all-reduce in it",
                ("lesson 13",),
                "`DP/ddp/profile_ddp.py`",
            ),
            ("count ranks from the launcher's variables alone", ("LA-1",), ""),
            ("count ranks with MPI alone", ("LA-2",), "`--rank-source mpi` in `jobs/hello.py`"),
            ("change the shapes of source and target", ("PF-2", "PF-5"), "`--src-shape`"),
            (
                "other formats of files, and what reading costs",
                ("PF-3",),
                "HDF5, .pt, safetensors and a memory map, in `DP/ddp/inputs.py`",
            ),
            ("very large tensors, and other number types", ("PF-4",), "`--tgt-shape`, `--dtype`"),
            (
                "what a collective costs between two machines",
                ("LA-3", "RC-1"),
                "two hosts on one machine, with a slow cable: lesson 15",
            ),
            (
                "torch.compile",
                ("lesson 13",),
                "`--compile`, in `DP/ddp/compiling.py`",
            ),
        ),
    ),
    (
        "GPT-2 in two ways",
        (
            (
                "1.1 a data set in shuffled parts that do not overlap",
                ("GP-1", "DP-3"),
                "the classes and `partition_dataset`, in `gpt2/data_parallel/dataset.py`; "
                "you write the cut",
            ),
            (
                "1.2 the process group, and a process for each rank",
                ("lesson 16",),
                "`setup` in `gpt2/project/run_data_parallel.py`, and `gpt2/project/processes.py`",
            ),
            ("1.2 average the gradients after backward", ("GP-2",), ""),
            (
                "1.3 seconds and tokens per second on one and two devices, two figures",
                ("lesson 16",),
                "`gpt2/project/plot.py`",
            ),
            ("2.1 split a sequence of layers where the device changes", ("GP-3",), ""),
            ("2.1 which micro-batch is where at each tick", ("GP-4",), ""),
            ("2.2 give one tick to the worker threads", ("GP-5",), "`gpt2/pipeline/worker.py`"),
            ("2.2 a batch in micro-batches through the pipeline", ("GP-6",), ""),
            ("2.3 GPT-2's blocks as a pipeline", ("GP-7",), ""),
            (
                "2.3 pipeline beside plain model parallel, two figures",
                ("lesson 16",),
                "`gpt2/project/plot.py`",
            ),
        ),
    ),
    (
        "Tensor parallelism and the cost of training",
        (
            (
                "warm up with MPI: all-reduce, all-gather, reduce-scatter, split",
                ("lesson 11",),
                "`TP/mpi-test.py`",
            ),
            ("1 the same data for all parts of one copy", ("TP-1",), ""),
            ("2 groups, indices and sizes of each rank", ("TP-2",), ""),
            ("3 what the naive split collects, forward", ("TP-3",), "backward"),
            ("what Megatron's split sends", ("TP-4",), ""),
            ("4 parameters, TFLOPs and peak memory of LLaMA-7B", ("CO-1",), ""),
            ("5 the best N and D for a budget", ("CO-2",), ""),
        ),
    ),
    (
        "Training puzzles",
        (
            ("one rank: the whole batch, then sample by sample", ("PZ-1", "PZ-2"), ""),
            ("data parallel, one sample a rank", ("PZ-3",), ""),
            ("weights in shards; then gradients too", ("PZ-4", "PZ-5"), ""),
            ("a pipeline, whole batch; then sample by sample", ("PZ-6", "PZ-7"), ""),
            ("a pipeline whose layers are in shards", ("PZ-8",), ""),
            ("part 0: data parallel with accumulation", ("PZ-P0",), ""),
            ("part 1: ZeRO, all three states", ("PZ-P1",), ""),
            ("part 2: a pipeline with several layers on a rank", ("PZ-P2",), ""),
            ("part 3: 1F1B, not interleaved", ("PZ-P3",), ""),
            (
                "part 4: a strategy of your own, scored by MFU and memory",
                ("PZ-P4",),
                "the leaderboard: `python -m cluster.leaderboard`",
            ),
        ),
    ),
)
