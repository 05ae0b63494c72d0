"""`make claims`: every claim of the committed lessons, the wide ones first."""

import re

from claims import main


def test_each_claim_is_listed_and_a_wide_one_gives_its_reason(capsys):
    assert main([]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    claims, wide = map(int, re.findall(r"\d+", last)[:2])
    assert claims == len(lines) > 100 > wide > 0
    assert all(re.search(r"at most \d+%: \w", line) for line in lines[:wide])
    assert not any(re.search(r"at most \d+%: ", line) for line in lines[wide:])


def test_one_lesson_alone(capsys):
    assert main(["02"]) == 0
    assert capsys.readouterr().out.startswith("02 rank 0 says: ")
