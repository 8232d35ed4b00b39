"""Counters by calls: told as commands tell them, and forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from oborona.desk.refusals import UnusableValueError
from oborona.errors import StoreError
from oborona.message.shingle_name import name_of
from oborona.types import Amounts
from tests.cli.remembered import Happened, bring_in, remember, shingle
from tests.desk.calling import call, octets_below, site_of

BAD = "198.51.100.7"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    remember(folder, [Happened(BAD, Amounts(seen=40, spam=39, traps=2))])
    return folder


def test_each_call_once(state: Path) -> None:
    site, named = site_of(state), name_of(shingle(state, BAD))
    shown = call(site, "counters.show", shingle=named)
    assert shown["shingle"] == named
    assert shown["totals"]["day"] == {
        "seen": 40, "spam": 39, "complaints": 0, "pardons": 0, "reads": 0, "traps": 2,
    }  # fmt: skip
    assert (len(shown["buckets"]), len(shown["days"])) == (144, 14)
    assert sum(bucket[shown["metrics"].index("spam")] for bucket in shown["buckets"]) == 39
    top = call(site, "counters.top", type="client_ip", metric="spam")
    assert [ranked["shingle"] for ranked in top["top"]] == [named]
    assert (top["top"][0]["count"], top["top"][0]["windows"]["fortnight"]) == (39, 39)
    stats = call(site, "counters.stats", types=True)
    assert (stats["cluster"], stats["store"]["records"] > 0) == (False, True)
    checked = call(site, "counters.verify")
    assert (checked["problems"], checked["records"] > 0) == ([], True)


def test_counts_are_forgotten_once_they_were_tried(state: Path) -> None:
    site, named = site_of(state), name_of(shingle(state, BAD))
    before = octets_below(state)
    tried = call(site, "counters.forget", shingle=named, dry=True)
    assert (tried["counts"]["spam"], tried["dry"]) == (39, True)
    assert octets_below(state) == before
    done = call(site, "counters.forget", shingle=named, reason="r")
    assert (done["undo"], done["writer"]) == (None, "")
    bring_in(state)
    assert call(site, "counters.show", shingle=named)["totals"]["fortnight"]["seen"] == 0


@pytest.mark.parametrize(
    ("name", "asked", "error"),
    [
        ("counters.show", {"shingle": "x" * 10**6}, UnusableValueError),
        ("counters.show", {"shingle": "odd:0000000000000000"}, UnusableValueError),
        ("counters.show", {"shingle": "from:00ff00ff00ff00ff", "prefix": "x"}, msgspec.ValidationError),
        ("counters.forget", {"shingle": "/etc/passwd"}, UnusableValueError),
        ("counters.top", {"type": "9" * 10**5}, UnusableValueError),
        ("counters.top", {"type": "from", "metric": "odd" * 10**5}, UnusableValueError),
        ("counters.top", {"type": "from", "window": "\x1b"}, UnusableValueError),
        ("counters.top", {"type": "from", "limit": 10**9}, msgspec.ValidationError),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_told(
    state: Path, name: str, asked: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error) as raised:
        call(site_of(state), name, **asked)
    assert len(str(raised.value)) < 1200


@pytest.mark.parametrize("name", ["counters.stats", "counters.verify"])
def test_without_a_store_it_is_said(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError):
        call(site_of(tmp_path), name)
