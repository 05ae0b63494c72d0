"""The grammar: from text files to parts that can be written, parsed and counted.

A rule file looks like this; each line under a rule's name is one alternative, a longer one goes on
in lines that stand further in::

    opening
      4 Once upon a time, there was {trait.a} {hero:person.named}. {home}
      {hero:person} was {trait.a} {hero.child} who lived {where}.

A whole number in front is the weight (default 1). ``¶`` starts a new line of the story. Slots:

=================  ==============================================================================
``{home}``         a rule: one of its alternatives
``{trait}``        a word class: one of its words, a fresh one each time
``{trait.a}``      the same in another form: here with a or an
``{hero:person}``  a word of the class `person`, remembered from here on as `hero`; never one
                   that is remembered under another name already ("another than before")
``{hero.his}``     a form or feature of the word remembered as `hero`
``{he}``           short for ``{hero.he}``; so are him, his, himself
``{Trait.a}``      a capital in the slot's name is a capital in the text
=================  ==============================================================================

A story is written from left to right, and every choice is made the moment its text begins.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from .words import PRONOUNS, WordClass, read_words

_SLOT = re.compile(r"\{([A-Za-z_0-9]+)(?::([a-z_0-9]+))?(?:\.([a-z_0-9]+))?\}")
_HERO = PRONOUNS["he"].keys() - {"child"}


@dataclass(slots=True, eq=False)
class Choice:
    """One of several alternatives, drawn by weight."""

    name: str
    alternatives: tuple["Part", ...]
    weights: tuple[int, ...]
    wheel: tuple[int, ...]  # alternative i stands here weights[i] times: one look-up draws it


@dataclass(slots=True, eq=False)
class Draw:
    """A word of a class, remembered as `variable` where that is not None."""

    name: str
    words: WordClass
    wheel: tuple[int, ...]
    variable: str | None
    shown: tuple["Part", ...]  # what entry i of the class looks like here
    rivals: tuple[str, ...] = ()  # other variables of the class


@dataclass(slots=True, eq=False)
class Recall:
    """A form or feature of the word that is remembered as `variable`. No choice of its own."""

    variable: str
    words: WordClass
    shown: tuple["Part", ...]


Part = str | tuple | Choice | Draw | Recall  # a tuple is a sequence of parts


@dataclass(slots=True, eq=False)
class Grammar:
    """A compiled grammar. `start` writes a whole story."""

    start: Choice
    classes: dict[str, WordClass]

    def parts(self) -> Iterator[Part]:
        """Yield every part that isn't a plain text, once."""
        waiting, seen = [self.start], set()
        while waiting:
            part = waiting.pop()
            if type(part) is not str and id(part) not in seen:
                seen.add(id(part))
                yield part
                waiting += inside(part)


def inside(part: Part) -> tuple[Part, ...]:
    """Return what a sequence is made of, or what can stand in the place of another part."""
    if type(part) is tuple:
        return part
    return part.alternatives if type(part) is Choice else part.shown


@dataclass(frozen=True, slots=True)
class World:
    """How much of the grammar is used: the commonest words of each class, and of each rule.

    Attributes:
        words, alternatives: how many of a class, and of a rule; None for all.
        plots: how many kinds of story.
    """

    words: int | None = None
    alternatives: int | None = None
    plots: int | None = None


# The small one has about 800 different words: a model of 0.3 M parameters learns it in half a
# minute of one core. Each story of it is a story of the large one.
WORLDS = {"large": World(), "small": World(words=6, alternatives=2, plots=6)}


@cache
def story_grammar(world: str = "large") -> Grammar:
    """Return the grammar that ships with the package, or its smaller world."""
    if world not in WORLDS:
        raise ValueError(f"there is no world {world!r} of stories, only {' and '.join(WORLDS)}.")
    folder = files(__package__) / "assets"
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(".txt"))
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in names}
    return build(
        [(name, text) for name, text in texts.items() if name.startswith("words_")],
        [(name, text) for name, text in texts.items() if not name.startswith("words_")],
        WORLDS[world],
    )


def build(
    words: list[tuple[str, str]], rules: list[tuple[str, str]], world: World = WORLDS["large"]
) -> Grammar:
    """Build a grammar from (file name, text) pairs. The rule to start from is called `story`."""
    classes: dict[str, WordClass] = {}
    for where, text in words:
        read_words(text, where, classes)
    sources: dict[str, list[tuple[int, str]]] = {}
    for where, text in rules:
        _read_rules(text, where, sources)
    if both := classes.keys() & sources.keys():
        raise ValueError(f"{min(both)} is a word class and a rule: give one of them another name.")
    for group in classes.values() if world.words else ():
        kept = _commonest(group.weights, world.words)
        group.weights = [group.weights[i] for i in kept]
        group.entries = [
            {form: texts[:1] for form, texts in group.entries[i].items()} for i in kept
        ]
    for name, alternatives in sources.items():
        most = world.plots if name == "story" else world.alternatives
        kept = _commonest([weight for weight, _ in alternatives], most)
        sources[name] = [alternatives[i] for i in kept]
    return _Builder(classes, sources).build(whole=world == World())


