"""What a rank is asked to do: call a function, or run a script as `python script.py` would."""

import linecache
import os
import runpy
import sys
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Surroundings:
    """What a fresh interpreter needs in order to look like the place that started it."""

    folder: str
    import_path: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)  # notebook cells: file name -> text
    cells: dict[str, str] = field(default_factory=dict)  # file name -> "cell [7]"
    connect: bool = True
    backend: str = "auto"
    timeout: float = 300.0
    quiet: bool = False
    checked: bool = False

    def apply(self) -> None:
        """Take on the environment, the folder, the import path and the cells' texts."""
        os.environ.clear()
        os.environ.update(self.environment)
        os.chdir(self.folder)
        sys.path[:] = self.import_path
        for name, text in self.sources.items():
            linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)


@dataclass
class Call:
    """Call a function that was packed by value."""

    packed: bytes  # cloudpickle of (function, arguments)

    def run(self) -> Any:
        import cloudpickle

        function, arguments = cloudpickle.loads(self.packed)
        return function(*arguments)


@dataclass
class Script:
    """Run a file as the main program."""

    path: str
    arguments: list[str]

    def run(self) -> None:
        sys.argv = [self.path, *self.arguments]
        sys.path.insert(0, os.path.dirname(os.path.abspath(self.path)))
        try:
            runpy.run_path(self.path, run_name="__main__")
        except SystemExit as end:
            if end.code not in (None, 0):
                raise
