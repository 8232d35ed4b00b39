"""Patterns of the program mean the same to every Python: no group is repeated possessively unless
it is atomic.

CPython before 3.11.5 goes on behind what the last try of such a group had consumed before it
failed (https://github.com/python/cpython/issues/106052): `(?:x(?!y))*+` takes all of "xxy". Debian
12 has 3.11.2. `(?>x(?!y))*+` means the same, and is right there, too.
"""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from re import _constants, _parser  # type: ignore[attr-defined]  # the module's own, undocumented
from typing import Any

import oborona
from tests.peers.spark import install_spark

SIMPLE = {
    _constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN,
    _constants.ATOMIC_GROUP,
}  # fmt: skip


def patterns() -> Iterator[tuple[str, re.Pattern[Any]]]:
    for module in pkgutil.walk_packages(oborona.__path__, "oborona."):
        if "__main__" in module.name:
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, re.Pattern):
                yield f"{module.name}.{name}", value


def parts(tree: Any) -> Iterator[tuple[Any, Any]]:
    for op, argument in tree:
        yield op, argument
        for inner in argument if isinstance(argument, list | tuple) else (argument,):
            if isinstance(inner, _parser.SubPattern):
                yield from parts(inner)
            elif isinstance(inner, list):
                for branch in inner:
                    if isinstance(branch, _parser.SubPattern):
                        yield from parts(branch)


def is_safe(body: Any) -> bool:
    """Whether a body that is repeated can't fail behind what it has consumed."""
    if len(body) != 1:
        return False
    op, argument = body[0]
    return op in SIMPLE or (op is _constants.SUBPATTERN and is_safe(argument[3]))


def wrong(pattern: re.Pattern[Any]) -> bool:
    return any(
        op is _constants.POSSESSIVE_REPEAT and not is_safe(argument[2])
        for op, argument in parts(_parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))
    )


def test_what_is_repeated_possessively_is_atomic() -> None:
    install_spark()  # which one module imports
    found = list(patterns())
    assert len(found) > 150
    assert [name for name, pattern in found if wrong(pattern)] == []


def test_one_that_is_not_would_be_found() -> None:
    assert wrong(re.compile(r"(?:x(?!y))*+"))
    assert wrong(re.compile(r"a(b(?:c d){0,4}+)"))
    assert not wrong(re.compile(r"(?>x(?!y))*+[^a]++(b)?+"))
