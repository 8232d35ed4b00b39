"""A TOML table against a msgspec Struct: each key known, each value of its type and in its range.

The Struct is the only schema. Its fields' `Meta` carry what a reader needs: `description`,
`ge`/`le`, and in `extra`
  allowed: the words for what may stand there, where type and range do not say it;
  check: a function of the value that raises ValueError with words for an admin.
"""

from __future__ import annotations

import enum
import math
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

from oborona.errors import ConfigError
from oborona.toml.document import TomlDocument
from oborona.toml.place import TomlPlace
from oborona.toml.spelling import did_you_mean

MAX_SHOWN = 40  # characters of a wrong value repeated in an error


Check = Callable[[Any], object]


class GivenValue(NamedTuple):
    """A value that a file gives, checked, and where it stands."""

    value: Any
    place: TomlPlace


def table(
    document: TomlDocument,
    path: tuple[str | int, ...],
    schema: type[msgspec.Struct],
    *,
    name: str,
    error: type[ConfigError] = ConfigError,
) -> dict[str, GivenValue]:
    """Return the fields that a table gives, and only those.

    Args:
        document: the file.
        path: of the table in it, which must exist; () is the whole file.
        schema: the Struct whose fields are allowed; its defaults are not filled in.
        name: how errors speak of the table, such as `[worker]` or `rule GTUBE`.
        error: what to raise.

    Raises:
        ConfigError: as `error`, at the first key that is unknown or value that is not allowed.
    """
    table_value: Any = document.data
    for step in path:
        table_value = table_value[step]
    if not isinstance(table_value, Mapping):
        place = document.value(*path)
        raise error(
            f"{name} must be a table", file=place.file, line=place.line, column=place.column
        )
    values: dict[str, GivenValue] = {}
    types, checks = hints(schema), _checks(schema)
    for key, value in table_value.items():
        if key not in types:
            place = document.key(*path, key)
            problem = f"{name}: unknown key {show(key)}{did_you_mean(key, types)}"
            raise error(problem, file=place.file, line=place.line, column=place.column)
        place = document.value(*path, key)
        try:
            values[key] = GivenValue(_converted(value, types[key], checks[key]), place)
        except ValueError as fault:
            problem = f"{name}: {key} = {show(value)}: {fault}"
            raise error(problem, file=place.file, line=place.line, column=place.column) from fault
    return values


def convert(value: Any, annotation: Any, *, from_text: bool = False) -> Any:
    """Return `value` as the annotated type.

    Args:
        value: what the file or the command line holds.
        annotation: of a Struct field, `Meta` included.
        from_text: read numbers and yes/no from text, as a command line gives them.

    Raises:
        ValueError: what is allowed, in words for an admin.
    """
    return _converted(value, annotation, _extra(annotation).get("check"), from_text=from_text)


def _converted(value: Any, annotation: Any, check: Check | None, *, from_text: bool = False) -> Any:
    try:
        result = msgspec.convert(value, annotation, strict=not from_text)
    except msgspec.ValidationError as fault:
        raise ValueError(f"not allowed; {allowed(annotation)}") from fault
    if isinstance(result, float) and not math.isfinite(result):
        raise ValueError(f"not allowed; {allowed(annotation)}")
    if check is not None:
        check(result)
    return result


@cache
def hints(schema: type[msgspec.Struct]) -> Mapping[str, Any]:
    """Return the annotations of a Struct's fields, `Meta` included, in their order."""
    return typing.get_type_hints(schema, include_extras=True)


@cache
def _checks(schema: type[msgspec.Struct]) -> Mapping[str, Check | None]:
    """Return the check of each field of a Struct that has one."""
    return {key: _extra(annotation).get("check") for key, annotation in hints(schema).items()}


def allowed(annotation: Any) -> str:
    """Return what may stand in a field, in words: "a whole number, 0 to 64"."""
    if words := _extra(annotation).get("allowed"):
        return str(words)
    kind = inspect.type_info(annotation)
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    match kind:
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType(ge=low, le=high):
            return f"a whole number{_range(low, high)}"
        case inspect.FloatType(ge=low, le=high):
            return f"a number{_range(low, high)}"
        case inspect.LiteralType():
            return "one of " + ", ".join(show(value) for value in _literals(annotation))
        case inspect.EnumType(cls=names):
            return "one of " + ", ".join(show(member.value) for member in names)
        case inspect.StrType(max_length=longest):
            return f"a text of at most {longest} characters" if longest else "a text"
    return "another type"


def _literals(annotation: Any) -> tuple[Any, ...]:
    """Return a Literal's values in the order of the schema, which `inspect` does not keep."""
    while typing.get_origin(annotation) is not typing.Literal:
        annotation = typing.get_args(annotation)[0]
    return typing.get_args(annotation)


def _range(low: float | None, high: float | None) -> str:
    match (low, high):
        case (None, None):
            return ""
        case (_, None):
            return f", {low:g} or more"
        case (None, _):
            return f", at most {high:g}"
    return f", {low} to {high}"


def _extra(annotation: Any) -> dict[str, Any]:
    metas = getattr(annotation, "__metadata__", None)
    if metas is None:  # a union with UNSET hides the annotation of its first member
        members = typing.get_args(annotation)
        return _extra(members[0]) if members and hasattr(members[0], "__metadata__") else {}
    return {key: value for meta in metas if meta.extra for key, value in meta.extra.items()}


def show(value: Any) -> str:
    """Return a value as TOML would write it, cut short."""
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        text = msgspec.json.encode(value).decode() if _encodable(value) else ascii(value)
    elif isinstance(value, dict):
        text = "{...}"
    elif isinstance(value, list):
        text = "[...]"
    elif isinstance(value, int) and value.bit_length() > MAX_SHOWN * 4:
        text = "0x..."  # Python refuses to print integers of thousands of digits
    else:
        text = str(value)
    text = "".join(letter if letter.isprintable() else "?" for letter in text[: MAX_SHOWN * 2])
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "..."


def _encodable(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)
