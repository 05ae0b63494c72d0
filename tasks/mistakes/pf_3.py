"""Wrong ways to do PF-3, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake

MISTAKES = (
    PlantedMistake(
        "each time",
        """
        return self.open_file()
        """,
        says="opened 3 times for 3 items",
    ),
    PlantedMistake(
        "shared with workers",
        """
        if self.file is None:
            self.file = self.open_file()
        return self.file
        """,
        says="it must open one of its own",
    ),
    PlantedMistake(
        "no owner",
        """
        if self.owner != os.getpid():
            self.file = self.open_file()
        return self.file
        """,
        says="and whose it is in self.owner",
    ),
    PlantedMistake(
        "the first owner for ever",
        """
        if self.owner != os.getpid():
            self.file = self.open_file()
            self.owner = self.owner or os.getpid()
        return self.file
        """,
        says="does self.owner change too?",
    ),
    PlantedMistake(
        "nothing given",
        """
        if self.owner != os.getpid():
            self.file, self.owner = self.open_file(), os.getpid()
        """,
        says="gives None in the rank",
    ),
)

ALSO_RIGHT = {
    "the other way round": """
        me = os.getpid()
        if me == self.owner:
            return self.file
        self.owner = me
        self.file = self.open_file()
        return self.file
        """,
}
