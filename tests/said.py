"""What somebody is told whose input is wrong."""

import pytest


def said(work, *args, error=ValueError, **how) -> str:
    """Return the one sentence by which `work` is refused."""
    with pytest.raises(error) as caught:
        work(*args, **how)
    assert "\n" not in str(caught.value)
    return str(caught.value)
