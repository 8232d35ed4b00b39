"""Reports and traps with a real Postfix in front: from the mail to what is written down, and what
it does to the mail of others.
"""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Self

import msgspec
import pytest

from oborona import secret, state_files
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventChannel, EventKind, StoredEvent
from oborona.ident import from_text, sign
from tests.daemon.intake.letters import ABUSE, arf, forwarded
from tests.peers.oborona import SETTINGS, Oborona
from tests.peers.postfix import Postfix, available
from tests.whole.gate import eventually

pytestmark = pytest.mark.skipif(not available(), reason="no Postfix, or not root")

TRAPS: Final = """# what is ours
[traps]
addresses = ["old@example.test"]
patterns = ["sales-[0-9]{4}@example\\\\.test"]
"""
REPORTS: Final = (
    "spam@example.test",
    "ham@example.test",
    "loops@example.test",
    "astray@example.test",
)
WAIT_S: Final = 60.0
CAMPAIGN: Final = (
    "From: Pharmacy {number} <win{number}@shop{number}.example>\r\nTo: "
    "you@example.test\r\nSubject: Offer {number}\r\n"
    "Date: Fri, 20 Nov 2026 10:00:00 +0000\r\nMessage-ID: <{number}@shop{number}.example>\r\n\r\n"
    "Dear friend, our warehouse in the old harbour is closing this weekend and every single "
    "bottle has to go before the new owner\r\n"
    "arrives on Monday morning. Write back to reserve yours today, mention the lighthouse, and "
    "the courier brings it to your door\r\n"
    "without any further question asked by anybody at the office. Number {number}.\r\n"
)


