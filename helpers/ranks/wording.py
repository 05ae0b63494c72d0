"""The text of an error of somebody else's program: short enough to be read, on one line."""

LONGEST = 2_000  # characters of an error's text that are shown
LONGEST_TRACEBACK = 50_000


def text_of(error: BaseException) -> str:
    """What an error says, on one line; an error that can't be turned into text has some too."""
    try:
        text = str(error)
    except Exception as second:  # __str__ is the program's own
        return f"(no text: its __str__ raised {type(second).__name__})"
    return cut(" ".join(text.split()), LONGEST)


def cut(text: str, most: int) -> str:
    """A text with its middle left out where it is longer than `most` characters."""
    if len(text) <= most:
        return text
    begin, end = most - most // 4, most // 4
    return f"{text[:begin]} … ({len(text) - most:,} characters left out) … {text[-end:]}"


def seconds(value: float) -> str:
    """A time limit as one says it: "60 s" for 59.9999."""
    return f"{round(value, 1) if value >= 1 else value:g} s"
