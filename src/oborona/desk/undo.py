"""How an act is taken back: the call that does it, and what that is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class UndoCall(msgspec.Struct, frozen=True, kw_only=True):
    """An act that takes another back.

    Args:
        act: its name.
        arguments: what it is told beside a reason, as its JSON has it.
    """

    act: str
    arguments: Mapping[str, Any]
