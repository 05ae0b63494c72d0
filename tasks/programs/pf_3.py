"""PF-3: wrong programs that the check must catch, and right ones that it must pass."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "shared with workers",
        """
        if self.file is None:
            self.file = self.open_file()
        return self.file
        """,
        says="it must open one of its own",
    ),
)

RIGHT = {
    "the other way round": """
        me = os.getpid()
        if me == self.owner:
            return self.file
        self.owner = me
        self.file = self.open_file()
        return self.file
        """,
}
