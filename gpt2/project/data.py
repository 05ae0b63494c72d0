"""German-English sentences: generated here, or from the hub."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from wrong_input import WrongInput

from project.grammar import translations

GENERATED = "generated"
IWSLT = "bbaaaa/iwslt14-de-en-preprocess"  # on the hub; the homework's own choice


@dataclass(frozen=True)
class Translations:
    """Three lists of {"de": …, "en": …}, without a sentence in common."""

    train: list[dict[str, str]]
    validation: list[dict[str, str]]
    test: list[dict[str, str]]


def load(
    name: str = GENERATED,
    train: int = 4000,
    held_out: int = 200,
    seed: int = 0,
    load_dataset: Callable | None = None,
) -> Translations:
    """At most `train` sentences to train on, and `held_out` each to validate and to test.

    name: "generated", or a data set on the hub, such as IWSLT, with the splits train, validation
        and test. load_dataset: the function of the library `datasets`, or one that stands in.

    Raises WrongInput: a number below 1, no library, a data set that has not both languages.
    """
    for what, number in (("train", train), ("held out", held_out)):
        if number < 1:
            raise WrongInput(f"{number} sentences to {what}: give a whole number, 1 or more")
    if name == GENERATED:
        rows = translations(train + 2 * held_out, seed)
        validation, test = rows[:held_out], rows[held_out : 2 * held_out]
        return Translations(rows[2 * held_out :], validation, test)
    splits = _from_hub(name, load_dataset)
    sizes = {"train": train, "validation": held_out, "test": held_out}
    return Translations(**{k: _both(name, k, splits, size) for k, size in sizes.items()})


def _from_hub(name: str, load_dataset: Callable | None):
    try:
        if load_dataset is None:
            from datasets import load_dataset
        return load_dataset(name)
    except (ImportError, OSError, ValueError) as error:  # no library, no network, no such data set
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise WrongInput(
            f"the data set {name!r} cannot be loaded ({first}): pip install datasets, look at its "
            f"name and at the network, or take --dataset {GENERATED}"
        ) from None


def _both(name: str, split: str, splits, size: int) -> list[dict[str, str]]:
    """Return the first sentences of one split, in both languages."""
    try:
        pairs = [row.get("translation", row) for row in islice(splits[split], size)]
        return [{language: pair[language] for language in ("de", "en")} for pair in pairs]
    except KeyError as error:
        raise WrongInput(
            f"the data set {name!r} has no {error} in {split!r}: take one with German and English, "
            "and with the splits train, validation and test"
        ) from None
