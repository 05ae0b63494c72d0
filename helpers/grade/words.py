"""Text for a person: nothing that a terminal obeys or a file can't hold, and not too long."""

import re

# Control characters, which a terminal obeys and XML cannot hold; marks that turn the direction of
# writing; halves of characters, which cannot be written as UTF-8.
_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def plain(text: str) -> str:
    """The text with "?" in place of each character that is more than text."""
    return _CONTROL.sub("?", text)


def in_one_line(text: str) -> str:
    """The same, with a space in place of every line end and tab: a name, a row of a table."""
    return " ".join(plain(text).split())


def cut(text: str, most: int) -> str:
    """The text, or its beginning and its end, with at most `most` characters."""
    if len(text) <= most:
        return text
    left = most - len(" […] ")
    return f"{text[: left - left // 2]} […] {text[len(text) - left // 2 :]}"


def why_not(error: Exception) -> str:
    """An error of the system as a sentence; the lab's own errors are sentences already."""
    if str(error) == "embedded null byte":
        return "a path holds a null byte; choose another name"
    if not isinstance(error, OSError) or error.strerror is None:
        return plain(str(error))
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"there is no file or folder {error.filename}"
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror}; choose another file or folder"
