"""German-English sentences: generated here, or from the hub."""

from collections import namedtuple
from itertools import islice

from wrong_input import WrongInput

from project.grammar import translations

GENERATED = "generated"
IWSLT = "bbaaaa/iwslt14-de-en-preprocess"  # on the hub; the homework's own choice

# Three lists of {"de": …, "en": …}, without a sentence in common.
Translations = namedtuple("Translations", "train validation test")


def load(name=GENERATED, train=4000, held_out=200, seed=0):
    """Return at most `train` sentences to train on, and `held_out` each to validate and to test.

    name: "generated", or a data set on the hub, such as IWSLT, with the splits train, validation
        and test.

    Raises WrongInput: no library, a data set that has not both languages.
    """
    if name == GENERATED:
        rows = translations(train + 2 * held_out, seed)
        return Translations(rows[2 * held_out :], rows[:held_out], rows[held_out : 2 * held_out])
    try:
        from datasets import load_dataset

        splits = load_dataset(name)
    except (ImportError, OSError, ValueError) as error:  # no library, no network, no such data set
        first = (str(error).splitlines() or [type(error).__name__])[0]
        told = "pip install datasets, look at its name and at the network, or take --dataset"
        sentence = f"the data set {name!r} cannot be loaded ({first}): {told} {GENERATED}"
        raise WrongInput(sentence) from None
    found = {}
    for split, size in {"train": train, "validation": held_out, "test": held_out}.items():
        try:
            pairs = [row.get("translation", row) for row in islice(splits[split], size)]
            found[split] = [{"de": pair["de"], "en": pair["en"]} for pair in pairs]
        except KeyError as error:
            told = "take one with German and English, split into train, validation and test"
            raise WrongInput(f"{name!r} has no {error} in {split!r}: {told}") from None
    return Translations(**found)
