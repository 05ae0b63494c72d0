from simplellm.stories import story
from simplellm.stories.__main__ import main, measure


def test_stories_are_printed(capsys):
    main(["2", "--seed", "3", "--skip", "1"])
    assert capsys.readouterr().out == f"{story(1, seed=3)}\n\n{story(2, seed=3)}\n\n"


def test_speed_is_measured(capsys):
    measure(count=20)
    out = capsys.readouterr().out
    assert "MB a second" in out and out.count("thousand tokens a second") == 3
