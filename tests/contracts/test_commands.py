"""Commands print what they always did, and nonsense gets one sentence, never a traceback.

prints.txt and refused.txt list commands, each above what is looked for. Those without ranks run in
this process, in an empty folder.
"""

import contextlib
import re
import runpy
import sys
from pathlib import Path

import pytest

from helpers.plain_errors import plain_errors
from helpers.ranks import run_script

pytestmark = pytest.mark.ranks

ROOT = Path(__file__).resolve().parents[2]


def commands(table):
    """(command, what is looked for) of each row."""
    _, _, rows = Path(__file__).with_name(table).read_text(encoding="utf-8").partition("\n\n")
    found = re.findall(r"^(\S.*)\n((?: .*\n)*)", rows, re.MULTILINE)
    return [(command, [*map(one_line, lines.splitlines())]) for command, lines in found]


def one_line(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The files that commands name as "@name"."""
    folder = tmp_path_factory.mktemp("nonsense")
    time = '{"ph": "X", "name": "F", "ts": %s, "dur": 1, "pid": 0, "tid": 0}'
    content = {
        "zero": b"",
        "noise": bytes(range(256)) * 20,
        "text": b"banana",
        "deep": b"[" * 100_000,
        "huge": ('{"traceEvents": [' + time % "1e308" + "]}").encode(),
        "step": ('{"traceEvents": [' + time % "0" + "]}").encode(),
        "program": b"print('here')",
    }
    for name, data in content.items():
        (folder / name).write_bytes(data)
    (folder / "folder").mkdir()
    return folder


@pytest.fixture
def run(files, tmp_path, monkeypatch):
    def command(line):
        environment, _, line = line.rpartition("|")
        for each in environment.split():
            monkeypatch.setenv(*each.split("="))
        line = re.sub("@", f"{files}/", line.replace("ROOT", str(ROOT))).split()
        program, *flags = line[1:] if line[0] == "-m" else line
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [program, *flags])
        monkeypatch.setattr(sys, "path", [str(ROOT / Path(program).parent), *sys.path])
        if line[0] == "-m":
            runpy.run_module(program, run_name="__main__")
        else:
            runpy.run_path(str(ROOT / program), run_name="__main__")

    return command


@pytest.mark.slow_for("gpt2/")
@pytest.mark.parametrize(("command", "lines"), commands("prints.txt"))
def test_a_command_prints_what_it_always_did(command, lines, run, capsys):
    if command[0].isdigit():
        ranks, _, script, *flags = command.split()
        report = run_script(ROOT / script, int(ranks), flags, quiet=True, timeout=400)
        said = "\n".join([str(report), *report.texts])
    else:
        with contextlib.suppress(SystemExit):  # of --help
            run(command)
        said = capsys.readouterr().out
    assert [line for line in lines if line not in one_line(said)] == []
    assert all(Path(path).is_file() for path in re.findall("^trace: (.*)", said, re.MULTILINE))


@pytest.mark.slow_for("gpt2/")
@pytest.mark.parametrize(("command", "words"), commands("refused.txt"))
def test_nonsense_is_refused_in_one_sentence(command, words, run, capfd):
    with pytest.raises(SystemExit) as ended:
        run(command)
    out, said = capfd.readouterr()
    if isinstance(ended.value.code, str):
        said += ended.value.code
    lines = [text for text in said.splitlines() if text.strip() and text[:5] != "  at "]
    assert ended.value.code not in (0, None) and "Traceback" not in said
    assert "error: " in lines[-1] and sum("error: " in text for text in lines) == 1, said
    assert len(lines) == 1 or lines[0].startswith(("usage: ", "simplellm: ")), said
    assert [each for each in words if each not in said] == []
    assert not out or not words or "became nan" in said  # that command begins to train


def test_a_mistake_in_the_code_keeps_its_traceback():
    with pytest.raises(ValueError, match="invalid literal"), plain_errors():
        int("x")
    with pytest.raises(SystemExit, match="not enough memory"), plain_errors():
        raise MemoryError
    with pytest.raises(SystemExit, match="^error: the connection to another rank broke, inside to"):
        with plain_errors():
            raise RuntimeError("[../gloo/transport/tcp/pair.cc:547] Connection closed by peer")
