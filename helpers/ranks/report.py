"""How a launch went."""

from dataclasses import dataclass
from html import escape
from typing import Any

from helpers.ranks.failure import Failure


@dataclass
class Report:
    """The result of each rank, or the failure; what each rank printed."""

    results: list[Any]
    failure: Failure | None
    texts: list[str]
    seconds: float

    @property
    def ok(self) -> bool:
        return self.failure is None

    def __str__(self) -> str:
        if self.failure:
            return str(self.failure)
        return f"{len(self.results)} ranks finished in {self.seconds:.1f} s"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the words, and who waited for whom."""
        style = "font-family: monospace; white-space: pre-wrap; word-break: normal"
        words = f'<pre style="{style}">{escape(str(self))}</pre>'
        picture = self.failure.picture if self.failure else None
        return words + (picture._repr_html_() if picture else "")
