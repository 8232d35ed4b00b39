"""Texts of strangers in answers: what is no Unicode stands there as an escape, for JSON has no
other way.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

_Answer = TypeVar("_Answer", bound=msgspec.Struct)


def encodable(answer: _Answer) -> _Answer:
    """Return an answer that JSON can carry; almost always the very same."""
    try:
        msgspec.json.encode(answer)
    except UnicodeEncodeError:
        return msgspec.convert(escaped(msgspec.to_builtins(answer)), type(answer))
    return answer


def escaped(value: Any) -> Any:
    """Return plain data with what in its texts is no Unicode as escapes."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {escaped(name): escaped(member) for name, member in value.items()}
    return [escaped(member) for member in value] if isinstance(value, list | tuple) else value
