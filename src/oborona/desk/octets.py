"""Octets in an admin's words."""

from __future__ import annotations


def size(number: int) -> str:
    """Return bytes as people read them."""
    return f"{number / (1 << 20):,.1f} MiB" if number >= 1 << 20 else f"{number / 1024:,.1f} KiB"