class House:
    """Postfix, the daemon behind it, and the door for reports behind that."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="reports-", dir="/tmp"))
        self.folder.chmod(0o755)
        shutil.copytree(SETTINGS.parent / "policy.d", self.folder / "policy.d")
        (self.folder / "policy.d/90-local.toml").write_text(TRAPS)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.oborona = Oborona(
            {
                "worker.processes": 1,
                "site.name": "mx.example.test",
                "paths.policy": self.folder / "policy.d",
                "log.format": "json",
                "intake.mail_listen": f"inet:{port}@127.0.0.1",
                "intake.report_spam": REPORTS[0],
                "intake.report_ham": REPORTS[1],
                "intake.report_loops": REPORTS[2],
            }
        )
        routes = " ".join(f"{{ {one} = lmtp:inet:127.0.0.1:{port} }}" for one in REPORTS)
        self.postfix = Postfix(
            self.oborona.milter,
            main={
                "transport_maps": f"inline:{{ {routes} }}",
                "smtpd_relay_restrictions": "permit_auth_destination, check_client_access static:OK, reject",
            },
        )

    def __enter__(self) -> Self:
        try:
            self.oborona.start()
            self.postfix.__enter__()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.postfix.__exit__(None, None, None)
        self.oborona.stop()
        shutil.rmtree(self.folder)

    def send(
        self,
        raw: bytes,
        to: Sequence[str],
        *,
        sender: str = "win@shop.example",
        login: str = "",
        ip: str = "192.0.2.77",
    ) -> str:
        told = {"ADDR": ip, "NAME": "[UNAVAILABLE]"} | ({"LOGIN": login} if login else {})
        return self.postfix.send(raw, sender=sender, recipients=to, xclient=told)[-1]

    def said(self, what: str) -> list[dict[str, Any]]:
        lines = self.oborona.log().splitlines(keepends=True)
        found = [
            msgspec.json.decode(line)
            for line in lines
            if line.startswith("{") and line.endswith("\n")
        ]
        return [one for one in found if one["msg"] == what]

    def events(self, way: EventChannel) -> list[StoredEvent]:
        with EventLog(self.oborona.state / state_files.EVENTS) as log:
            return [one for one in log.last(100) if one.way is way]

    def verdict(self, sender: str) -> dict[str, Any]:
        eventually(lambda: any(one["sender"] == sender for one in self.said("verdict")), WAIT_S)
        return next(one for one in self.said("verdict") if one["sender"] == sender)

    def signed(self, verdict: dict[str, Any]) -> bytes:
        """Return the header that the milter has put above a message."""
        ident = from_text(verdict["id"])
        assert ident is not None
        return f"X-Mras-Id: {sign(ident, secret.load(self.oborona.state).signature)}\r\n".encode()


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    with House() as found:
        yield found


def campaign(number: int) -> bytes:
    return CAMPAIGN.format(number=number).encode()


def test_mail_to_a_trap_is_learned_from_and_thrown_away(house: House) -> None:
    ip = "203.0.113.66"
    first = house.send(campaign(1), ["old@example.test"], sender="first@shop1.example", ip=ip)
    assert first.startswith("250")
    assert house.send(
        campaign(2), ["sales-2024@example.test", "Old@Example.test"], ip=ip
    ).startswith("250")
    house.postfix.wait_log("milter-discard", WAIT_S)
    trapped = house.events(EventChannel.TRAP)
    assert {(one.what, one.person, one.source) for one in trapped} == {(EventKind.TRAP, "", ip)}
    assert {one.mailbox for one in trapped} == {"old@example.test", "sales-2024@example.test"}
    verdict = house.verdict("first@shop1.example")
    assert verdict["trap"] == "old@example.test"
    assert from_text(verdict["id"]) in {one.ident for one in trapped}
    eventually(lambda: all(one.counts for one in house.events(EventChannel.TRAP)), WAIT_S)
    senders = (f"later{number}@shop.example" for number in range(100))

    def worse() -> bool:
        sender = next(senders)
        house.send(campaign(3), ["joe@example.test"], sender=sender, ip="203.0.113.67")
        return "MASS_TRAPPED" in house.verdict(sender)["reason"]

    eventually(worse, WAIT_S, every_s=0.5)
    other = next(senders)
    house.send(campaign(3), ["joe@example.test"], sender=other, ip="198.51.100.8")
    assert "MASS_TRAPPED" not in house.verdict(other)["reason"], (
        "who sends the same from elsewhere is not held to it"
    )


def test_beside_people_the_trap_gets_no_copy(house: House) -> None:
    ip = "203.0.113.68"
    raw = (
        b"From: Bo <bo@shop4.example>\r\nTo: ann@example.test\r\nSubject: Minutes\r\nMessage-ID: "
        b"<m@shop4.example>\r\n"
        b"Date: Fri, 20 Nov 2026 10:00:00 +0000\r\n\r\nThe minutes of our last meeting are in the "
        b"folder.\r\n"
    )
    for trap in (
        "old@example.test",
        "sales-2025@example.test",
    ):  # the first two hits of a network tell nobody anything
        house.send(campaign(4), [trap], sender="alone@shop4.example", ip=ip)
    senders = (f"both{number}@shop4.example" for number in range(100))

    def beside() -> bool:
        sender = next(senders)
        sent = house.send(raw, ["ann@example.test", "old@example.test"], sender=sender, ip=ip)
        assert sent.startswith("250")
        return "TRAP_BESIDE" in house.verdict(sender)["reason"]

    eventually(beside, WAIT_S, every_s=0.5)
    log = house.postfix.wait_log("to=<ann@example.test>", WAIT_S)
    assert "to=<ann@example.test>, relay=" in log
    assert "to=<old@example.test>, relay=" not in log


def test_our_own_people_report_and_strangers_do_not(house: House) -> None:
    house.send(campaign(5), ["ann@example.test"], sender="in@shop5.example")
    got = house.signed(house.verdict("in@shop5.example")) + campaign(5)
    mail = forwarded(got, b"Subject: a\r\n\r\nb\r\n").replace(
        b"spam@b.example", b"spam@example.test"
    )

    def reports() -> int:
        return sum(report["role"] == "spam" for report in house.said("report"))

    assert house.send(mail, ["spam@example.test"], sender="ann@example.test").startswith("250")
    eventually(lambda: reports() == 1, WAIT_S)  # Postfix may deliver two in either order
    assert house.send(
        mail, ["spam@example.test"], sender="ann@example.test", login="ann@example.test"
    ).startswith("250")
    eventually(lambda: reports() == 2, WAIT_S)
    first, second = (one for one in house.said("report") if one["role"] == "spam")
    assert (first["events"], first["why"]) == (0, "not of our own people")
    assert (second["events"], second["person"]) == (2, "ann@example.test")
    found = house.events(EventChannel.FORWARD)
    assert {(one.what, one.person) for one in found} == {(EventKind.COMPLAINT, "ann@example.test")}
    assert {one.ident for one in found} == {
        from_text(house.verdict("in@shop5.example")["id"]),
        None,
    }


def test_a_feedback_loop_is_about_what_we_sent(house: House) -> None:
    letter = campaign(6).replace(b"shop6", b"news6")
    house.send(
        letter,
        ["one@yahoo.example", "two@yahoo.example"],
        sender="news@example.test",
        login="news@example.test",
        ip="203.0.113.9",
    )
    sent = house.verdict("news@example.test")
    report = arf(house.signed(sent) + letter, *ABUSE, "Original-Rcpt-To: two@yahoo.example")
    for _ in range(2):  # Yahoo has been seen to send each report twice
        assert house.send(report, ["loops@example.test"], sender="").startswith("250")
    eventually(
        lambda: len([one for one in house.said("report") if one["role"] == "loop"]) == 2, WAIT_S
    )
    eventually(lambda: house.events(EventChannel.REPORT)[0].decided is not None, WAIT_S)
    (event,) = house.events(EventChannel.REPORT)
    assert event.counts, event
    assert not event.own, "it is no person of ours"
    assert (event.what, event.person, event.ident) == (
        EventKind.COMPLAINT,
        "two@yahoo.example",
        from_text(sent["id"]),
    )


def test_a_new_trap_is_one_at_once(house: House) -> None:
    file = house.folder / "policy.d/90-local.toml"
    before = len(house.said("policy loaded"))
    file.write_text(TRAPS.replace("old@example.test", "new@example.test"))
    eventually(lambda: len(house.said("policy loaded")) > before, WAIT_S)
    house.send(campaign(8), ["new@example.test"], sender="eighth@shop8.example")
    assert house.verdict("eighth@shop8.example")["trap"] == "new@example.test"


def test_what_was_led_here_by_mistake_stays_in_the_queue(house: House) -> None:
    house.send(b"Subject: x\r\n\r\nx\r\n", ["astray@example.test"])
    log = house.postfix.wait_log("No reports are taken for this address", WAIT_S)
    assert "status=deferred" in log
    assert house.postfix.queued()
