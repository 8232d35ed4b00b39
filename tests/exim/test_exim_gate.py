"""A real Exim with the files of etc/exim, in front of the real daemon: refused, put off, filed and
passed; nothing that a client says is taken for ours.
"""

from __future__ import annotations

import email
import shutil
import tempfile
import time
from collections.abc import Iterator
from email.message import Message
from pathlib import Path

import pytest

from oborona import secret, state_files
from oborona.client_network import client_network
from oborona.counters.store import LmdbCounters
from oborona.message.hashing import Hasher, ShingleType
from oborona.policy.memory_age import ALL_MAIL
from oborona.types import Amounts, CountedPieces
from tests.exim.site import GTUBE, NAME, Site, letter
from tests.peers.dns import Zones
from tests.peers.dovecot import Dovecot
from tests.peers.exim import SHIPPED, Exim, available
from tests.peers.postfix import transaction
from tests.whole.gate import eventually

pytestmark = pytest.mark.skipif(not available(), reason="needs Exim and root")

POLICY = """
[verdict]
clients_at = "connect"
[greylist]
enabled = true
score = 60
[[rule]]
name = "GREYISH"
when = "contains(subject, 'dinner')"
score = 65
[[rule]]
name = "WARM"
when = "contains(subject, 'supper')"
score = 120
[[rule]]
name = "BAD_NAME"
when = "client.name == 'bad.example'"
score = 300
[[rule]]
name = "LIAR"
when = "helo == 'Liar.Example'"
score = 300
[[rule]]
name = "EVIL"
when = "sender == 'evil@bad.example'"
score = 300
[[rule]]
name = "NOBODY"
when = "recipient == 'ann@example.test' and sender == 'spammer@bad.example'"
score = 300
[[local_list]]
name = "OUT"
action = "deny"
of = ["client", "sender"]
entries = ["192.0.2.66", "2001:db8::/64", "listed@bad.example"]
[[dns_list]]
name = "LISTED"
zone = "bl.test"
of = ["client"]
score = 250
[traps]
addresses = ["trap@example.test"]
then = "drop"
"""
LISTED = "9.1.0.1"
FORGED = (
    b"X-Mras: Ok\r\nx-MRAS : Ok\r\nX-Mras-Score: -100 / 100\r\nX-Mras-Id: "
    b"0000000000000.AAAAAAAAAAAAAAAA\r\nX-Mras-Reason: none\r\n"
    b"X-Spam-Flag:\r\n\tNO\r\nAuthentication-Results: mx.example.test; "
    b"spf=pass\r\nAuthentication-Results: (c) MX.Example.Test.\r\n ; dkim=pass\r\n"
)
OURS = ("X-Mras", "X-Mras-Score", "X-Mras-Reason", "X-Mras-Id", "Authentication-Results")


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    records = {"1.0.1.9.bl.test": {"A": "127.0.0.2"}, "2.0.0.127.bl.test": {"A": "127.0.0.2"}}
    with Zones(records) as dns, Site(dns.setting, POLICY) as running:
        yield running


@pytest.fixture(scope="module")
def gate(site: Site) -> Iterator[Exim]:
    with site.exim() as exim:
        exim.name("192.0.2.8", "Bad.Example")
        yield exim


@pytest.fixture(scope="module", params=["whole", "light"])
def door(request: pytest.FixtureRequest, site: Site) -> Iterator[Exim]:
    """Exim that shows a message in one way or the other."""
    variant: str = request.param
    with site.exim(variant) as exim:
        yield exim


def delivered(exim: Exim, raw: bytes, folder: str = ".", **more: str) -> Message:
    """Send a message that passes, and return it as it lies in the mailbox."""
    before = len(exim.messages("joe", folder))
    replies = exim.send(raw, **more)
    assert replies[-1].startswith("250 OK id="), replies
    return email.message_from_bytes(exim.wait_message("joe", folder, before + 1))


# --- before the content ---


