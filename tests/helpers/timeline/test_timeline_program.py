import json

from helpers.timeline.__main__ import main
from helpers.trace.examples import pipeline


def test_the_program_makes_a_page(tmp_path, capsys):
    path = pipeline().save(tmp_path / "step.json")
    page = tmp_path / "step.html"
    assert main([str(path), "-o", str(page)]) == 0
    out = capsys.readouterr().out
    assert "GPipe, 4 stages, 6 micro-batches, 291 ms" in out and str(page) in out
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_file_that_is_no_trace_gets_one_sentence(tmp_path, capsys):
    path = tmp_path / "step.json"
    path.write_text("{}")
    assert main([str(path)]) == 1
    assert capsys.readouterr().err.startswith("error: ")
    assert main([str(tmp_path / "missing.json")]) == 1
    assert "cannot read the trace" in capsys.readouterr().err


def test_of_a_profile_it_draws_three_lanes_where_asked(tmp_path, capsys):
    rows = [("ProfilerStep#1", 0, 100), ("input", 0, 20), ("forward", 20, 95), ("aten::mm", 20, 90)]
    events = [
        {"ph": "X", "name": name, "cat": "user_annotation", "ts": a, "dur": b - a, "pid": 1}
        for name, a, b in rows
    ]
    events[3]["cat"] = "cpu_op"
    profile = {"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": events}
    path, page = tmp_path / "profile.json", tmp_path / "profile.html"
    path.write_text(json.dumps(profile))
    assert main([str(path), "--lanes", "-o", str(page)]) == 0
    assert "aten::mm" not in page.read_text(encoding="utf-8")
    assert page.stat().st_size > 10_000
