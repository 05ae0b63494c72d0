"""The grammar: from the text files in `assets/` to parts that can be written and parsed.

`words_*.txt` hold word classes. A line at the left edge opens one; below it are its entries::

    toy (noun, zipf)
      ball, kite, teddy bear
    animal (noun)
      mouse>mice | home: a hole in the wall; a nest of straw | voice: squeaked

A feature holds one text or several, separated by ``;``: then one is chosen each time. Words in
brackets are options: ``noun`` and ``verb`` add word forms (``run>ran>running`` if it breaks the
rules), ``he`` and ``she`` add pronouns, ``zipf`` gives early words a higher weight.

`plot_*.txt` hold rules: each line under a rule's name is one alternative, a longer one goes on in
lines that stand further in, and a number in front is its weight. ``¶`` starts a new line. Slots:

=================  ==============================================================================
``{home}``         a rule: one of its alternatives
``{trait}``        a word class: one of its words, a fresh one each time
``{trait.a}``      the same in another form: here with a or an
``{hero:person}``  a word of the class `person`, remembered from here on as `hero`; never one
                   that is remembered under another name already
``{hero.his}``     a form or feature of the word remembered as `hero`
``{he}``           short for ``{hero.he}``; so are him, his, himself
``{Trait.a}``      a capital in the slot's name is a capital in the text
=================  ==============================================================================
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import log

_SLOT = re.compile(r"\{([A-Za-z_0-9]+)(?::([a-z_0-9]+))?(?:\.([a-z_0-9]+))?\}")
_VOWELS = "aeiou"
PRONOUNS = {
    "he": {"he": "he", "him": "him", "his": "his", "himself": "himself", "child": "boy"},
    "she": {"he": "she", "him": "her", "his": "her", "himself": "herself", "child": "girl"},
}
# How many words of each class, alternatives of each rule, and plots are used; None: all. The small
# world has about 800 words: a model of 0.3 M parameters learns it in half a minute of one core.
WORLDS = {"large": (None, None, None), "small": (6, 2, 6)}


@dataclass(eq=False)  # each is itself
class Choice:
    """One of several parts, or the same one as before."""

    shown: tuple["Part", ...]  # what it can be
    # Part i stands here as often as its weight says, so one look-up draws it; empty: no draw, but
    # the part whose number is remembered as `variable`.
    wheel: tuple[int, ...] = ()
    variable: str | None = None  # under which name the number is remembered
    rivals: tuple[str, ...] = ()  # whose numbers it can't be


Part = str | tuple | Choice  # a tuple is a sequence of parts


def inside(part: Part) -> tuple[Part, ...]:
    """Return what a sequence is made of, or what can stand in the place of a choice."""
    return part if type(part) is tuple else part.shown


def parts(start: Part) -> Iterator[Part]:
    """Yield every part that isn't a plain text, once."""
    waiting, seen = [start], set()
    while waiting:
        part = waiting.pop()
        if type(part) is not str and id(part) not in seen:
            seen.add(id(part))
            yield part
            waiting += inside(part)


def write(start: Part, random: Callable[[], float], nats: list[float] | None = None) -> str:
    """Write one story; `random` returns floats in [0, 1).

    nats: -log of each choice's probability is added. A text has one derivation, so their sum is the
    text's own.
    """
    out: list[str] = []
    _write((start,), {}, random, out, nats)
    return "".join(out)


def _write(parts: tuple[Part, ...], memory: dict[str, int], random, out, nats) -> None:
    for part in parts:
        if type(part) is Choice:
            wheel = part.wheel
            if wheel:
                # random() * n stays below n, alike on every machine.
                index = wheel[int(random() * len(wheel))]
                taken = {memory[rival] for rival in part.rivals if rival in memory}
                while index in taken:  # so the others keep their weights' ratios
                    index = wheel[int(random() * len(wheel))]
                if nats is not None:
                    left = len(wheel) - sum(map(wheel.count, taken))
                    nats.append(log(left / wheel.count(index)))
                if part.variable is not None:
                    memory[part.variable] = index
            else:
                index = memory[part.variable]
            part = part.shown[index]  # noqa: PLW2901
        if type(part) is str:
            out.append(part)
        else:
            _write(part if type(part) is tuple else (part,), memory, random, out, nats)


