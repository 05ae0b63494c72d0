"""Word classes: what can stand in a slot, with its forms, features and weights.

A word list is a text file in ``assets/``. A line at the left edge opens a class; the indented lines
below it are its entries::

    toy (noun, zipf)
      ball, kite, teddy bear
    animal (noun)
      mouse>mice | home: a hole in the wall; a nest of straw | voice: squeaked

An entry without features may share a line with others; one may be features alone. A feature holds
one text or several, separated by ``;``: several are a choice of their own, made each time that the
feature is used. Words in brackets are options: ``noun`` and ``verb`` add word forms, ``he`` and
``she`` add pronouns, ``zipf`` gives early words a higher weight, as in real text.
"""

import re
from dataclasses import dataclass, field

from .inflect import article, gerund, past, plural

PRONOUNS = {
    "he": {"he": "he", "him": "him", "his": "his", "himself": "himself", "child": "boy"},
    "she": {"he": "she", "him": "her", "his": "her", "himself": "herself", "child": "girl"},
}
_HEADER = re.compile(r"^([a-z_0-9]+)(?: \(([a-z, ]+)\))?$")
_OPTIONS = {"noun", "verb", "he", "she", "zipf"}


@dataclass(slots=True)
class WordClass:
    """Words that can stand in the same place.

    ``entries[i]`` maps a form or feature to its alternatives (most have one); form "" is the word.
    ``weights[i]`` is a whole number: sums of whole numbers are the same on every machine.
    """

    name: str
    entries: list[dict[str, list[str]]] = field(default_factory=list)
    weights: list[int] = field(default_factory=list)


def zipf_weight(rank: int) -> int:
    """Weight of the word at `rank` (0 is the commonest): falls like 1/rank to a floor of 1."""
    return 1 + 40 // (rank + 3)


def read_words(text: str, where: str, classes: dict[str, WordClass]) -> None:
    """Read one word list into `classes`. A class may be opened twice: its entries are joined."""
    current, options, rank = None, set(), 0
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith(" "):
            header = _HEADER.match(line)
            options = set((header[2] or "").split(", ")) - {""} if header else set()
            if not header or options - _OPTIONS:
                raise ValueError(f'{where}, line {number}: "{line}" does not open a word class.')
            current = classes.setdefault(header[1], WordClass(header[1]))
            rank = 0
            continue
        if current is None:
            raise ValueError(f"{where}, line {number}: words before the first class.")
        for item in [line] if "|" in line else line.split(","):
            if item.strip():
                current.entries.append(_entry(item.strip(), options, f"{where}, line {number}"))
                current.weights.append(zipf_weight(rank) if "zipf" in options else 1)
                rank += 1


def _entry(item: str, options: set[str], where: str) -> dict[str, list[str]]:
    """Return one entry's forms and features."""
    head, *features = (part.strip() for part in item.split("|"))
    word, *odd = head.split(">")
    forms = {"": word, "a": f"{article(word)} {word}"} if word else {}
    if "noun" in options:
        forms["s"] = odd[0] if odd else plural(word)
    if "verb" in options:
        forms["ed"] = odd[0] if odd else past(word)
        forms["ing"] = odd[1] if len(odd) > 1 else gerund(word)
    for sex in options & PRONOUNS.keys():
        forms.update(PRONOUNS[sex])
        forms["named"] = f"{forms['child']} named {word}"
    entry = {form: [text] for form, text in forms.items()}
    for feature in features:
        key, colon, value = feature.partition(":")
        if not colon:
            raise ValueError(f'{where}: the feature "{feature}" needs a name, a colon and a text.')
        entry[key.strip()] = [text.strip() for text in value.split(";") if text.strip()]
    return entry
