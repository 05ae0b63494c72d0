"""The generated sentences, and the hub, by a stand-in."""

import pytest
from project.data import IWSLT, load
from project.grammar import translations
from wrong_input import WrongInput


def test_one_seed_one_list_and_no_sentence_twice():
    rows = translations(2000)
    assert rows == translations(2000) and rows != translations(2000, seed=1)
    assert len({row["de"] for row in rows}) == 2000
    assert len({row["en"] for row in rows}) > 1900


def test_articles_agree_in_both_languages():
    for row in translations(2000):
        assert not set(row["de"].lower().replace(",", "").split()) & {"none", "plural"}
        words = row["en"].lower().rstrip(".").split()
        for article, following in zip(words, words[1:], strict=False):
            if article in ("a", "an"):
                assert (article == "an") == (following[0] in "aeiou"), row


def test_splits_have_no_sentence_in_common():
    rows = load(train=300, held_out=50)
    assert [len(split) for split in (rows.train, rows.validation, rows.test)] == [300, 50, 50]
    sentences = [row["de"] for split in (rows.train, rows.validation, rows.test) for row in split]
    assert len(set(sentences)) == 400


@pytest.mark.parametrize("nested", [True, False])
def test_the_hub(nested):
    def stand_in(name):
        assert name == IWSLT
        pair = {"de": "Guten Tag.", "en": "Good day.", "more": 1}
        rows = [{"translation": pair} if nested else pair] * 30
        return {"train": rows, "validation": rows, "test": rows}

    rows = load(IWSLT, train=20, held_out=5, load_dataset=stand_in)
    assert rows.train == [{"de": "Guten Tag.", "en": "Good day."}] * 20
    assert len(rows.test) == len(rows.validation) == 5


def refuses(error):
    def load_dataset(name):
        raise error

    return load_dataset


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"train": [{"translation": {"de": "a", "fr": "b"}}]}, "has no 'en' in 'train'"),
        ({"dev": []}, "has no 'train' in 'train'"),
        (OSError("no route to host\nmore"), r"cannot be loaded \(no route to host\)"),
    ],
)
def test_a_data_set_that_does_not_fit(answer, says):
    stand_in = refuses(answer) if isinstance(answer, OSError) else lambda name: answer
    with pytest.raises(WrongInput, match=says):
        load("some/set", load_dataset=stand_in)


@pytest.mark.parametrize("sizes", [{"train": 0}, {"held_out": -1}])
def test_no_sentences(sizes):
    with pytest.raises(WrongInput, match="give a whole number, 1 or more"):
        load(**sizes)