@cache
def story_grammar(world: str = "large") -> Choice:
    """Return the grammar that ships with the package, or its smaller world."""
    found = sorted((files(__package__) / "assets").iterdir(), key=lambda file: file.name)
    words, rules = (
        "".join(file.read_text(encoding="utf-8") for file in found if file.name.startswith(kind))
        for kind in ("words_", "plot_")
    )
    return build(words, rules, *WORLDS[world])


def build(words: str, rules: str, most_words=None, most_alternatives=None, plots=None) -> Choice:
    """Build a grammar from its two kinds of text. The rule to start from is called `story`."""
    classes = read_words(words)
    for name, (entries, weights) in classes.items() if most_words else ():
        kept = _commonest(weights, most_words)
        entries = [{form: texts[:1] for form, texts in entries[i].items()} for i in kept]
        classes[name] = entries, [weights[i] for i in kept]
    sources = _read_rules(rules)
    for name, alternatives in sources.items():
        most = plots if name == "story" else most_alternatives
        kept = _commonest([weight for weight, _ in alternatives], most)
        sources[name] = [alternatives[i] for i in kept]
    return _Compiler(classes, sources).rule("story")


def _commonest(weights: list[int], most: int | None) -> list[int]:
    """The places of the `most` largest weights, in their order; of equal ones the first."""
    by_weight = sorted(range(len(weights)), key=lambda place: -weights[place])
    return sorted(by_weight[:most])


def _lines(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if line.strip() and not line.startswith("#"))