@pytest.mark.parametrize(
    ("ip", "words", "decided_by"),
    [
        ("192.0.2.66", "554 5.7.1 Client refused, reference ", "OUT"),
        ("2001:db8::7", "554 5.7.1 Client refused, reference ", "OUT"),
        (LISTED, "554 5.7.1 Client refused, listed by LISTED, reference ", "LISTED"),
        ("192.0.2.8", "554 5.7.1 Client refused, reference ", "BAD_NAME"),
    ],
)
def test_a_client_is_refused_before_it_says_a_word(
    gate: Exim, site: Site, ip: str, words: str, decided_by: str
) -> None:
    (greeting,) = gate.send(letter(), ip=ip)
    assert greeting.startswith(words)
    found = site.verdict(greeting)
    assert (found["client"], found["decided_by"], found["stage"]) == (ip, decided_by, "connect")


@pytest.mark.parametrize(
    ("sender", "helo", "decided_by"),
    [
        ("evil@bad.example", "mail.bad.example", "EVIL"),
        ("Listed@Bad.Example", "mail.bad.example", "OUT"),
        ("ann@a.example", "Liar.Example", "LIAR"),
    ],
)
def test_a_sender_is_refused_at_mail(
    gate: Exim, site: Site, sender: str, helo: str, decided_by: str
) -> None:
    (reply,) = gate.send(letter(), sender=sender, helo=helo)
    assert reply.startswith("550 5.7.1 Sender refused, reference ")
    found = site.verdict(reply)
    assert (found["sender"], found["helo"], found["decided_by"]) == (sender, helo, decided_by)


def test_a_recipient_is_refused_alone(gate: Exim, site: Site) -> None:
    replies = gate.send(
        letter(), sender="spammer@bad.example", recipients=["joe@example.test", "ann@example.test"]
    )
    assert replies[1] == "250 Accepted"
    assert replies[2].startswith("550 5.7.1 Recipient refused, reference ")
    assert replies[3].startswith("250 OK")
    assert site.verdict(replies[2])["recipient"] == "ann@example.test"
    assert gate.wait_message("joe")
    assert gate.messages("ann") == []


def remember(site: Site, ip: str) -> None:
    """Bring an hour of nothing but spam from an address into the counters beside the running
    daemon.
    """
    state = site.oborona.state
    keys = Hasher(secret.load(state).shingles)
    of = (
        keys.shingle(ShingleType.CLIENT_IP, ip),
        keys.shingle(ShingleType.CLIENT_NETWORK, client_network(ip)),
    )
    counters = LmdbCounters(state / state_files.COUNTERS, "test")
    counters.add(
        CountedPieces(shingles=of, pairs=()), Amounts(seen=50, spam=50, traps=1), time.time() - 600
    )
    counters.add(
        CountedPieces(shingles=(ALL_MAIL,), pairs=()), Amounts(seen=1), time.time() - 12 * 86_400
    )
    counters.flush(time.time())
    counters.close()


def test_a_client_with_a_bad_past_is_refused(gate: Exim, site: Site) -> None:
    ip = "9.3.0.1"
    assert gate.send(letter(), ip=ip, sender="evil@bad.example")[0].startswith(
        "550 5.7.1 Sender refused"
    )
    remember(site, ip)
    eventually(lambda: gate.send(letter(), ip=ip, sender="evil@bad.example")[0].startswith("554"))
    (greeting,) = gate.send(letter(), ip=ip)
    assert greeting.startswith("554 5.7.1 Client refused, reference ")
    assert site.verdict(greeting)["decided_by"] == "REPIP_BAD"


