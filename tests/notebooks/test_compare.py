"""What a lesson shows, beside what is committed: which differences count, and how they are told."""

import base64
import struct

import pytest
from nbformat import NotebookNode, v4

from compare import differences


def notebook(*outputs, source="print(1)\nx", tags=()):
    metadata = {"tags": list(tags)} if tags else {}
    return NotebookNode(cells=[v4.new_code_cell(source, outputs=list(outputs), metadata=metadata)])


def printed(text):
    return v4.new_output("stream", name="stdout", text=text)


def picture(alt, height=1):
    data = base64.b64encode(b"-" * 16 + struct.pack(">II", 2, height)).decode()
    return v4.new_output("display_data", {"image/png": data}, metadata={"image/png": {"alt": alt}})


CHANGES = [
    ("rank 0: 12 messages", "rank 0: 13 messages"),
    ("rank 0 waits", "rank 0 computes"),
    ("loss 2.416", "loss 2.421"),
    ("1.0e-03", "1.3e-03"),
    ("1,024 tokens", "1,025 tokens"),
    ("a line", "a line\nand one more"),
    ("loss 2.4", "loss 2.4 and 3"),
]
ROUNDED = [  # what another processor rounds
    ("loss 2.416", "loss 2.417"),
    ("loss 5.81, 547,648 numbers", "loss 5.82, 547,648 numbers"),
    ("largest difference 7.5e-08", "largest difference 0"),
    ("differ by less than: 4.8e-07, below 1e-4", "differ by less than: 0, below 1e-4"),
    ("measured 38 (-0.1%, at most 5%)", "measured 38 (+0.0%, at most 5%)"),
]


@pytest.mark.parametrize("old, new", CHANGES)
def test_a_change_is_told_with_its_cell_and_both_texts_and_what_is_rounded_is_none(old, new):
    for one, other in ROUNDED:
        assert differences(notebook(printed(one)), notebook(printed(other))) == []
    before, now = printed(old), printed(new)
    (said,) = differences(notebook(before), notebook(now))
    assert said.startswith("code cell 1, `print(1)`: committed is ")
    assert repr(old) in said and said.endswith(f"it shows {new!r}")
    for tag in ("time", "training"):
        assert differences(notebook(before), notebook(now, tags=[tag])) == []
        for outputs, shown in (([picture(old)], "image/png"), ([], "nothing")):
            (said,) = differences(notebook(before), notebook(*outputs, tags=[tag]))
            assert said.endswith(f"committed is 'stdout', it shows {shown!r}")
    (said,) = differences(
        *(notebook(printed("all is well\n" * 1000 + text)) for text in (old, new))
    )
    assert "is well\\n" in said and len(said) < 400


def test_of_a_check_its_seconds_and_of_a_picture_its_pixels_do_not_count():
    def checked(verdict, seconds):
        html = f"<b>{verdict}</b> <small>{seconds} s</small>"
        data = {"text/plain": f"TR-1  {verdict}  ({seconds} s)", "text/html": html}
        return notebook(v4.new_output("execute_result", data), source='check("TR-1")')

    assert differences(checked("PASS", 6.9), checked("PASS", 42.0)) == []
    assert len(differences(checked("PASS", 6.9), checked("FAIL", 6.9))) == 1
    old = notebook(picture("It falls from 7.102 to 5.8."))
    assert differences(old, notebook(picture("It falls from 7.103 to 5.8."))) == []
    (said,) = differences(old, notebook(picture("It rises from 7.102 to 5.8.")))
    assert "committed is 'It falls from 7" in said and "it shows 'It rises from 7" in said
    (said,) = differences(old, notebook(picture("It falls from 7.102 to 5.8.", height=3)))
    assert "by 1 pixels" in said and "by 3 pixels" in said
