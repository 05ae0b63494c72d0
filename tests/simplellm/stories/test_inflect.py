import pytest

from simplellm.stories.inflect import article, gerund, past


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("ball", "a"),
        ("apple", "an"),
        ("hour", "an"),
        ("honest boy", "an"),
        ("house", "a"),
        ("unicorn", "a"),
        ("uniform", "a"),
        ("umbrella", "an"),
        ("ukulele", "a"),
        ("one-eyed cat", "a"),
        ("old boot", "an"),
        ("Austrian", "an"),
    ],
)
def test_article_follows_the_sound(word, wanted):
    assert article(word) == wanted


def test_past_and_gerund_bend_the_first_word():
    assert past("walk the dog") == "walked the dog"
    assert gerund("walk the dog") == "walking the dog"
    verbs = "bake hop carry play mend pour fix rain"
    assert [past(verb) for verb in verbs.split()] == (
        "baked hopped carried played mended poured fixed rained".split()
    )
    assert [gerund(verb) for verb in verbs.split()] == (
        "baking hopping carrying playing mending pouring fixing raining".split()
    )
