"""rspamd's maps: where they lie, and their keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from oborona.desk.move_in.json_files import texts_of
from oborona.desk.move_in.plan import MovePlan
from oborona.desk.move_in.plan_parts import SourcePlace
from oborona.desk.move_in.sources import SourceFolder

HOMES: Final = ("/etc/rspamd", "/var/lib/rspamd")
_KINDS: Final = re.compile(r"\A(?:(?P<kind>regexp|glob|regexp_multi|glob_multi|hash|set|radix);)?(?P<rest>.*)", re.DOTALL)  # fmt: skip
_REFERENCE: Final = re.compile(
    r"\A(?:/|file:|https?:|fallback\+|sign\+|redis|cdb|static|\$|[a-z+]+://)"
)
_SHIPPED: Final = "https://maps.rspamd.com/"


class MapKey(NamedTuple):
    """One key of a map."""

    key: str
    place: SourcePlace


class RspamdMaps:
    """Maps of a configuration.

    Args:
        folder: they lie there.
        plan: takes those that can't be read.
    """

    def __init__(self, folder: SourceFolder, plan: MovePlan) -> None:
        self._folder = folder
        self._plan = plan
        self.used: set[str] = set()  # files that were read

    def keys(self, named: Any, place: SourcePlace) -> Iterator[MapKey]:
        """Yield the keys of all maps that a rule names; what can't be read is left.

        Args:
            named: a path, a URL, several of them, or keys themselves.
            place: of the rule.
        """
        members = named if isinstance(named, list) else [named]
        for member in members:
            if isinstance(member, dict):
                inner = [*texts_of(member.get("urls")), *texts_of(member.get("url"))]
                yield from self.keys(inner or texts_of(member.get("data")), place)
                continue
            if not isinstance(member, str):
                self._plan.leave(place, str(member)[:200], "is no map that is known here")
                continue
            found = _KINDS.match(member)
            assert found is not None  # it matches anything
            if _REFERENCE.match(found["rest"]):
                yield from self._file(found["rest"], place)
            elif member.strip():
                yield MapKey(member.strip(), place)

    def has(self, reference: str) -> bool:
        """Tell whether a map's file is in the folder."""
        return self._folder.inside(_path_of(reference), *HOMES) is not None

    def _file(self, reference: str, place: SourcePlace) -> Iterator[MapKey]:
        bare = _path_of(reference)
        if not bare.startswith("/"):
            why = (
                "ships with rspamd and is fetched from its makers"
                if bare.startswith(_SHIPPED)
                else "lies elsewhere: fetch it yourself, and `oborona list import` it"
            )
            self._plan.leave(place, reference, why)
            return
        name = self._folder.inside(bare, *HOMES)
        if name is None:
            self._plan.leave(
                place, reference, "is not in the folder: copy it there, if it is there"
            )
            return
        self.used.add(name)
        for line in self._folder.lines(name, self._plan):
            yield MapKey(line.text, line.place)


def _path_of(reference: str) -> str:
    return reference.removeprefix("fallback+").removeprefix("file://")


def bare_key(text: str) -> str:
    """Return the key of a map's line, without the value behind it and its quotes."""
    if text.startswith('"') and (end := text.find('"', 1)) > 0:
        return text[1:end]
    return text.split(None, 1)[0].rstrip(",") if text.split() else ""
