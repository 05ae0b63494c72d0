"""A plan from a file runs on real ranks, and the oracle judges the step that it trains."""

import pytest

from helpers.play.__main__ import main
from helpers.schedules import save_csv, zb_v

pytestmark = [pytest.mark.slow, pytest.mark.ranks]


def test_a_plan_from_torchs_csv_is_run_trained_and_judged(tmp_path, capsys):
    path = save_csv(zb_v(2, 4), tmp_path / "plan.csv")
    assert main([str(path), "--level", "v", "--run"]) == 0
    ran, trained = capsys.readouterr().out.splitlines()
    assert ran.startswith("Planned 1.50 s, measured ") and "The ranks kept [4, 4]" in ran
    assert "RIGHT: 114 tensors are those of one device" in trained
