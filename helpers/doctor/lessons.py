"""What each lesson asks of a machine. One row for each notebook in notebooks/."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Lesson:
    """ranks: the most processes that it starts. gigabytes: memory it takes, kernel included."""

    number: str
    title: str
    ranks: int = 0
    gigabytes: float = 1.0


LESSONS = (
    Lesson("00", "Welcome: what your machine can do", ranks=3, gigabytes=2.0),
    Lesson("01", "One device: a small LLaMA learns to tell stories"),
    Lesson("02", "Ranks and collectives: how processes talk", ranks=4, gigabytes=2.0),
    Lesson("03", "Data parallel: many devices average their gradients", ranks=3, gigabytes=2.0),
    Lesson("04", "Data parallel: many devices average their weights", ranks=4, gigabytes=2.0),
    Lesson("05", "The naive pipeline: a model too large for one device", ranks=4, gigabytes=2.0),
    Lesson("06", "Micro-batches: GPipe and 1F1B fill the pipeline", ranks=4, gigabytes=2.0),
    Lesson("07", "Beyond 1F1B: from smaller chunks to zero bubble", ranks=4, gigabytes=2.0),
    Lesson("08", "DP x PP: two pipelines, six ranks, one model", ranks=6, gigabytes=2.0),
    Lesson("09", "Training puzzles: a cluster that you can program"),
    Lesson("10", "Design your own: a model, a cluster, a layout"),
    Lesson("11", "Tensor parallel: many devices share each layer", ranks=3, gigabytes=2.0),
    Lesson("12", "What training costs: parameters, operations, bytes"),
    Lesson("13", "DDP, profiler and input: where the time of a step goes", ranks=3, gigabytes=2.0),
    Lesson("14", "Sharding: no rank keeps what another keeps", ranks=3, gigabytes=2.0),
    Lesson("15", "Beyond one machine: launchers, slow links, failures", ranks=3, gigabytes=2.0),
    Lesson("16", "GPT-2: two ways to split it", ranks=3, gigabytes=3.0),
)
