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
    if load_dataset is None:
        try:
            from datasets import load_dataset
        except ImportError:
            raise WrongInput(
                f"the data set {name!r} needs the library datasets: pip install datasets, or take "
                f"--dataset {GENERATED}, which needs no network"
            ) from None
    try:
        return load_dataset(name)
    except (OSError, ValueError) as error:  # no network, or no such data set
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise WrongInput(
            f"the data set {name!r} cannot be loaded ({first}): look at its name and at the "
            f"network, or take --dataset {GENERATED}"
        ) from error


def _both(name: str, split: str, splits, size: int) -> list[dict[str, str]]:
    """The first sentences of one split, in both languages."""
    if split not in splits:
        raise WrongInput(f"the data set {name!r} has no split {split!r}: take another data set")
    found = []
    for number, row in enumerate(islice(splits[split], size)):
        pair = row.get("translation", row)
        for language in ("de", "en"):
            if not isinstance(pair.get(language), str):
                raise WrongInput(
                    f"row {number} of {name!r}, {split}, has no text under {language!r}, only "
                    f"{', '.join(map(repr, pair)) or 'nothing'}: take a data set with German and "
                    "English"
                )
        found.append({language: pair[language] for language in ("de", "en")})
    return found