def test_rcpt_alone_asks_about_whatever_nobody_asked_before(site: Site) -> None:
    folder = Path(tempfile.mkdtemp(prefix="oborona-etc-", dir="/tmp"))
    try:
        shutil.copytree(SHIPPED, folder, dirs_exist_ok=True)
        for name in ("acl_connect", "acl_mail"):
            (folder / name).write_text("# nothing is asked here\n")
        with site.exim(folder=folder) as exim:
            client = exim.send(
                letter(), ip="192.0.2.66", recipients=["joe@example.test", "ann@example.test"]
            )
            sender = exim.send(letter(), sender="evil@bad.example")
            remember(site, "9.4.0.1")
            eventually(
                lambda: exim.send(letter(), ip="9.4.0.1")[1].startswith("554 5.7.1 Client refused")
            )
    finally:
        shutil.rmtree(folder)
    assert client[0] == "250 OK"
    assert all(reply.startswith("554 5.7.1 Client refused, reference ") for reply in client[1:])
    assert sender[1].startswith("550 5.7.1 Sender refused, reference ")


# --- the content ---


def test_a_good_letter_is_delivered_with_our_headers(door: Exim, site: Site) -> None:
    got = delivered(door, letter(), ip="192.0.2.20")
    assert got["X-Mras"] == "Ok"
    assert got["X-Mras-Score"].endswith(" / 100")
    assert got["X-Spam-Flag"] is None
    for name in OURS:
        assert len(got.get_all(name, [])) == 1, name
    assert got["Authentication-Results"].startswith(f"{NAME}; ")
    names = [name for name, _ in got.items()]
    assert names.index("Authentication-Results") < names.index("Received"), (
        "a trace header stands above"
    )
    found = site.last_verdict("192.0.2.20")
    assert (found["sender"], found["helo"], found["recipient"], found["recipients"]) == (
        "ann@a.example", "mail.a.example", "joe@example.test", 1,
    )  # fmt: skip
    assert found["queue"] in got["Received"]
    assert got["X-Mras-Id"].startswith(found["id"])
    assert got["X-Mras-Score"] == f"{found['score']:.1f} / 100"


def test_what_others_wrote_under_our_names_is_gone(door: Exim) -> None:
    got = delivered(door, letter(FORGED), ip="192.0.2.21")
    assert got.get_all("X-Mras") == ["Ok"]
    assert all(len(got.get_all(name, [])) == 1 for name in OURS)
    assert "-100" not in got["X-Mras-Score"]
    assert got["X-Mras-Id"] != "0000000000000.AAAAAAAAAAAAAAAA"
    assert got["X-Spam-Flag"] is None
    assert "FORGED_VERDICT" in got["X-Mras-Reason"]
    assert got["Authentication-Results"].startswith(f"{NAME}; spf=none ")


def test_results_of_others_stay_where_none_could_be_taken_for_ours(door: Exim) -> None:
    theirs = b"Authentication-Results: other.example; spf=pass smtp.mailfrom=a.example\r\n"
    ours, others = delivered(door, letter(theirs)).get_all("Authentication-Results") or []
    assert ours.startswith(f"{NAME}; ")
    assert others.startswith("other.example; ")


def test_spam_is_filed_with_the_flag(door: Exim) -> None:
    got = delivered(door, letter().replace(b"Lunch", b"supper"), ".Junk", ip="192.0.2.22")
    assert got["X-Mras"] == "Probable"
    assert got["X-Spam-Flag"] == "YES"
    assert "WARM=120.0" in got["X-Mras-Reason"]


def test_certain_spam_is_refused(door: Exim, site: Site) -> None:
    before = len(door.messages("joe"))
    reply = door.send(letter(FORGED, GTUBE), ip="192.0.2.23")[-1]
    assert reply.startswith("550 5.7.1 Message refused as spam, reference ")
    assert site.verdict(reply)["decided_by"] == "GTUBE"
    assert len(door.messages("joe")) == before


def test_grey_mail_is_asked_to_come_again(door: Exim) -> None:
    grey = letter().replace(b"Lunch", b"dinner")
    reply = door.send(grey, ip="203.0.113.24", sender=f"eve-{door.port}@grey.example")[-1]
    assert reply.startswith("451 4.7.1 Try again later, reference ")


def test_mail_to_a_trap_is_answered_as_mail_to_a_person_and_thrown_away(door: Exim) -> None:
    reply = door.send(letter(), recipients=["trap@example.test"], ip="192.0.2.25")[-1]
    assert reply.startswith("250 OK id=")
    number = reply.split("id=")[1]
    eventually(lambda: f"{number} => blackhole (DATA ACL discarded recipients)" in door.log())
    assert door.messages("trap") == []


