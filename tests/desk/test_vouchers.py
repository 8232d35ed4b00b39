"""The word of a home desk: it counts once, for one call of one desk, for a minute, and nobody
else's does.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona import state_files
from oborona.config.console_desks import read_desks
from oborona.desk.peers import voucher as module
from oborona.desk.peers.identity import DeskIdentity, KnownDesk, known_desks, own_identity
from oborona.desk.peers.relay import open_relay
from oborona.desk.peers.voucher import (
    PURPOSE,
    HomeDesk,
    Voucher,
    VoucherBook,
    VoucherRefusedError,
)
from oborona.errors import ConfigError, StoreError
from oborona.people.caller import Caller, CallWay, Scope, caller_at_terminal, with_roles
from oborona.people.rights import Right, Role

NOW = 1_800_000_000.0
CALL, BODY = "recheck.undo", b'{"moves": [1]}'
ANNA = with_roles(
    "anna", frozenset({Role.SUPPORT}), Scope(frozenset({"a.example"}), frozenset({"x@b.example"})),
    way=CallWay.PAGE, source="session", place="192.0.2.9",
)  # fmt: skip


class Pair:
    """A home desk, another one, and one of another site."""

    def __init__(self, folder: Path) -> None:
        self.here, self.there, self.foreign = (self._make(folder / name) for name in "abc")
        self.home = HomeDesk(self.here.key, self.here.mark, "mx1")
        self.book = self.new_book()

    @staticmethod
    def _make(folder: Path) -> DeskIdentity:
        folder.mkdir()
        return own_identity(folder, folder.name)

    def new_book(self) -> VoucherBook:
        known = KnownDesk(self.here.key.public_key(), self.here.mark)
        return VoucherBook([known], self.there.mark)

    def vouch(self, caller: Caller = ANNA, now: float = NOW) -> bytes:
        return self.home.vouch(caller, self.there.mark, CALL, BODY, now)

    def caller(self, voucher: bytes, now: float = NOW, **changed: Any) -> Caller:
        told = {"shown_by": self.here.mark, "call": CALL, "body": BODY} | changed
        return self.book.caller_of(voucher, **told, now=now)

    def signed(self, **changed: Any) -> bytes:
        """Return a voucher that the home desk itself has signed, changed before."""
        said = msgspec.json.decode(base64.urlsafe_b64decode(self.vouch().partition(b".")[0]))
        octets = msgspec.json.encode(said | changed)
        signature = self.here.key.sign(PURPOSE + octets)
        return base64.urlsafe_b64encode(octets) + b"." + base64.urlsafe_b64encode(signature)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return Pair(tmp_path_factory.mktemp("pair"))


def test_who_asks_is_who_the_home_desk_says(pair: Pair) -> None:
    found = pair.caller(pair.vouch())
    assert found == msgspec.structs.replace(ANNA, source="desk=mx1")
    whole = with_roles(
        "joe", frozenset({Role.ADMIN}), Scope(), way=CallWay.KEY, source="", place=""
    )
    again = pair.caller(pair.vouch(msgspec.structs.replace(whole, fresh=True)))
    assert (again.scope.whole, again.way, again.fresh) == (True, CallWay.KEY, True)


def test_it_counts_once(pair: Pair) -> None:
    voucher = pair.vouch()
    pair.caller(voucher)
    with pytest.raises(VoucherRefusedError, match="given once, and used"):
        pair.caller(voucher)
    pair.caller(pair.vouch())


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"call": "recheck.look"}, "another call"),
        ({"body": b'{"moves": [2]}'}, "another call"),
        ({"now": NOW + 61}, "the clock of mx1 is 61 s behind"),
        ({"now": NOW - 61}, "the clock of mx1 is 61 s ahead"),
        ({"shown_by": ""}, "does not count here"),
        ({"shown_by": "0" * 64}, "does not count here"),
    ],
)
def test_it_counts_for_nothing_else(pair: Pair, changed: dict[str, Any], why: str) -> None:
    with pytest.raises(VoucherRefusedError, match=why) as refused:
        pair.caller(pair.vouch(), **changed)
    assert refused.value.status == 401


def test_a_word_for_another_desk_and_of_another_key_count_for_nothing(pair: Pair) -> None:
    elsewhere = pair.home.vouch(ANNA, pair.foreign.mark, CALL, BODY, NOW)
    with pytest.raises(VoucherRefusedError, match="for another desk"):
        pair.caller(elsewhere)
    # another site's key under the name of ours, and under its own
    for mark, why in ((pair.here.mark, "another key"), (pair.foreign.mark, "does not count")):
        other = HomeDesk(pair.foreign.key, mark, "mx1")
        voucher = other.vouch(ANNA, pair.there.mark, CALL, BODY, NOW)
        with pytest.raises(VoucherRefusedError, match=why):
            pair.caller(voucher, shown_by=mark)
    # with more rights than were signed
    said, _, signature = pair.vouch().partition(b".")
    more = msgspec.json.decode(base64.urlsafe_b64decode(said), type=Voucher)
    more = msgspec.structs.replace(more, rights=[right.value for right in Right])
    forged = base64.urlsafe_b64encode(msgspec.json.encode(more)) + b"." + signature
    with pytest.raises(VoucherRefusedError, match="another key"):
        pair.caller(forged)


def test_rights_of_a_newer_version_and_a_terminal_count_for_nothing(pair: Pair) -> None:
    found = pair.caller(
        pair.signed(
            once="newer", rights=["track", "rule-the-world"], roles=["king"], way="telepathy"
        )
    )
    assert (found.rights, found.roles, found.way) == (
        frozenset({Right.TRACK}), frozenset(), CallWay.PAGE,
    )  # fmt: skip
    root = caller_at_terminal("root", "", "tty1")
    assert (
        pair.caller(pair.vouch(root)).way is CallWay.PAGE
    )  # asks for the password of acts that hurt


def test_what_is_remembered_has_an_end(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SEEN", 3)
    pair.book = pair.new_book()
    for _ in range(3):
        pair.caller(pair.vouch())
    with pytest.raises(VoucherRefusedError, match="too much at once"):
        pair.caller(pair.vouch())
    later = NOW + 121
    assert pair.caller(pair.vouch(now=later), now=later).name == "anna"


@given(st.binary(max_size=300) | st.text("abc.=_-{}", max_size=60).map(str.encode))
def test_any_octets_are_refused_in_words(pair: Pair, octets: bytes) -> None:
    with pytest.raises(VoucherRefusedError):
        pair.caller(octets)


def test_a_key_is_made_once_and_what_is_broken_is_said(tmp_path: Path) -> None:
    made = own_identity(tmp_path, "mx" * 100)
    assert own_identity(tmp_path, "other").mark == made.mark
    path = tmp_path / state_files.DESK_IDENTITY
    whole = path.read_bytes()
    other = tmp_path / "other"
    other.mkdir()
    own_identity(other, "x")
    foreign = (other / state_files.DESK_IDENTITY).read_bytes()
    begin = b"-----BEGIN CERTIFICATE"
    mixed = whole.partition(begin)[0] + begin + foreign.partition(begin)[2]
    for octets in (b"", b"rubbish", whole[:100], mixed, b"\0" * 10_000):
        path.write_bytes(octets)
        with pytest.raises(StoreError, match=r"desk\.pem"):
            own_identity(tmp_path, "mx")


def test_files_of_certificates_that_can_not_be_used_are_said(pair: Pair, tmp_path: Path) -> None:
    certificate = tmp_path / "mx2.pem"
    desks = read_desks("mx2=https://127.0.0.1:1")
    with pytest.raises(ConfigError, match="desk_certificates"):
        open_relay(pair.here, "mx1", desks, "")
    for octets, why in (
        (None, "No such file"), (b"", "no certificate"), (b"x" * 99, "no certificate"),
        (pair.there.certificate * 2, "one certificate is wanted"),
    ):  # fmt: skip
        if octets is not None:
            certificate.write_bytes(octets)
        with pytest.raises(ConfigError, match=why):
            open_relay(pair.here, "mx1", desks, str(tmp_path))
    certificate.write_bytes(pair.there.certificate)
    assert known_desks(certificate)[0].mark == pair.there.mark


@pytest.mark.parametrize(
    "text",
    ["mx2", "mx2=", "mx2=http://a:1", "mx2=https://a", "mx2=https://a:1/x", "MX2=https://a:1",
     "../x=https://a:1", "a=https://h:99999", "a=https://u@h:1", "a=https://h:1 a=https://h:2",
     " ".join(f"m{number}=https://h:1" for number in range(33))],
)  # fmt: skip
def test_lists_of_desks_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"write NAME=|twice|at most"):
        read_desks(text)


def test_a_list_of_desks_is_read_in_its_order() -> None:
    found = read_desks(" mx3=https://[::1]:8892  mx2=https://mx2.example.org:8892 ")
    assert [(name, one.host, one.port) for name, one in found.items()] == [
        ("mx3", "::1", 8892), ("mx2", "mx2.example.org", 8892),
    ]  # fmt: skip
    assert read_desks("") == {}
