"""Books of event logs that are made for reports, and pages read strictly."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from types import MappingProxyType
from xml.etree import ElementTree as ET

import msgspec

from oborona.eventlog.batch.store import CheckedTable, LogBatch, LogStore, SourceTable
from oborona.eventlog.daily.book import DayPassBook, PassedDay
from oborona.eventlog.merge.book import MergeBook
from oborona.eventlog.slots import slot_name

NOON = 1_763_899_200.0  # 2025-11-23T12:00
NOW = NOON + 800
HOUR_S = 3600.0
VOID = frozenset({"br", "col", "hr", "meta", "wbr"})
FETCHING = frozenset(
    {"script", "link", "img", "iframe", "object", "image", "use", "base", "form", "foreignobject"}
)


def delivered(
    store: LogStore, at: float, *, log: str = "clicks", rows: int = 10, why: str = ""
) -> str:
    """Deliver a table, which is called by its slot; return its name."""
    name = slot_name(int(at))
    store.deliver(log, SourceTable(name=name, delivered=at, rows=rows, checksum="0" * 16, why=why))
    return name


def checked(
    store: LogStore,
    at: float,
    *,
    log: str = "clicks",
    delay_s: float = 2.0,
    rows: int = 10,
    fired: Mapping[str, int] = MappingProxyType({}),
    marked: int = 0,
) -> str:
    """Deliver a table and check it, in a batch of its own that begins a second later; return its
    name.
    """
    name = delivered(store, at, log=log, rows=rows)
    batch = store.begin(
        LogBatch(id=0, log=log, tables=(name,), rules="", thresholds={}, begun=at + 1)
    )
    table = CheckedTable(
        name=name,
        batch=batch.id,
        rows=rows,
        checksum="0" * 16,
        marked=marked,
        fired=fired,
        done=at + delay_s,
    )
    store.finish(batch, [table], at + delay_s, 0.5)
    return name


def merged(
    store: LogStore, period: str, names: Sequence[str], at: float, repaired: Sequence[str] = ()
) -> None:
    """Merge tables of ten rows."""
    book = MergeBook(store, "clicks", period)
    book.finish(book.begin({"2025-11-23": names}, at - 1), 10 * len(names), repaired, at)


def passed(
    store: LogStore,
    date: str,
    *,
    rows: int,
    revised: int = 0,
    marked: int = 0,
    persons: int = 0,
    why: str = "",
) -> None:
    """Go over a day; with a reason, give it up."""
    book = DayPassBook(store, "clicks")
    begun = PassedDay(id=0, date=date, rules="", thresholds={}, rows=rows, begun=NOW)
    one = book.begin(begun, 0)
    if why:
        book.give_up(one, why, changed=False)
        return
    book.judge(msgspec.structs.replace(one, revised=revised, marked=marked, persons=persons))
    book.finish(one, [], NOW, 1.0, "2000-01-01")


class _TagReader(HTMLParser):
    """Reads a page as browsers do, and refuses what they would have to mend."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in VOID
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names))
        assert not any(name.startswith("on") for name in names)
        self.tags.append(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def read_page(path: Path) -> ET.Element:
    """Return a page, which is well-formed XML and the same as HTML, and needs nothing beside it."""
    text = path.read_text("utf-8")
    assert text.startswith("<!DOCTYPE html>\n<html ")
    tree = ET.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    reader = _TagReader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    assert reader.tags == [one.tag.lower() for one in tree.iter()]
    assert "".join(reader.texts).strip() == "".join(tree.itertext()).strip()
    assert FETCHING.isdisjoint(reader.tags)
    assert "://" not in text
    assert not re.search(r"url\(|@import|javascript:", text)
    links = [one.get("href") or "" for one in tree.iter() if one.get("href")]
    idents = [one.get("id") or "" for one in tree.iter() if one.get("id")]
    assert {link.removeprefix("#") for link in links} <= set(idents)
    assert len(idents) == len(set(idents))
    for picture in tree.iter("svg"):
        assert picture.get("role") == "img"
        assert picture.get("aria-label")
    assert all(one.findtext("caption") for one in tree.iter("table"))
    assert all(one.findtext("summary") for one in tree.iter("details"))
    return tree
