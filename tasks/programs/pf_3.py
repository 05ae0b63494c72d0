"""PF-3: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "shared with workers",
        {"self.owner != os.getpid()": "self.file is None"},
        says="it must open one of its own",
    ),
)
