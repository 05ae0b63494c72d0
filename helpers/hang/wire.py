"""An Operation as plain facts for JSON, and back; nothing that comes back is taken on trust."""

from collections.abc import Callable
from dataclasses import fields
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from helpers.hang.operation import Operation


def pack(operation: Operation) -> list:
    """The fields of an Operation in their order, for JSON."""
    return [getattr(operation, name) for name in NAMES]


def unpack(facts: Any) -> Operation:
    """The Operation that `pack` took apart. Raises ValueError where the facts are none."""
    if type(facts) is not list or len(facts) != len(NAMES):
        raise ValueError(f"an operation has {len(NAMES)} facts")
    return Operation(*(take(fact) for take, fact in zip(TAKES, facts, strict=True)))


def _taker(hint: Any) -> Callable[[Any], Any]:
    """A function that takes a fact of a type, from what JSON made of it. Raises ValueError."""
    if get_origin(hint) is UnionType:
        return _either([_taker(kind) for kind in get_args(hint)])
    if get_origin(hint) is tuple:
        kinds = get_args(hint)
        return _many(_taker(kinds[0])) if kinds[-1] is ... else _row([_taker(k) for k in kinds])
    return _plain(hint)


def _plain(kind: type) -> Callable[[Any], Any]:
    def take(fact: Any) -> Any:
        if not isinstance(fact, kind):
            raise ValueError(f"a fact must be of type {kind.__name__}")
        return fact

    return take


def _many(item: Callable[[Any], Any]) -> Callable[[Any], tuple]:
    def take(fact: Any) -> tuple:
        if type(fact) is not list:
            raise ValueError("a fact must be a list")
        return tuple([item(value) for value in fact])

    return take


def _row(items: list[Callable[[Any], Any]]) -> Callable[[Any], tuple]:
    def take(fact: Any) -> tuple:
        if type(fact) is not list or len(fact) != len(items):
            raise ValueError(f"a fact must be a list of {len(items)}")
        return tuple([item(value) for item, value in zip(items, fact, strict=True)])

    return take


def _either(kinds: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def take(fact: Any) -> Any:
        for kind in kinds:
            try:
                return kind(fact)
            except ValueError:
                continue
        raise ValueError("a fact of no type that fits")

    return take


_HINTS = get_type_hints(Operation)
NAMES = tuple(field.name for field in fields(Operation))
TAKES = tuple(_taker(_HINTS[name]) for name in NAMES)
