"""German and English sentences with one meaning, drawn from a small grammar.

What a translator must learn here: der, die and das; the accusative; endings of adjectives; the
verb second after a word of time, and last behind a modal verb, a participle or weil.
"""

import random
from dataclasses import dataclass
from functools import cache

from project.words import ADJECTIVES, LIVING, MODALS, NOUNS, TIMES, VERBS, rows

# article and ending of the adjective: (definite, case, gender or plural)
DEFINITE = {
    "nominative": {"m": "der e", "f": "die e", "n": "das e", "plural": "die en"},
    "accusative": {"m": "den en", "f": "die e", "n": "das e", "plural": "die en"},
}
INDEFINITE = {
    "nominative": {"m": "ein er", "f": "eine e", "n": "ein es"},
    "accusative": {"m": "einen en", "f": "eine e", "n": "ein es"},
}
tables = cache(rows)


@dataclass(frozen=True)
class Pair:
    """A piece of a sentence in both languages. plural: what the verb must agree with."""

    de: str
    en: str
    plural: bool = False


def noun_phrase(draw: random.Random, case: str) -> Pair:
    """An article, often an adjective, a noun: "den alten Hund", "the old dog"."""
    nouns = tables(NOUNS)[: LIVING if case == "nominative" else None]
    german, gender, german_plural, english, english_plural = draw.choice(nouns)
    plural, definite = draw.random() < 0.3, draw.random() < 0.6
    if plural:
        gender, german, english, definite = "plural", german_plural, english_plural, True
    article, ending = (DEFINITE if definite else INDEFINITE)[case][gender].split()
    adjective, meaning = ("", "")
    if draw.random() < 0.5:
        stem, meaning = draw.choice(tables(ADJECTIVES))
        adjective = f"{stem}{ending} "
        meaning += " "
    following = meaning or english
    the = "the" if definite else "an" if following[0] in "aeiou" else "a"
    return Pair(f"{article} {adjective}{german}", f"{the} {meaning}{english}", plural)


def clause(draw: random.Random, subordinate: bool = False, time: Pair | None = None) -> Pair:
    """A subject, a verb, an object. time: the word of time that stands first in German."""
    subject, target = noun_phrase(draw, "nominative"), noun_phrase(draw, "accusative")
    many = subject.plural
    infinitive, he, participle, to, he_en, done = draw.choice(tables(VERBS))
    form = draw.choice(("present", "modal", "perfect"))
    if form == "present":
        finite, last, english = (infinitive if many else he), "", (to if many else he_en)
    elif form == "modal":
        one, all_, one_en, all_en = draw.choice(tables(MODALS))
        finite, last, english = (all_ if many else one), infinitive, one_en
        english = f"{all_en if many else one_en} {to}"
    else:
        finite, last = ("haben" if many else "hat"), participle
        english = f"{'have' if many else 'has'} {done}"
    if subordinate:
        german = (subject.de, target.de, last, finite)
    elif time:
        german = (time.de, finite, subject.de, target.de, last)
    else:
        german = (subject.de, finite, target.de, last)
    before = f"{time.en} " if time else ""
    return Pair(" ".join(filter(None, german)), f"{before}{subject.en} {english} {target.en}")


def sentence(draw: random.Random) -> Pair:
    """One sentence in both languages."""
    time = Pair(*draw.choice(tables(TIMES))) if draw.random() < 0.4 else None
    whole = clause(draw, time=time)
    if draw.random() < 0.2:
        reason = clause(draw, subordinate=True)
        whole = Pair(f"{whole.de}, weil {reason.de}", f"{whole.en} because {reason.en}")
    return Pair(*(text[0].upper() + text[1:] + "." for text in (whole.de, whole.en)))


def translations(count: int, seed: int = 0) -> list[dict[str, str]]:
    """`count` different sentences as {"de": …, "en": …}; one seed, one list."""
    draw, found = random.Random(seed), {}
    while len(found) < count:
        pair = sentence(draw)
        found[pair.de] = pair.en
    return [{"de": german, "en": english} for german, english in found.items()]
