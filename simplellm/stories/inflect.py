"""English word forms by rule: a/an, plural, past tense, -ing.

The rules cover the words of this grammar. A word that breaks a rule carries its forms in the word
list itself: ``mouse>mice`` (plural), ``run>ran`` (past), ``lie>lay>lying`` (past, then -ing).
"""

_VOWELS = "aeiou"
# Written with a vowel, spoken with a consonant ("a uniform"), and the other way round ("an hour").
_SPOKEN_CONSONANT = ("uni", "use", "usu", "uku", "one", "eu")
_SPOKEN_VOWEL = ("hour", "honest", "honor")


def article(word: str) -> str:
    """Return "a" or "an", as the word that follows needs."""
    low = word.lower()
    if low.startswith(_SPOKEN_VOWEL):
        return "an"
    if low.startswith(_SPOKEN_CONSONANT):
        return "a"
    return "an" if low[0] in _VOWELS else "a"


def plural(noun: str) -> str:
    """Return the regular plural; of a phrase, the plural of its last word."""
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in _VOWELS:
        return noun[:-1] + "ies"
    return noun + "s"


def past(verb: str) -> str:
    """Return the regular past tense of a verb's first word ("pick up" -> "picked up")."""
    head, _, tail = verb.partition(" ")
    if head.endswith("e"):
        head += "d"
    elif head.endswith("y") and head[-2] not in _VOWELS:
        head = head[:-1] + "ied"
    else:
        head += head[-1] + "ed" if _doubles(head) else "ed"
    return f"{head} {tail}" if tail else head


def gerund(verb: str) -> str:
    """Return the -ing form of a verb's first word ("run home" -> "running home")."""
    head, _, tail = verb.partition(" ")
    if head.endswith("e") and not head.endswith(("ee", "oe", "ye")):
        head = head[:-1] + "ing"
    else:
        head += head[-1] + "ing" if _doubles(head) else "ing"
    return f"{head} {tail}" if tail else head


def _doubles(verb: str) -> bool:
    """Does the last letter double ("hop" -> "hopped")? One syllable, one vowel, one consonant."""
    if len(verb) < 3 or verb[-1] in _VOWELS + "wxy" or verb[-2] not in _VOWELS:
        return False
    return sum(letter in _VOWELS for letter in verb) == 1
