"""A short case of tools/browsers.py in each browser beside Chromium that this machine has."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))
from drivers import Chromium, installed  # noqa: E402

OTHERS = [pytest.param(each, id=each.name) for each in installed() if each is not Chromium]
NONE = pytest.param(None, marks=pytest.mark.skip(reason="no Firefox and no WebKitGTK"), id="none")


@pytest.mark.parametrize("kind", OTHERS or [NONE])
def test_a_level_is_won_and_the_site_lasts_without_its_server(site, kind):
    from browsers import tried

    found = tried(kind, site[1].folder, ["the first level, mouse", "offline after a visit"])
    assert not [said for said in found.values() if "FAILED" in said], found
