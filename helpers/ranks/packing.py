"""Send a function of the notebook by value, or say exactly why it cannot be sent."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any


class CannotSend(TypeError):
    """A function or a value cannot travel to another process; the message names the culprit."""


def pack_call(function: Callable, arguments: tuple) -> bytes:
    """The bytes of a call: the function with what it uses, and its arguments.

    Raises CannotSend, with one sentence that names the variable that cannot be sent.
    """
    import cloudpickle

    if not callable(function):
        raise CannotSend(
            f"launch() needs a function, not a {_kind(function)}: write launch(train), without "
            "calling it"
        )
    try:
        return cloudpickle.dumps((function, arguments))
    except Exception as error:
        raise CannotSend(_explain(function, arguments, error)) from None


def _explain(function: Callable, arguments: tuple, error: Exception) -> str:
    name = getattr(function, "__name__", repr(function))
    for index, value in enumerate(arguments):
        if not _travels(value):
            return f"argument {index + 1} of {name}() cannot be sent to the ranks: " + _cure(value)
    for variable, value in sorted(_outer_variables(function).items()):
        if not _travels(value):
            return f"{name}() cannot be sent to the ranks, because it uses {variable!r}: " + _cure(
                value
            )
    return f"{name}() cannot be sent to the ranks: {error}"


def _outer_variables(function: Callable) -> Mapping[str, Any]:
    """What a function uses from outside of itself: globals and the variables around it."""
    function = inspect.unwrap(function)
    if not inspect.isfunction(function):
        return {}
    found = inspect.getclosurevars(function)
    return {**found.globals, **found.nonlocals}


def _travels(value: Any) -> bool:
    import cloudpickle

    try:
        cloudpickle.dumps(value)
    except Exception:
        return False
    return True


def _cure(value: Any) -> str:
    if hasattr(value, "fileno") and hasattr(value, "read"):
        return f"it is an open file ({value.name!r}); open the file inside the function instead"
    if hasattr(value, "acquire") and hasattr(value, "release"):
        return (
            f"it is a {_kind(value)}, which means nothing in another process; make it inside the "
            "function instead"
        )
    if inspect.isgenerator(value):
        return "it is a generator; make it inside the function instead"
    return f"it is a {_kind(value)}; make it inside the function instead"


def _kind(value: Any) -> str:
    return type(value).__name__
