import pytest

from helpers.schedules import SCHEDULES
from helpers.simulate import OutOfMemory
from helpers.timeline import explore
from helpers.timeline.settings import CONTROLS, Settings, controls


def ask(explorer, number, **changes):
    """What the page does when a slider moves."""
    return dict(explorer.ask(number, explorer.settings.named() | changes))


def test_it_starts_with_what_it_is_given_and_shows_the_simulated_step(unpacked):
    explorer = explore(schedule="GPipe", ranks=2, micro_batches=3, latency=1)
    done = Settings(schedule="GPipe", ranks=2, micro_batches=3, latency=1).simulated()
    assert explorer.simulated.step_time == done.step_time == pytest.approx(0.122)
    (rows,) = unpacked(explorer.data["head"], explorer.data["body"])
    assert len(rows) == len(explorer.trace.events)
    assert explorer.title == "GPipe: 2 ranks, 2 stages, 3 micro-batches, 122 ms: bubble 26 %"
    assert "rank 0 computes" in explorer.alt


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_schedule_answers(name):
    data = ask(explore(ranks=3, micro_batches=4), 7, schedule=name, waves=2, chunks=3)
    assert (data["id"], data["problem"]) == (7, "")
    assert data["head"]["parts"][0]["ranks"] == [0, 1, 2]


def test_what_cannot_run_is_answered_with_its_sentence_and_the_step_stays():
    explorer = explore()
    before = explorer.simulated
    data = ask(explorer, 3, limit=100)
    assert data["id"] == 3
    assert data["problem"].startswith("rank 0, position 1: 0F1 needs 200 MB of activations")
    assert explorer.simulated is before and explorer.settings.limit is None
    assert ask(explorer, 4)["problem"] == ""


def test_one_sentence_for_what_there_is_not():
    with pytest.raises(
        TypeError, match=r"explore\(\) has no setting 'stages': choose from schedule"
    ):
        explore(stages=4)
    with pytest.raises(ValueError, match="no schedule 'gpipe': choose one of 'naive', 'GPipe'"):
        explore(schedule="gpipe")
    with pytest.raises(ValueError, match="a schedule of 0 micro-batches"):
        explore(micro_batches=0)
    with pytest.raises(OutOfMemory, match="the limit is 100 MB"):
        explore(limit=100)


def test_each_setting_has_one_control_and_every_start_has_its_place_on_it():
    assert [control.key for control in CONTROLS] == list(Settings().named())
    for row in controls(Settings(forward=12.5, bandwidth=None, limit=150)):
        assert row["value"] in row["values"]
        numbers = [value for value in row["values"] if isinstance(value, int | float)]
        assert numbers == sorted(numbers)
        assert None not in row["values"][:-1]


def test_an_explorer_is_saved_as_it_is_now(tmp_path):
    explorer = explore(ranks=2, micro_batches=2)
    ask(explorer, 1, micro_batches=3)
    assert "3 micro-batches" in explorer.save(tmp_path / "now.svg").read_text()
    assert "3 micro-batches" in explorer.save(tmp_path / "now.html").read_text()
