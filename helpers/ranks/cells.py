"""What the notebook around us knows: the text of its cells, and the number of each."""

import linecache
import sys
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Notebook:
    """The code cells that have run so far.

    sources: file name -> text, so that an error inside a rank can show its line.
    names: file name -> what to call it, as "cell [7]".
    """

    sources: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)


def notebook() -> Notebook:
    """The notebook that this process runs, or an empty one outside of notebooks."""
    if "IPython" not in sys.modules:  # importing it only to learn that it is not there is slow
        return Notebook()
    shell = sys.modules["IPython"].get_ipython()
    if shell is None:
        return Notebook()
    numbers = dict(getattr(shell.compile, "_filename_map", {}))
    sources = {name: "".join(linecache.getlines(name)) for name in numbers}
    names = {name: f"cell [{number}]" for name, number in numbers.items()}
    return Notebook(sources, names)
