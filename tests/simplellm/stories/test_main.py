from simplellm.stories import story
from simplellm.stories.__main__ import main


def test_stories_are_printed(capsys):
    main(["2", "--seed", "3", "--skip", "1"])
    assert capsys.readouterr().out == f"{story(1, seed=3)}\n\n{story(2, seed=3)}\n\n"