def read_words(text: str) -> dict[str, tuple[list[dict[str, list[str]]], list[int]]]:
    """Return the entries of each word class, {form: texts}, and their weights.

    Weights are whole numbers: sums of those are the same on every machine.
    """
    classes: dict[str, tuple[list, list]] = {}
    for line in _lines(text):
        if not line.startswith(" "):
            name, *options = re.findall(r"[a-z_0-9]+", line)
            entries, weights = classes.setdefault(name, ([], []))
            rank = 0
            continue
        for item in [line] if "|" in line else line.split(","):
            if item.strip():
                entries.append(_entry(item, options))
                weights.append(1 + 40 // (rank + 3) if "zipf" in options else 1)
                rank += 1
    return classes


def _entry(item: str, options: list[str]) -> dict[str, list[str]]:
    head, *features = (part.strip() for part in item.split("|"))
    word, *odd = head.split(">")
    forms = {"": word, "a": f"{article(word)} {word}"} if word else {}
    if "noun" in options:
        forms["s"] = odd[0] if odd else plural(word)
    if "verb" in options:
        forms["ed"] = odd[0] if odd else inflected(word, "ed")
        forms["ing"] = odd[1] if len(odd) > 1 else inflected(word, "ing")
    for sex in PRONOUNS.keys() & set(options):
        forms |= PRONOUNS[sex]
        forms["named"] = f"{forms['child']} named {word}"
    entry = {form: [text] for form, text in forms.items()}
    for key, _, value in (feature.partition(":") for feature in features):
        entry[key.strip()] = [text.strip() for text in value.split(";") if text.strip()]
    return entry


def article(word: str) -> str:
    """Return "a" or "an", as the word that follows needs."""
    if re.match("hour|honest|honor", word.lower()):
        return "an"
    spoken = not re.match("uni|use|usu|uku|one|eu", word.lower())
    return "an" if word[0].lower() in _VOWELS and spoken else "a"


def plural(noun: str) -> str:
    """Return the regular plural; of a phrase, the plural of its last word."""
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun + "es"
    return noun[:-1] + "ies" if re.search("[^aeiou]y$", noun) else noun + "s"


def inflected(verb: str, end: str) -> str:
    """Return a regular verb with "ed" or "ing" at its first word ("pick up" -> "picked up")."""
    head, space, tail = verb.partition(" ")
    short = len(head) > 2 and sum(letter in _VOWELS for letter in head) == 1
    if short and re.search("[aeiou][^aeiouwxy]$", head):
        head += head[-1]  # hop, hopped: one syllable, one vowel, one consonant
    elif end == "ed":
        head = re.sub("([^aeiou])y$", r"\1ie", head).removesuffix("e")
    elif not head.endswith(("ee", "oe", "ye")):
        head = head.removesuffix("e")
    return f"{head}{end}{space}{tail}"


def _read_rules(text: str) -> dict[str, list[tuple[int, str]]]:
    sources: dict[str, list[tuple[int, str]]] = {}
    for line in _lines(text):
        body = line.strip()
        if not line.startswith(" "):
            alternatives = sources[body] = []
        elif line.startswith("    "):
            weight, start = alternatives[-1]
            alternatives[-1] = weight, f"{start} {body}"
        else:
            weight, space, rest = body.partition(" ")
            known = weight.isdigit() and space
            alternatives.append((int(weight), rest) if known else (1, body))
    return sources


class _Compiler:
    """Compiles rules on demand, each once."""

    def __init__(self, classes, sources):
        self.classes, self.sources, self.done = classes, sources, {}
        texts = [text for alternatives in sources.values() for _, text in alternatives]
        slots = (match for text in texts for match in _SLOT.findall(text))
        self.variables = {name.lower(): words for name, words, _ in slots if words}

    def rule(self, name: str) -> Choice:
        if name not in self.done:
            weights, texts = zip(*self.sources[name], strict=True)
            self.done[name] = self.choice(texts, weights)
        return self.done[name]

    def choice(self, texts, weights) -> Choice:
        return Choice(tuple(self.sequence(text) for text in texts), _wheel(tuple(weights)))

    def sequence(self, text: str) -> Part:
        """Compile one template; a template without slots is a plain text."""
        if "{" not in text and "¶" not in text:
            return text
        text = re.sub(r"\s*¶\s*", "\n", text)
        parts, at = [], 0
        for match in _SLOT.finditer(text):
            parts += [text[at : match.start()], self.slot(*match.groups())]
            at = match.end()
        parts = [part for part in [*parts, text[at:]] if part != ""]
        return parts[0] if len(parts) == 1 else tuple(parts)

    def slot(self, name: str, words: str | None, form: str | None) -> Part:
        key, capital, form = name.lower(), name[0].isupper(), form or ""
        if key in PRONOUNS["he"] and key != "child":
            key, form = "hero", key
        if words or key in self.classes:
            group, variable = words or key, key if words else None
            same = [v for v, c in self.variables.items() if c == group]
            rivals = tuple(v for v in same if variable and v != variable)
            wheel = _wheel(tuple(self.classes[group][1]))
            return Choice(self.look(group, form, capital), wheel, variable, rivals)
        if key in self.variables:
            return Choice(self.look(self.variables[key], form, capital), variable=key)
        return self.rule(name)

    def look(self, group: str, form: str, capital: bool) -> tuple[Part, ...]:
        """Return what each entry of a class looks like in one form."""
        key = group, form, capital
        if key not in self.done:
            shown = []
            for entry in self.classes[group][0]:
                texts = [text[0].upper() + text[1:] if capital else text for text in entry[form]]
                one = len(texts) == 1
                shown.append(
                    self.sequence(texts[0]) if one else self.choice(texts, [1] * len(texts))
                )
            self.done[key] = tuple(shown)
        return self.done[key]


@cache
def _wheel(weights: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(i for i, weight in enumerate(weights) for _ in range(weight))
