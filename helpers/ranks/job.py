"""What a launcher sends to a rank, and what a rank that has failed sends back."""

import builtins
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from helpers.hang.places import Frame
from helpers.plain_errors import is_echo
from helpers.ranks.store import Place


@dataclass
class Job:
    """What a rank needs in order to look like the process that launched it, and what it runs.

    place and environment differ from rank to rank: the supervisor fills them in.
    """

    folder: str
    path: list[str]
    place: Place | None = None
    environment: dict[str, str] = field(default_factory=dict)
    # Of the notebook: the name of a cell's file, what to call it ("cell [7]"), and its text.
    cells: list[tuple[str, str, str]] = field(default_factory=list)
    backend: str = "auto"
    timeout: float = 300.0
    quiet: bool = False
    checked: bool = False
    call: bytes = b""  # (function, arguments), by `pack`; or
    script: list[str] = field(default_factory=list)  # a file and its arguments


@dataclass
class Error:
    """How a program ended that raised."""

    time: float
    kind: str
    text: str
    frames: list[Frame]
    traceback: str

    @property
    def echo(self) -> bool:
        """Whether it only says that a partner has gone."""
        # An OSError is a cause, from the program's own files and sockets: torch doesn't raise any.
        kind = getattr(builtins, self.kind, Exception)
        own = isinstance(kind, type) and issubclass(kind, OSError)
        return not own and is_echo(self.text)


def pack(value: Any) -> bytes:
    """Pickle functions by value, with their files' names, which cloudpickle leaves out.

    Without them a rank that fails or waits couldn't tell its line.
    """
    import cloudpickle  # when something is packed: a rank that runs one line needs none of it

    class Pickler(cloudpickle.CloudPickler):
        def reducer_override(self, thing: Any) -> Any:
            if not isinstance(thing, CodeType):
                return super().reducer_override(thing)
            make, arguments, *_ = self.dispatch_table[CodeType](thing)
            return with_file, (make, arguments, thing.co_filename)

    file = io.BytesIO()
    Pickler(file).dump(value)
    return file.getvalue()


def with_file(make: Callable[..., CodeType], arguments: tuple, file: str) -> CodeType:
    """Make code anew, and say which file it is from."""
    return make(*arguments).replace(co_filename=file)