def _commonest(weights: list[int], most: int | None) -> list[int]:
    """The places of the `most` largest weights, in their order; of equal ones the first."""
    by_weight = sorted(range(len(weights)), key=lambda place: -weights[place])
    return sorted(by_weight[:most])


def _read_rules(text: str, where: str, sources: dict[str, list[tuple[int, str]]]) -> None:
    alternatives: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        body = line.strip()
        if not body or line.startswith("#"):
            continue
        if not line.startswith(" "):
            if not re.fullmatch(r"[a-z_0-9]+", body) or body in sources:
                raise ValueError(f'{where}, line {number}: "{body}" does not name a new rule.')
            alternatives = sources[body] = []
        elif line.startswith("    "):
            weight, start = alternatives[-1]
            alternatives[-1] = weight, f"{start} {body}"
        else:
            weight, space, rest = body.partition(" ")
            known = weight.isdigit() and space
            alternatives.append((int(weight), rest) if known else (1, body))


class _Builder:
    """Compiles rules on demand, each once."""

    def __init__(self, classes, sources):
        self.classes, self.sources = classes, sources
        self.rules: dict[str, Choice | None] = {}
        self.looks: dict[tuple, tuple[Part, ...]] = {}
        self.draws: list[Draw] = []
        self.variables: dict[str, str] = {}
        texts = [text for alternatives in sources.values() for _, text in alternatives]
        for name, words in (m[:2] for text in texts for m in _SLOT.findall(text) if m[1]):
            if self.variables.setdefault(name.lower(), words) != words or name.lower() in classes:
                raise ValueError(f'the variable "{name}" stands for two classes.')

    def build(self, whole: bool = True) -> Grammar:
        start = self.rule("story")
        if whole and (unused := self.sources.keys() - self.rules.keys()):
            raise ValueError(f'no story uses the rule "{min(unused)}".')
        for draw in self.draws:
            if draw.variable:
                same = [v for v, c in self.variables.items() if c == draw.words.name]
                draw.rivals = tuple(v for v in same if v != draw.variable)
        return Grammar(start, self.classes)

    def rule(self, name: str) -> Choice:
        if name not in self.rules:
            self.rules[name] = None
            weights, texts = zip(*self.sources[name], strict=True)
            self.rules[name] = self.choice(name, texts, weights)
        if self.rules[name] is None:
            raise ValueError(f'the rule "{name}" uses itself: a story would not end.')
        return self.rules[name]

    def choice(self, name, texts, weights) -> Choice:
        parts = tuple(self.sequence(text, name) for text in texts)
        return Choice(name, parts, tuple(weights), _wheel(tuple(weights)))

    def sequence(self, text: str, where: str) -> Part:
        """Compile one template; a template without slots is a plain text."""
        if "{" not in text and "}" not in text and "¶" not in text and text:
            return text
        text = re.sub(r"\s*¶\s*", "\n", text)
        parts, at = [], 0
        for match in _SLOT.finditer(text):
            parts += [text[at : match.start()], self.slot(*match.groups(), where)]
            at = match.end()
        parts = [part for part in [*parts, text[at:]] if part != ""]
        if not parts or any(isinstance(part, str) and set("{}") & set(part) for part in parts):
            raise ValueError(f'the rule "{where}" has an empty or broken template: "{text}".')
        return parts[0] if len(parts) == 1 else tuple(parts)

    def slot(self, name: str, words: str | None, form: str | None, where: str) -> Part:
        key, capital, form = name.lower(), name[0].isupper(), form or ""
        if key in _HERO:
            key, form = "hero", key
        if words or (key in self.classes):
            group = self.known_class(words or key, where)
            shown = self.look(group, form, capital)
            label = f"{key}:{words}" if words else key
            draw = Draw(label, group, _wheel(tuple(group.weights)), key if words else None, shown)
            self.draws.append(draw)
            return draw
        if key in self.variables:
            group = self.known_class(self.variables[key], where)
            return Recall(key, group, self.look(group, form, capital))
        if name in self.sources and not form:
            return self.rule(name)
        raise ValueError(f'the rule "{where}" has a slot that nothing fills: {{{name}}}.')

    def known_class(self, name: str, where: str) -> WordClass:
        if name not in self.classes:
            raise ValueError(f'the rule "{where}" asks for the word class "{name}", unknown here.')
        return self.classes[name]

    def look(self, group: WordClass, form: str, capital: bool) -> tuple[Part, ...]:
        """Return what each entry of a class looks like in one form."""
        key = group.name, form, capital
        if key not in self.looks:
            label = f"{group.name}.{form}"
            shown = []
            for entry in group.entries:
                if form not in entry:
                    raise ValueError(f'{entry} of the class "{group.name}" has no form "{form}".')
                texts = [text[0].upper() + text[1:] if capital else text for text in entry[form]]
                one = len(texts) == 1
                shown.append(
                    self.sequence(texts[0], label)
                    if one
                    else self.choice(label, texts, [1] * len(texts))
                )
            self.looks[key] = tuple(shown)
        return self.looks[key]


@cache
def _wheel(weights: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(i for i, weight in enumerate(weights) for _ in range(weight))
