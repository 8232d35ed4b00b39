"""Which page a path leads to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote

from oborona.console.declaration import PageDeclaration

MAX_SEGMENTS: Final = 12

Segments = tuple[str, ...]


class RouteTable:
    """Finds pages; a path without parts goes before one with them.

    Args:
        pages: all there are.
    """

    def __init__(self, pages: Iterable[PageDeclaration]) -> None:
        self._plain: dict[Segments, dict[str, PageDeclaration]] = {}
        self._parts: dict[Segments, dict[str, PageDeclaration]] = {}
        for one in pages:
            table = self._parts if "{" in one.path else self._plain
            table.setdefault(tuple(one.path.split("/")), {})[one.method] = one

    def find(self, raw_path: str) -> tuple[dict[str, PageDeclaration], dict[str, str]]:
        """Return the pages of a path by method, and its parts; none where it leads nowhere.

        Args:
            raw_path: as it came, not decoded.
        """
        if raw_path.count("/") > MAX_SEGMENTS:
            return {}, {}
        segments = tuple(unquote(segment) for segment in raw_path.split("/"))
        if segments in self._plain:
            return self._plain[segments], {}
        for pattern, methods in self._parts.items():
            parts = _fit(pattern, segments)
            if parts is not None:
                return methods, parts
        return {}, {}

    def knows(self, raw_path: str, method: str = "GET") -> bool:
        """Return whether a path leads to a page."""
        return method in self.find(raw_path)[0]


def _fit(pattern: Segments, segments: Segments) -> dict[str, str] | None:
    if len(pattern) != len(segments):
        return None
    parts = {}
    for wanted, segment in zip(pattern, segments, strict=True):
        if wanted.startswith("{") and segment:
            parts[wanted[1:-1]] = segment
        elif wanted != segment:
            return None
    return parts
