"""JSON of other programs, which may be anything; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from oborona.errors import ConfigError


def read_json(raw: bytes, name: str) -> Any:
    """Return what octets of JSON say.

    Args:
        raw: the octets.
        name: of their file.

    Raises:
        ConfigError: they are no JSON, with the line.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = raw.count(b"\n", 0, fault.start) + 1
        raise ConfigError("is not UTF-8", file=name, line=line) from None
    try:
        return json.loads(text)
    except json.JSONDecodeError as fault:
        raise ConfigError(
            f"is no JSON: {fault.msg}", file=name, line=fault.lineno, column=fault.colno
        ) from None
    except (RecursionError, ValueError) as fault:  # ValueError: a number of thousands of digits
        why = "is nested too deeply" if isinstance(fault, RecursionError) else str(fault)
        raise ConfigError(why, file=name, line=1) from None


def table_of(value: Any) -> Mapping[str, Any]:
    """Return a value that should be an object; an empty one where it is none."""
    return value if isinstance(value, dict) else {}


def texts_of(value: Any) -> list[str]:
    """Return the texts of a value that may be one, or a list of them."""
    members = value if isinstance(value, list) else [value]
    return [member for member in members if isinstance(member, str)]


def number_of(value: Any) -> float | None:
    """Return a finite number that may be written as a text, or stand in `score`; else None."""
    if isinstance(value, dict):
        value = value.get("score")
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if -1e9 < number < 1e9 else None
