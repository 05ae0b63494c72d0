"""Ranks stand still for less time before they are judged than in a lesson."""

import pytest

from helpers.ranks import supervisor


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """In lessons two seconds must pass; here the code waits in vain from the first moment."""
    monkeypatch.setattr(supervisor, "STALL_S", 0.2)
    monkeypatch.setattr(supervisor, "ASK_S", 0.05)
    monkeypatch.setattr(supervisor, "GRACE_S", 0.1)
    monkeypatch.setattr(supervisor, "ANSWER_S", 10)  # where a machine stops for a while, too
