"""Nonsense at every endpoint is answered with one sentence, and the host goes on."""

import json
import random
import socket
import struct

import pytest

from .hosting import CODE, PAGE, ask, delivery, hosted, joined, table

SENTENCE = 200  # characters at most


@pytest.fixture
def port(tmp_path):
    with hosted(table(tmp_path)) as (port, _):
        yield port


def is_a_sentence(data):
    said = data.decode()
    return said.endswith("\n") and said.count("\n") == 1 and 10 < len(said) < SENTENCE


def nonsense(count=200, seed=3):
    """Return so many bodies: bytes, JSON of every kind, and payloads with something wrong."""
    draw, good = random.Random(seed), delivery()
    values = [None, True, -1, 1e308, "x" * 99, [], {}, "\x00", 2**70, "ABCDEF", "\u202e"]
    for n in range(count):
        if n % 4 == 0:
            yield draw.randbytes(draw.randrange(1500))
        elif n % 4 == 1:
            names = ["code", "name", "speed", "doing", "part", "ticket", "__metadata__"]
            yield json.dumps({name: draw.choice(values) for name in names}).encode()
        elif n % 4 == 2:
            data = bytearray(good)
            for _ in range(3):
                data[draw.randrange(len(data))] = draw.randrange(256)
            yield bytes(data[: draw.choice([len(data), draw.randrange(len(data))])])
        else:
            header = draw.choice([b"[" * 900, b"{}" * 9, b'{"a":' * 90, b"null", b"\xff" * 30])
            yield struct.pack("<Q", draw.choice([len(header), 2**60, 0])) + header + bytes(9)


ENDPOINTS = [("POST", "/join"), ("POST", "/beat"), ("POST", "/deliver"), ("GET", "/merged"),
             ("GET", "/weights"), ("GET", "/checkpoint"), ("GET", f"/{PAGE}/"),
             ("GET", f"/{PAGE}/state"), ("POST", "/nowhere")]  # fmt: skip


@pytest.mark.parametrize("verb, path", ENDPOINTS, ids=lambda found: found.strip("/") or "page")
def test_two_hundred_nonsense_bodies(tmp_path, verb, path):
    found = table(tmp_path)
    found.roster.laptops.clear()
    with hosted(found) as (port, _):
        laptop = joined(port)
        known = found.roster.by_secret[laptop["secret"]]
        for n, body in enumerate(nonsense()):
            known.bucket.left = 80  # its limit has a test of its own
            where = f"{path}?part={body[:9].hex()}&ticket=%00%ff" if n % 3 == 0 else path
            status, data = ask(port, verb, where, body, laptop["secret"])
            assert status < 500, (status, data)
            assert status < 400 or is_a_sentence(data), (status, data)
        known.bucket.left = 80
        assert ask(port, "GET", "/weights", secret=laptop["secret"])[0] == 200
        found.tick()
        assert float(abs(found.merges.weights).max()) < 1e3


@pytest.mark.parametrize("verb, path", ENDPOINTS[1:5], ids=lambda found: found.strip("/"))
def test_without_a_secret_nothing_is_answered(port, verb, path):
    status, data = ask(port, verb, path, secret="guess")
    assert status == 401 and is_a_sentence(data)


def test_a_model_is_for_the_class_alone(port):
    assert ask(port, "GET", "/checkpoint")[0] == 403
    assert ask(port, "GET", "/checkpoint?code=XXXXXX")[0] == 403
    assert ask(port, "GET", f"/checkpoint?code={CODE}")[0] == 200
    assert ask(port, "GET", "/checkpoint", secret=joined(port)["secret"])[0] == 200


def test_another_verb_is_refused(port):
    for verb, path in ENDPOINTS[:-1]:
        status, data = ask(port, {"GET": "POST", "POST": "GET"}[verb], path, secret="x")
        assert status == 405 and is_a_sentence(data)
    assert ask(port, "DELETE", "/join")[0] == 405


def say(port, *pieces):
    """Send bytes and return what comes until the other side closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        for piece in pieces:
            connection.sendall(piece)
        found = b""
        while more := connection.recv(65536):
            found += more
    return found


def test_a_body_that_is_too_long_is_refused_before_it_is_read(port):
    secret = joined(port)["secret"].encode()
    for path, length in ((b"/deliver", 10**9), (b"/join", 2001), (b"/beat", 2001)):
        head = b"POST " + path + b" HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + secret
        said = say(port, head + b"\r\nContent-Length: %d\r\n\r\n" % length)
        assert b" 413 " in said.splitlines()[0] and b"at most" in said
        said = say(port, head + b"\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
        assert b" 411 " in said.splitlines()[0] and b"Content-Length is missing" in said


def test_what_is_not_http_ends_its_connection_and_nothing_else(port):
    draw = random.Random(1)
    for _ in range(50):
        assert b" 200 " not in say(port, draw.randbytes(500) + b"\r\n\r\n")[:20]
    say(port, b"GET / HTTP/1.1\r\nX: " + b"y" * 20000)
    assert joined(port)["number"] == 0


def test_one_that_floods_is_told_to_wait_and_others_are_not(port):
    loud, calm = joined(port), joined(port, "calm")
    found = [ask(port, "GET", "/weights", secret=loud["secret"]) for _ in range(150)]
    assert {status for status, _ in found} == {200, 429}
    told = {data for status, data in found if status == 429}
    assert told == {b"too many requests: wait a second\n"}
    assert ask(port, "GET", "/weights", secret=calm["secret"])[0] == 200


def test_an_error_of_the_host_itself_shows_no_traceback(tmp_path, monkeypatch):
    found = table(tmp_path)
    monkeypatch.setattr(found, "weights", lambda: 1 / 0)
    with hosted(found) as (port, _):
        status, data = ask(port, "GET", "/weights", secret=joined(port)["secret"])
        assert status == 500 and is_a_sentence(data) and b"Error:" not in data


def test_after_the_end_there_is_only_the_checkpoint(tmp_path):
    found = table(tmp_path)
    with hosted(found) as (port, end):
        secret = joined(port)["secret"]
        end()
        while not found.ended:
            pass
        status, data = ask(port, "GET", "/weights", secret=secret)
        assert status == 410 and is_a_sentence(data)
        assert ask(port, "POST", "/deliver", delivery(), secret)[0] == 410
        assert ask(port, "GET", "/checkpoint", secret=secret)[0] == 200


def test_the_page_is_behind_its_secret_and_fetches_nothing_from_elsewhere(port):
    joined(port, "<script>alert(1)")
    status, page = ask(port, "GET", f"/{PAGE}/")
    assert status == 200 and ask(port, "GET", "/")[0] == 404
    for name in ("together.css", "together.js"):
        assert name.encode() in page
        status, text = ask(port, "GET", f"/{PAGE}/{name}")
        assert status == 200 and b"var(--palette" not in text and b"innerHTML" not in text
        assert not [line for line in text.splitlines() if b"//" in line and b"w3.org" not in line
                    and not line.strip().startswith(b"//") and b"; //" not in line]  # fmt: skip
    seen = json.loads(ask(port, "GET", f"/{PAGE}/state")[1])
    assert [one["name"] for one in seen["laptops"]] == ["<script>alert(1)"]
    assert seen["line"] == "join" and seen["laptops"][0]["doing"] == "starting"
