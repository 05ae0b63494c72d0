"""The puzzles are an import root of their own: these tests run in a process of their own."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "puzzles"), str(Path(__file__).parent)]


@pytest.fixture(autouse=True)
def no_profile_of_the_users(monkeypatch):
    monkeypatch.delenv("PUZZLES_PROFILE", raising=False)
