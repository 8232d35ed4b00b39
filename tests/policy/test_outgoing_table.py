"""Outgoing mail: which message it is, what lines it is held to, and what becomes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from oborona.errors import PolicyError
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy, load_policy
from oborona.policy.outgoing_table import OutgoingOutcome, OutgoingTable
from oborona.types import Action, Client, Envelope

LOGIN = Envelope(client=Client(ip="192.0.2.7"), login="ann")
OWN = Envelope(client=Client(ip="192.0.2.7"), own=True)
PROGRAM = Envelope(client=Client(ip="127.0.0.1"))
STRANGER = Envelope(client=Client(ip="192.0.2.7"))
NOT_SAID = Envelope(client=Client(unknown=True))


def load(tmp_path: Path, text: str) -> Policy:
    (tmp_path / "10.toml").write_text(text)
    return load_policy(tmp_path, SCHEMA)


def to(envelope: Envelope, *recipients: str) -> Envelope:
    return Envelope(
        client=envelope.client, login=envelope.login, own=envelope.own, recipients=recipients
    )


@pytest.mark.parametrize(
    ("envelope", "leaves"),
    [(LOGIN, True), (OWN, True), (PROGRAM, False), (STRANGER, False), (NOT_SAID, False)],
)
def test_as_it_ships_only_who_is_proved_sends_outgoing_mail(
    envelope: Envelope, leaves: bool
) -> None:
    assert OutgoingTable().leaves(to(envelope, "bo@b.example")) is leaves


@pytest.mark.parametrize("envelope", [LOGIN, OWN, PROGRAM])
@pytest.mark.parametrize(
    ("recipients", "leaves"),
    [
        (("joe@example.org",), False),
        (("joe@EXAMPLE.ORG.", "root"), False),
        (("joe@a.b.example.net",), False),
        (("joe@example.net",), True),
        (("joe@notexample.org",), True),
        (("joe@example.org.evil.example",), True),
        (("joe@example.org", "bo@b.example"), True),
        ((), False),
        (("@",), True),
        (("joe@[192.0.2.1]",), True),
    ],
)
def test_mail_to_our_own_mailboxes_alone_does_not_leave(
    envelope: Envelope, recipients: tuple[str, ...], leaves: bool
) -> None:
    table = OutgoingTable(inside=("Example.org", ".example.net"))
    assert table.leaves(to(envelope, *recipients)) is leaves


def test_strangers_send_nothing_out_whomever_they_write_to() -> None:
    assert not OutgoingTable(inside=("example.org",)).leaves(to(STRANGER, "bo@b.example"))


@pytest.mark.parametrize(
    ("spam", "action", "outcome"),
    [
        ("hold", Action.ACCEPT, OutgoingOutcome.ACCEPT),
        ("hold", Action.SPAM, OutgoingOutcome.HOLD),
        ("reject", Action.SPAM, OutgoingOutcome.REJECT),
        ("accept", Action.SPAM, OutgoingOutcome.ACCEPT),
        ("accept", Action.REJECT, OutgoingOutcome.REJECT),
        ("hold", Action.TEMPFAIL, OutgoingOutcome.TEMPFAIL),
    ],
)
def test_what_becomes_of_it(spam: str, action: Action, outcome: OutgoingOutcome) -> None:
    assert OutgoingTable(spam=spam).outcome(action, refuse=True) is outcome  # type: ignore[arg-type]


def test_who_has_no_place_for_what_is_held_refuses_it() -> None:
    table = OutgoingTable()
    assert table.outcome(Action.SPAM, refuse=True, holds=False) is OutgoingOutcome.REJECT
    assert table.outcome(Action.SPAM, refuse=False, holds=False) is OutgoingOutcome.ACCEPT
    assert table.outcome(Action.ACCEPT, refuse=True, holds=False) is OutgoingOutcome.ACCEPT


@pytest.mark.parametrize("action", [Action.ACCEPT, Action.SPAM, Action.REJECT])
def test_where_nothing_is_refused_all_of_it_leaves(action: Action) -> None:
    assert OutgoingTable().outcome(action, refuse=False) is OutgoingOutcome.ACCEPT


def test_lines_of_its_own_hold_for_it_alone(tmp_path: Path) -> None:
    policy = load(
        tmp_path,
        "[verdict]\nspam_score = 100\nshadow_spam_score = 90\n[outgoing]\nspam_score = 60\n",
    )
    out, inbound = policy.lines(LOGIN), policy.lines(STRANGER)
    assert (out.spam_score, out.reject_score, out.shadow_spam_score) == (60, 200, None)
    assert (inbound.spam_score, inbound.shadow_spam_score) == (100, 90)


def test_without_them_it_is_held_to_those_of_all_mail(tmp_path: Path) -> None:
    policy = load(tmp_path, "[verdict]\nspam_score = 70\n")
    assert policy.lines(LOGIN) is policy.verdict


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("[outgoing]\nspam_score = 250\n", "is below", 2),
        ("[outgoing]\nspam_score = 90\nreject_score = 80\n", "is below", 3),
        ("[outgoing]\nspam = 'bounce'\n", "spam", 2),
        ("[outgoing]\ninside = ['a@b.example']\n", "is no domain", 2),
        ("[outgoing]\ninside = ['']\n", "is no domain", 2),
        ("[outgoing]\ninside = ['.']\n", "is no domain", 2),
        ("[outgoing]\ninside = ['a b']\n", "is no domain", 2),
        ("[outgoing]\nhold = true\n", "hold", 2),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    tmp_path: Path, text: str, words: str, line: int
) -> None:
    with pytest.raises(PolicyError, match=words) as caught:
        load(tmp_path, text)
    assert caught.value.line == line


def test_another_outcome_is_another_policy(tmp_path: Path) -> None:
    before = load(tmp_path, "[verdict]\nspam_score = 100\n").version
    assert load(tmp_path, "[outgoing]\nspam = 'hold'\n").version == before, "the default"
    assert load(tmp_path, "[outgoing]\nspam = 'reject'\n").version != before
