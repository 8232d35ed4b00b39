"""Bits that say which messages: in octets, the lowest bit first; by the native core where it was
built (docs/adr/0063-a-native-core.md).
"""

from __future__ import annotations

from contextlib import suppress


def common_bits(left: bytes, right: bytes, /) -> bytes:
    """Return the bits that are in both, as far as the shorter one goes; empty where none is.

    The twin of the native core's.
    """
    length = min(len(left), len(right))
    common = int.from_bytes(left[:length], "little") & int.from_bytes(right[:length], "little")
    return common.to_bytes(length, "little") if common else b""


twin_of_common_bits = common_bits
with suppress(ImportError):  # where it could not be built, its twin does the same
    from oborona._core import common_bits


def any_bits(left: bytes, right: bytes) -> bytes:
    """Return the bits that are in one of both."""
    if not left or not right:
        return left or right
    most = max(len(left), len(right))
    return (int.from_bytes(left, "little") | int.from_bytes(right, "little")).to_bytes(
        most, "little"
    )