@pytest.mark.parametrize("number", [1, 3])
def test_one_verdict_for_all_recipients(door: Exim, site: Site, number: int) -> None:
    recipients = ["joe@example.test", "ann@example.test", "bob@example.test"][:number]
    replies = door.send(letter(), recipients=recipients, ip=f"192.0.2.{30 + number}")
    assert replies[-1].startswith("250 OK")
    assert site.last_verdict(f"192.0.2.{30 + number}")["recipients"] == number


def test_messages_of_one_session_share_nothing(door: Exim) -> None:
    before = len(door.messages("bob")), len(door.messages("bob", ".Junk"))
    letters = (letter(end=GTUBE), letter(FORGED), letter().replace(b"Lunch", b"supper"), letter())
    with door.connect("192.0.2.45") as smtp:
        said = [
            transaction(smtp, raw, "ann@a.example", ["bob@example.test"])[-1][:3] for raw in letters
        ]
    assert said == ["550", "250", "250", "250"]
    door.wait_message("bob", number=before[0] + 2)
    door.wait_message("bob", ".Junk", before[1] + 1)
    good = [email.message_from_bytes(raw) for raw in door.messages("bob")[-2:]]
    assert sorted("FORGED_VERDICT" in one["X-Mras-Reason"] for one in good) == [False, True]
    assert [one.get_all("X-Mras") for one in good] == [["Ok"], ["Ok"]]


def test_mail_of_local_programs_is_judged_as_ours(door: Exim) -> None:
    before = len(door.messages("ann"))
    assert door.submit(letter(FORGED), "ann@example.test") == ""
    got = email.message_from_bytes(door.wait_message("ann", number=before + 1))
    assert (got["X-Mras"], got["X-Mras-Score"]) == (None, None), (
        "outgoing; the forged ones are gone"
    )
    assert got["X-Mras-Id"]
    assert got["Authentication-Results"] is None, "nothing was to be proved"
    door.submit(letter(end=GTUBE), "ann@example.test")
    assert "rejected by non-SMTP ACL: 550 5.7.1 Message refused as spam, reference " in door.log()
    assert len(door.messages("ann")) == before + 1


def test_by_spamassassins_protocol_a_score_is_all_there_is(site: Site) -> None:
    with site.exim("spamassassin") as exim:
        got = delivered(exim, letter(FORGED), ip="192.0.2.40")
        assert (got["X-Mras"], got["X-Spam-Flag"], got["X-Mras-Id"]) == ("Ok", None, None)
        assert float(got["X-Mras-Score"]) == site.last_verdict("192.0.2.40")["score"]
        assert got["Authentication-Results"] is None, "the forged one went, and ours is not told"
        got = delivered(exim, letter().replace(b"Lunch", b"supper"), ".Junk", ip="192.0.2.41")
        assert (got["X-Mras"], got["X-Spam-Flag"]) == ("Probable", "YES")
        reply = exim.send(letter(end=GTUBE), ip="192.0.2.42")[-1]
        assert reply == "550 5.7.1 Message refused as spam"


def test_by_lmtp_the_header_files_what_is_suspicious(site: Site) -> None:
    with (
        Dovecot(users=["joe"]) as dovecot,
        site.exim("whole", {"LMTP_SOCKET": str(dovecot.lmtp)}) as exim,
    ):
        for number, raw in enumerate((letter(FORGED), letter().replace(b"Lunch", b"supper"))):
            assert exim.send(raw, ip=f"192.0.2.{50 + number}")[-1].startswith("250 OK")
        eventually(
            lambda: len(dovecot.messages("joe")) == 1 and len(dovecot.messages("joe", "Junk")) == 1
        )
        assert b"X-Mras: Ok" in dovecot.messages("joe")[0]
        assert b"X-Mras: Probable" in dovecot.messages("joe", "Junk")[0]
