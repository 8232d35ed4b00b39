"""Calls about outgoing mail: what is held, and limits that begin anew."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from oborona import state_files
from oborona.accounts.held_mail import held_mail_of
from oborona.errors import StoreError
from tests.desk.spoken_site import SpokenSite


@pytest.fixture
def site(tmp_path: Path) -> SpokenSite:
    return SpokenSite(tmp_path)


def test_what_is_held_is_told_as_it_was_written_down(site: SpokenSite) -> None:
    assert site.ask("outgoing.held") == {"held": None}
    mail = held_mail_of([(5.0, "joe"), (7.0, "joe"), (6.0, "kim")], 9.0)
    (site.state / state_files.QUEUE_HELD).write_bytes(msgspec.json.encode(mail))
    held = site.ask("outgoing.held")["held"]
    assert (held["number"], held["oldest"]) == (3, 5.0)
    assert held["accounts"] == [["joe", 2], ["kim", 1]]
    for damaged in (b"", b"\xff", b"[" * 70_000, b'{"at": "now"}'):
        (site.state / state_files.QUEUE_HELD).write_bytes(damaged)
        with pytest.raises(StoreError, match="damaged"):
            site.ask("outgoing.held")


def test_who_sent_nothing_has_nothing_to_take_back(site: SpokenSite) -> None:
    with pytest.raises(StoreError):
        site.ask("outgoing.reset", login="joe")
    with pytest.raises(msgspec.ValidationError):
        site.ask("outgoing.reset", login="")
