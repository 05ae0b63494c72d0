"""The page and the server of the game, and its widget, without a browser."""

import json
import re
import threading
import urllib.error
import urllib.request

import pytest

from helpers.play.__main__ import main, server, steady
from helpers.play.page import asset, module_text, page
from helpers.play.widget import play
from helpers.record import noted


@pytest.fixture(scope="module")
def address():
    made, address = server()
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield address
    made.shutdown()
    made.server_close()


def test_the_page_fetches_nothing_from_elsewhere(address):
    with urllib.request.urlopen(address) as got:
        text = got.read().decode()
    assert text == page(asset("served.js")) and "mountPlay" in text
    assert "import " not in module_text() and "src=" not in text and "url(" not in text
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]


def test_only_who_knows_the_secret_is_answered(address):
    def status(url, data=None):
        try:
            return urllib.request.urlopen(url, data).status
        except urllib.error.HTTPError as error:
            return error.code

    question = json.dumps({"do": "open", "level": "one"}).encode()
    assert status(address + "ask", question) == 200
    assert status(address.rsplit("/", 2)[0] + "/guess/ask", question) == 404
    assert status(address.rsplit("/", 2)[0] + "/") == 404
    assert status(address + "ask", b"no json") == status(address + "ask", b"[1]") == 400


def test_the_game_has_the_same_address_each_time_and_says_when_it_cannot(capsys):
    first, address = server()  # a port that is free
    first.server_close()
    port = first.server_address[1]
    again, address = steady(port)
    assert address.startswith(f"http://127.0.0.1:{port}/") and capsys.readouterr().out == ""
    other, elsewhere = steady(port)
    assert not elsewhere.startswith(f"http://127.0.0.1:{port}/")
    assert capsys.readouterr().out.startswith(f"port {port} is taken, so this page doesn't know")
    again.server_close()
    other.server_close()


def test_the_widget_answers_and_keeps_progress(monkeypatch, tmp_path):
    monkeypatch.setenv("LAB_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.delenv("LAB_STATIC", raising=False)
    game, said = play("cap"), []
    game.send = said.append
    game._heard(game, {"ask": 7, "from": "a", "question": {"do": "open", "level": "cap"}}, [])
    assert said[0]["answer"] == 7 and said[0]["said"]["level"]["id"] == "cap"
    game._heard(game, {"keep": {"level": "cap", "best": 16.0, "helped": False}}, [])
    assert noted("levels")["cap"] == {"best": 16.0, "helped": False}
    assert play().progress["cap"]["best"] == 16.0
    assert "<svg" in game.picture().svg()


def test_a_wrong_level_is_said_at_once():
    with pytest.raises(ValueError, match="there's no level 'capp': choose one of one, gpipe, cap"):
        play("capp")
    with pytest.raises(ValueError, match="ranks: choose from 1 to 8, not ranks=0"):
        play(ranks=0)


def test_the_program_says_what_is_wrong_with_a_file(capsys, tmp_path):
    assert main([str(tmp_path / "none.csv"), "--run"]) == 1
    assert "none.csv" in capsys.readouterr().err
