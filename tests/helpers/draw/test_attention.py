from helpers.draw.attention import looks
from helpers.draw.picture import Text


def test_each_weight_stands_below_its_token_and_what_is_not_yet_read_has_none(check_layout):
    tokens = ["a", " girl", " named", " Lily", ".", " She"]
    picture = looks(tokens, {"one": [0.02, 0.9, 0, 0, 0.08], "two": [0, 0, 0, 1, 0]}, "It")
    check_layout(picture)
    shares = [s.text for s in picture.canvas.shapes if isinstance(s, Text) and "%" in s.text]
    assert shares == ["90 %", "8 %", "100 %"]
    assert "one: '.' looks at 'girl' 90 %, '.' 8 %" in picture.alt
