"""What a lesson shows, beside what is committed: which differences count, and how they are told."""

import base64
import struct

import pytest
from nbformat import NotebookNode, v4

from compare import differences


def cell(*outputs, source="print(1)\nx", tags=()):
    metadata = {"tags": list(tags)} if tags else {}
    return v4.new_code_cell(source, outputs=list(outputs), metadata=metadata)


def printed(text):
    return v4.new_output("stream", name="stdout", text=text)


def picture(alt, width=2, height=1):
    data = base64.b64encode(b"-" * 16 + struct.pack(">II", width, height)).decode()
    return v4.new_output("display_data", {"image/png": data}, metadata={"image/png": {"alt": alt}})


def between(old, new, tags=()):
    """The sentences about one cell that showed `old` and shows `new`."""
    return differences(*(NotebookNode(cells=[cell(shown, tags=tags)]) for shown in (old, new)))


@pytest.mark.parametrize(
    "old, new",
    [
        ("rank 0: 12 messages", "rank 0: 13 messages"),
        ("rank 0 waits", "rank 0 computes"),
        ("loss 2.416", "loss 2.421"),
        ("1.0e-03", "1.3e-03"),
        ("1,024 tokens", "1,025 tokens"),
        ("a line", "a line\nand one more"),
        ("loss 2.4", "loss 2.4 and 3"),
    ],
)
def test_a_change_is_told_with_its_cell_and_both_texts(old, new):
    (said,) = between(printed(old), printed(new))
    assert said.startswith("code cell 1, `print(1)`: committed is ")
    assert repr(old) in said and said.endswith(f"it shows {new!r}")
    for tag in ("time", "training"):
        assert between(printed(old), printed(new), tags=[tag]) == []


@pytest.mark.parametrize(
    "old, new",
    [
        ("loss 2.416", "loss 2.417"),
        ("loss 5.81, 547,648 numbers", "loss 5.82, 547,648 numbers"),
        ("largest difference 7.5e-08", "largest difference 0"),
        ("differ by less than: 4.8e-07, below 1e-4", "differ by less than: 0, below 1e-4"),
        ("measured 38 (-0.1%, at most 5%)", "measured 38 (+0.0%, at most 5%)"),
    ],
)
def test_what_another_processor_rounds_is_no_change(old, new):
    assert between(printed(old), printed(new)) == []


def test_the_seconds_of_a_check_are_no_change():
    def checked(verdict, seconds):
        html = f"<b>{verdict}</b> <small>{seconds} s</small>"
        data = {"text/plain": f"TR-1  {verdict}  ({seconds} s)", "text/html": html}
        output = v4.new_output("execute_result", data)
        return NotebookNode(cells=[cell(output, source='check("TR-1")')])

    assert differences(checked("PASS", 6.9), checked("PASS", 42.0)) == []
    assert len(differences(checked("PASS", 6.9), checked("FAIL", 6.9))) == 1


def test_a_difference_far_down_is_shown_with_what_is_around_it():
    long = "all is well\n" * 1000
    (said,) = between(printed(long + "12 messages"), printed(long + "13 messages"))
    assert "well\\n12 messages'" in said and "well\\n13 messages'" in said and len(said) < 300


def test_a_picture_is_its_words_and_its_size():
    old = picture("It falls from 7.102 to 5.8.")
    assert between(old, picture("It falls from 7.103 to 5.8.")) == []
    (said,) = between(old, picture("It rises from 7.102 to 5.8."))
    assert "committed is 'It falls from 7" in said and "it shows 'It rises from 7" in said
    (said,) = between(old, picture("It falls from 7.102 to 5.8.", height=3))
    assert "by 1 pixels" in said and "by 3 pixels" in said


@pytest.mark.parametrize("tags", [(), ("time",)])
def test_an_output_that_is_gone_or_of_another_kind_counts_with_every_tag(tags):
    (said,) = between(printed("0.3 s"), picture("0.3 s"), tags)
    assert said.endswith("committed is 'stdout', it shows 'image/png'")
    old, new = (v4.new_notebook(cells=[c]) for c in (cell(printed("0.3 s")), cell(tags=tags)))
    (said,) = differences(old, new)
    assert said.endswith("committed is 'stdout', it shows 'nothing'")
