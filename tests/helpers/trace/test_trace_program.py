"""python -m helpers.trace"""

import pytest

from helpers.trace import Trace
from helpers.trace.__main__ import main
from helpers.trace.examples import data_parallel


@pytest.fixture
def folder(tmp_path):
    whole = data_parallel()
    for rank in whole.ranks:
        Trace(whole.events_of(rank)).save(tmp_path / "ranks" / f"rank{rank}.json")
    return tmp_path / "ranks"


def test_merges_and_draws_and_prints(folder, tmp_path, capsys):
    output, picture = tmp_path / "all.json", tmp_path / "all.svg"
    assert main([str(folder), "-o", str(output), "--picture", str(picture)]) == 0
    assert Trace.load(output).ranks == [0, 1, 2]
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "30 events on 3 ranks in 0.106 s"
    assert printed[1].split() == ["rank", "busy", "waiting", "transfer", "input", "nothing"]
    assert printed[2].split() == ["0", "62.3%", "22.6%", "11.3%", "3.8%", "0.0%"]
    assert printed[-2:] == [f"trace:   {output}", f"picture: {picture}"]


def test_a_file_that_is_no_trace_is_one_sentence(tmp_path, capsys):
    (tmp_path / "x.json").write_text("{")
    assert main([str(tmp_path / "x.json")]) == 1
    assert capsys.readouterr().err == (
        f"error: {tmp_path / 'x.json'} is cut off after 1 bytes: copy it again, or run again to "
        "record it\n"
    )
