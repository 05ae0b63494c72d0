"""The lessons in their order: the one table that all other lists of lessons follow.

A lesson's number is its place here. `python tools/renumber.py` brings files, links and "lesson NN"
in the text into line with this table, so a new lesson is a line here and a file.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Lesson:
    """A lesson.

    name: what its file is called after the number; its questions are `name-1`, `name-2`, …
    short: its title in tables. title: its heading. question: what it answers.
    needs: the lessons that it builds on.
    ranks, gigabytes: its largest number of processes, and its memory with the kernel's.
    """

    name: str
    short: str
    title: str
    question: str
    needs: tuple[str, ...] = ()
    ranks: int = 0
    gigabytes: float = 2.0

    @property
    def number(self) -> str:
        """Its place in the table: "06"."""
        return f"{[lesson.name for lesson in LESSONS].index(self.name):02}"

    @property
    def stem(self) -> str:
        """What its files are called: "06_micro_batches"."""
        return f"{self.number}_{self.name}"


LESSONS = (
    Lesson(
        "welcome",
        "Welcome",
        "Welcome: what your machine can do",
        "Can this machine be three machines?",
        ranks=3,
    ),
    Lesson(
        "one_device",
        "One device",
        "One device: a small LLaMA learns to tell stories",
        "How does a language model learn, and how good can it get?",
        gigabytes=1.0,
    ),
    Lesson(
        "ranks_and_collectives",
        "Messages and deadlocks",
        "Messages and deadlocks",
        "Which programs can hang, and how do you find out which rank waits for which?",
        ranks=5,
    ),
    Lesson(
        "data_parallel_gradients",
        "Averaging gradients",
        "Averaging gradients",
        "What must the devices tell each other, and when does that take longer than computing?",
        needs=("one_device", "ranks_and_collectives"),
        ranks=8,
    ),
    Lesson(
        "data_parallel_weights",
        "Averaging weights",
        "Averaging weights",
        "When is averaging weights as good, and what does averaging less often cost?",
        needs=("data_parallel_gradients",),
        ranks=4,
    ),
    Lesson(
        "naive_pipeline",
        "The naive pipeline",
        "The naive pipeline: a model too large for one device",
        "How can each device hold only a part of the model?",
        needs=("one_device", "ranks_and_collectives"),
        ranks=4,
    ),
    Lesson(
        "micro_batches",
        "Micro-batches",
        "Micro-batches: GPipe and 1F1B",
        "Into how many pieces, and in which order? GPipe and 1F1B",
        needs=("naive_pipeline",),
        ranks=4,
    ),
    Lesson(
        "beyond_1f1b",
        "Beyond 1F1B",
        "Beyond 1F1B: chunks and zero bubble",
        "Where can the waiting go, and what does each way cost?",
        needs=("micro_batches",),
        ranks=4,
    ),
    Lesson(
        "dp_x_pp",
        "DP x PP",
        "DP x PP: two pipelines, six ranks, one model",
        "Two pipelines, six ranks: who must talk to whom?",
        needs=("data_parallel_gradients", "micro_batches"),
        ranks=6,
    ),
    Lesson(
        "what_training_costs",
        "What training costs",
        "What training costs, and when sending costs more",
        "How much memory and how many FLOPs? And when does sending cost more than computing?",
        needs=("data_parallel_gradients",),
    ),
    Lesson(
        "buckets_and_overlap",
        "Buckets and overlap",
        "DDP: buckets and overlap",
        "Can gradients travel while others are still being computed?",
        needs=("data_parallel_gradients",),
        ranks=3,
    ),
    Lesson(
        "where_time_goes",
        "Where does the time go?",
        "Where does the time go? From a trace to the MFU",
        "Of the FLOPs that your devices could compute, how many does training get?",
        needs=("what_training_costs", "buckets_and_overlap"),
        ranks=8,
    ),
    Lesson(
        "sharding",
        "Sharding",
        "Sharding: no rank keeps what another keeps",
        "How much must a rank really keep? ZeRO by hand, and FSDP",
        needs=("data_parallel_gradients", "what_training_costs"),
        ranks=3,
    ),
    Lesson(
        "tensor_parallel",
        "Tensor parallel",
        "Tensor parallelism: many devices share each layer",
        "Each device holds a part of every matrix: what must they tell each other?",
        needs=("ranks_and_collectives", "what_training_costs"),
        ranks=3,
    ),
    Lesson(
        "long_context",
        "Long context",
        "Long context: many devices share one sequence",
        "One sequence, many devices: how does a token look at those on other ranks?",
        needs=("ranks_and_collectives", "what_training_costs"),
        ranks=4,
    ),
    Lesson(
        "experts",
        "Experts",
        "Experts: more parameters than a token pays for",
        "How do tokens find their experts on other devices, and what if all want the same one?",
        needs=("data_parallel_gradients", "what_training_costs"),
        ranks=4,
    ),
    Lesson(
        "fewer_bits",
        "Fewer bits",
        "Fewer bits: how exact must a number be?",
        "How few bits can a number have before training notices, and what do they save?",
        needs=("data_parallel_gradients", "what_training_costs"),
        ranks=4,
    ),
    Lesson(
        "hiding_messages",
        "Hiding messages",
        "Hiding messages: what travels while a rank computes",
        "Which message can hide behind which computing, and what is left over?",
        needs=("buckets_and_overlap", "sharding", "tensor_parallel", "experts", "fewer_bits"),
        ranks=4,
    ),
    Lesson(
        "training_puzzles",
        "Training puzzles",
        "Training puzzles: a cluster that you can program",
        "How do you spread a step over ranks you don't have?",
        needs=("micro_batches", "sharding"),
        gigabytes=1.0,
    ),
    Lesson(
        "design_your_own",
        "Design your own",
        "Design your own: a model, a cluster, a layout",
        "How would you spread 175 billion parameters over 512 GPUs?",
        needs=("dp_x_pp", "sharding", "tensor_parallel"),
        gigabytes=1.0,
    ),
    Lesson(
        "beyond_one_machine",
        "Beyond one machine",
        "Beyond one machine: launchers and slow links",
        "Who starts the ranks, and what does a slow link cost?",
        needs=("dp_x_pp",),
        ranks=2,
    ),
    Lesson(
        "training_never_stops",
        "Training that never stops",
        "Training that never stops",
        "Machines fail every three hours: how does training go on as if they didn't?",
        needs=("data_parallel_weights", "beyond_one_machine"),
        ranks=8,
    ),
    Lesson(
        "torchs_own_words",
        "In torch's own words",
        "In torch's own words",
        "Do torch's own pieces take the step you wrote by hand?",
        needs=("dp_x_pp", "sharding", "tensor_parallel"),
        ranks=8,
        gigabytes=3.0,
    ),
    Lesson(
        "gpt2_two_ways",
        "GPT-2: two ways to split it",
        "GPT-2: two ways to split it",
        "Does a split change what a translator learns, and is it faster?",
        needs=("data_parallel_gradients", "micro_batches"),
        ranks=3,
        gigabytes=3.0,
    ),
    Lesson(
        "forensics",
        "Forensics",
        "Forensics: fourteen training runs, and what they hide",
        "The loss curve looks right. How do you find out whether the training is?",
        needs=("dp_x_pp",),
        ranks=4,
    ),
)


# What the lessons were called when questions still had their numbers: "L06-1".
NUMBERED = (
    "welcome one_device ranks_and_collectives data_parallel_gradients data_parallel_weights "
    "naive_pipeline micro_batches beyond_1f1b dp_x_pp buckets_and_overlap where_time_goes sharding "
    "tensor_parallel long_context experts what_training_costs training_puzzles design_your_own "
    "beyond_one_machine torchs_own_words gpt2_two_ways forensics"
).split()


CALLED = {"buckets_and_overlap": "ddp", "where_time_goes": "profiling_and_input"}


def earlier_stems() -> dict[str, str]:
    """Return {what a lesson's file was once called: what it is called today}, where they differ."""
    then = {
        f"{number:02}_{CALLED.get(name, name)}": by_name(name).stem
        for number, name in enumerate(NUMBERED)
    }
    return {old: new for old, new in then.items() if old != new}


def named(question: str) -> str:
    """Return a question's id by its lesson's name: records from before say "L06-1"."""
    found = re.fullmatch(r"L(\d\d)-(\d{1,3})", question)
    if not found or int(found[1]) >= len(NUMBERED):
        return question
    return f"{NUMBERED[int(found[1])]}-{found[2]}"


def by_name(name: str) -> Lesson:
    """Return the lesson of this name. Raises KeyError with the names that there are."""
    for lesson in LESSONS:
        if lesson.name == name:
            return lesson
    raise KeyError(f"no lesson is named {name!r}: {', '.join(each.name for each in LESSONS)}")
