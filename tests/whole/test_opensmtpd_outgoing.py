"""Mail of our own people through a real OpenSMTPD with our filter: who logged in is known, limits
and bans hold, and what would be held is refused, for it has no place for it.
"""

from __future__ import annotations

import smtplib
from collections.abc import Iterator

import pytest

from tests.peers.dns import Zones
from tests.peers.oborona import PROGRAM
from tests.peers.opensmtpd import Opensmtpd, available
from tests.whole.gate import CONTACT, LETTER, Gate, eventually, reference

pytestmark = pytest.mark.skipif(
    not available(newer=True), reason="no OpenSMTPD that can do TLS can be run here"
)

POLICY = """
[[rule]]
name = "SOLD"
when = "subject == 'sold'"
score = 150
[[rule]]
name = "SOLD_OUT"
when = "subject == 'sold out'"
score = 250
[outgoing]
inside = ["example.test"]
""" + "".join(
    f"""
[[limit]]
name = "{then.upper()}"
each = "account"
count = "recipients"
window = "hour"
limit = 2
then = "{then}"
unless = "login != '{then}@example.test'"
"""
    for then in ("hold", "tempfail", "refuse")
)
SPAM = LETTER.replace(b"Subject: Lunch", b"Subject: Sold")
WORSE = LETTER.replace(b"Subject: Lunch", b"Subject: Sold out")
LOGINS = [f"{name}@example.test" for name in ("ann", "eve", "hold", "tempfail", "refuse")]
ANN, EVE = LOGINS[:2]
PROGRAM_S = "web@example.test"


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    with Zones() as zones, Gate(zones.setting, POLICY) as running:
        yield running


@pytest.fixture(scope="module")
def smtpd(gate: Gate) -> Iterator[Opensmtpd]:
    command = [str(PROGRAM), "opensmtpd-filter", "--milter", f"unix:{gate.folder}/milter.sock"]
    with Opensmtpd(*command, newer=True, logins=LOGINS) as running:
        yield running


def send(smtpd: Opensmtpd, raw: bytes, login: str, *recipients: str) -> str:
    """Send a message by the port of our own people; return the last reply."""
    with smtpd.submission("192.0.2.9", login) as smtp:
        answer = smtp.mail(login)
        for recipient in recipients:
            if answer[0] == 250:
                answer = smtp.rcpt(recipient)
        if answer[0] == 250:
            answer = smtp.data(raw)
        return f"{answer[0]} {answer[1].decode()}"


def test_good_mail_leaves_with_the_id_and_no_score_and_its_login_is_known(
    gate: Gate, smtpd: Opensmtpd
) -> None:
    reply = send(smtpd, LETTER, ANN, "good@b.example")
    assert reply.startswith("250 "), reply
    eventually(lambda: len(smtpd.delivered("good")) == 1)
    head = smtpd.delivered("good")[0].partition(b"\n\n")[0]
    assert head.count(b"\nX-Mras") == head.count(b"\nX-Mras-Id: ") == 1
    assert b"Authentication-Results" not in head
    queue_id = reply.split()[2]
    eventually(lambda: queue_id in {one["queue"] for one in gate.events("verdict")})
    (logged,) = (one for one in gate.events("verdict") if one["queue"] == queue_id)
    assert (logged["login"], logged["outcome"], logged["client"]) == (ANN, "accept", "192.0.2.9")


def test_who_may_not_log_in_sends_nothing(smtpd: Opensmtpd) -> None:
    with smtpd.submission("192.0.2.9") as smtp:
        with pytest.raises(smtplib.SMTPAuthenticationError):
            smtp.login(ANN, "guessed")
        assert smtp.mail(ANN)[0] in (503, 530)


