import pytest

from simplellm.stories.words import read_words


def read(text):
    classes = {}
    read_words(text, "words_test.txt", classes)
    return classes


def test_forms_and_features():
    classes = read(
        "toy (noun)\n  ball, mouse>mice\n"
        "animal (noun)\n  owl | home: the barn; a tree | cry: hoots\n"
    )
    ball, mouse = classes["toy"].entries
    assert ball == {"": ["ball"], "a": ["a ball"], "s": ["balls"]}
    assert mouse["s"] == ["mice"]
    (owl,) = classes["animal"].entries
    assert owl["home"] == ["the barn", "a tree"] and owl["cry"] == ["hoots"]
    assert owl["a"] == ["an owl"]


def test_irregular_verbs_carry_their_forms():
    run, lie, bake = read("move (verb)\n  run>ran, lie>lay>lying, bake\n")["move"].entries
    assert (run["ed"], run["ing"]) == (["ran"], ["running"])
    assert (lie["ed"], lie["ing"]) == (["lay"], ["lying"])
    assert bake["ed"] == ["baked"]


def test_a_class_opened_twice_is_joined_and_keeps_its_pronouns():
    person = read("person (he)\n  Tom\nperson (she)\n  Ann\n")["person"]
    tom, ann = person.entries
    assert (tom["he"], tom["his"], tom["named"]) == (["he"], ["his"], ["boy named Tom"])
    assert (ann["he"], ann["his"], ann["him"], ann["child"]) == (
        ["she"],
        ["her"],
        ["her"],
        ["girl"],
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("  ball\n", "line 1: words before the first class"),
        ("Toy!\n  ball\n", 'line 1: "Toy!" does not open a word class'),
        ("toy (nuon)\n  ball\n", "does not open a word class"),
        ("toy\n  ball | home\n", 'the feature "home" needs a name, a colon and a text'),
    ],
)
def test_a_broken_list_names_its_line(text, sentence):
    with pytest.raises(ValueError) as caught:
        read(text)
    assert sentence in str(caught.value) and "words_test.txt" in str(caught.value)