@pytest.mark.parametrize(
    ("raw", "words"), [(SPAM, "Message looks like spam"), (WORSE, "Message refused as spam")]
)
def test_spam_of_our_own_people_is_refused_and_said_to_be(
    gate: Gate, smtpd: Opensmtpd, raw: bytes, words: str
) -> None:
    reply = send(smtpd, raw, ANN, "spam@b.example")
    assert reply == f"550 5.7.1 {words}, reference {reference(reply)}; {CONTACT}"
    verdict = gate.verdict(reply)
    assert (verdict["outcome"], verdict["login"]) == ("reject", ANN)
    told = gate.oborona.run("explain", str(verdict["id"]))
    assert "held" not in told.stdout, told.stdout
    assert smtpd.delivered("spam") == []


def test_spam_to_our_own_mailboxes_alone_goes_to_junk(smtpd: Opensmtpd) -> None:
    assert send(smtpd, SPAM, ANN, "inside@example.test").startswith("250 ")
    eventually(lambda: len(smtpd.delivered("inside", ".Junk")) == 1)


@pytest.mark.parametrize("then", ["hold", "refuse"])
def test_what_goes_over_a_limit_is_refused_and_what_was_refused_uses_up_nothing(
    gate: Gate, smtpd: Opensmtpd, then: str
) -> None:
    login = f"{then}@example.test"
    assert send(smtpd, LETTER, login, "one@b.example").startswith("250 ")
    for _ in range(3):
        reply = send(smtpd, LETTER, login, "one@b.example", "two@b.example")
        assert reply.startswith("550 5.7.1 Too many recipients of this account, reference "), reply
        ident = reference(reply)
        eventually(lambda ident=ident: ident in {one["id"] for one in gate.events("limit")})  # type: ignore[misc]
        (line,) = (one for one in gate.events("limit") if one["id"] == ident)
        assert (line["done"], line["then"]) == ("refuse", then)
        assert line["value"] <= 3, "one that left, and the two of this message"
    eventually(lambda: send(smtpd, LETTER, login, "one@b.example").startswith("250 "))


def test_a_limit_that_puts_off_does(smtpd: Opensmtpd) -> None:
    login = "tempfail@example.test"
    reply = send(smtpd, LETTER, login, *(f"r{number}@b.example" for number in range(3)))
    words = "451 4.7.1 Too many recipients of this account, try again later, reference "
    assert reply.startswith(words), reply


def test_a_banned_account_is_refused_at_its_first_recipient_until_it_is_open_again(
    gate: Gate, smtpd: Opensmtpd
) -> None:
    assert send(smtpd, LETTER, EVE, "eve@b.example").startswith("250 ")
    ban = gate.oborona.run("account", "ban", EVE, "--reason", "a password was stolen")
    assert ban.returncode == 0
    blocked = "550 5.7.1 Sending is blocked: a password was stolen, reference "
    eventually(lambda: send(smtpd, LETTER, EVE, "eve@b.example").startswith(blocked))
    with smtpd.submission("192.0.2.9", EVE) as smtp:
        assert smtp.mail(EVE)[0] == 250
        assert smtp.rcpt("eve@b.example")[0] == 550
    gate.oborona.run("account", "unban", EVE, "--reason", "it was changed")
    eventually(lambda: send(smtpd, LETTER, EVE, "eve@b.example").startswith("250 "))


def test_a_program_of_the_machine_hears_of_its_refused_mail(gate: Gate, smtpd: Opensmtpd) -> None:
    """By `listen on socket filter`; it exits as sendmail does, and says why."""
    assert smtpd.hand_in(LETTER, PROGRAM_S, "program@b.example").returncode == 0
    for raw, words in ((SPAM, "Message looks like spam"), (WORSE, "Message refused as spam")):
        done = smtpd.hand_in(raw, PROGRAM_S, "program@b.example")
        assert done.returncode != 0
        assert f"550 5.7.1 {words}, reference " in done.stderr
    eventually(lambda: len(smtpd.delivered("program")) == 1)
    eventually(lambda: len(of_program(gate)) == 3)
    assert {one["client"] for one in of_program(gate)} == {"127.0.0.1"}
    assert [one["outcome"] for one in of_program(gate)] == ["accept", "reject", "reject"]


def of_program(gate: Gate) -> list[dict[str, object]]:
    return [dict(one) for one in gate.events("verdict") if one["sender"] == PROGRAM_S]
