"""Outgoing mail behind a real Exim with the files of etc/exim: what is held is frozen, and goes on
when a person says so.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from oborona.desk.outgoing.hold_queue import EximHoldQueue, HoldDecision
from tests.exim.site import VARIANTS, Site, letter
from tests.peers.dns import Zones
from tests.peers.exim import Exim, available
from tests.peers.postfix import transaction
from tests.whole.gate import eventually

pytestmark = pytest.mark.skipif(not available(), reason="needs Exim and root")

POLICY = """
[outgoing]
inside = ["elsewhere.example"]
[[rule]]
name = "SOLD"
when = "contains(subject, 'sold')"
score = 150
"""
SOLD = letter().replace(b"Subject: Lunch", b"Subject: Sold")


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Zones() as dns, Site(dns.setting, POLICY) as running:
        yield running


@pytest.fixture(params=["whole", "light"])
def exim(request: pytest.FixtureRequest, site: Site) -> Iterator[Exim]:
    with site.exim(request.param) as running:
        yield running


def send(exim: Exim, raw: bytes) -> str:
    with exim.connect("192.0.2.7") as smtp:
        smtp.login("ann", "any")
        return transaction(smtp, raw, "ann@a.example", ["joe@example.test"])[-1]


def test_spam_of_a_login_is_frozen_and_goes_on_when_told_to(exim: Exim) -> None:
    reply = send(exim, SOLD)
    assert reply.startswith("250"), reply
    queued = exim.command("-bp")
    assert "*** frozen ***" in queued
    assert exim.messages("joe") == []
    assert "oborona: held for a person to look at" in exim.log()
    (ident,) = re.findall(r"\w{6}-\w{6}-\w{2}", queued)
    exim.command("-Mt", ident)
    exim.command("-M", ident)
    eventually(lambda: exim.messages("joe") != [])
    (message,) = exim.messages("joe")
    assert re.findall(rb"(?m)^X-[\w-]+:", message) == [b"X-Mras-Id:"]


@pytest.mark.parametrize("decision", [HoldDecision.RELEASE, HoldDecision.DROP])
def test_what_is_frozen_is_listed_and_goes_where_it_was_decided(
    exim: Exim, decision: HoldDecision
) -> None:
    assert send(exim, letter()).startswith("250")
    assert send(exim, SOLD).startswith("250")
    queue = EximHoldQueue([exim.program, "-C", str(exim.config)])
    (held,) = queue.listing().held.messages
    assert (held.sender, held.recipients) == ("ann@a.example", ("joe@example.test",))
    assert abs(held.since - time.time()) < 60
    assert held.queue_id in queue.command(decision, [held.queue_id])
    eventually(lambda: len(exim.messages("joe")) == 1)
    queue.carry_out(decision, [held.queue_id])
    assert queue.listing().held.messages == ()
    eventually(lambda: exim.command("-bp") == "")
    assert len(exim.messages("joe")) == (2 if decision is HoldDecision.RELEASE else 1)


def test_what_waits_is_frozen_and_thawed_and_what_is_gone_is_passed_over(site: Site) -> None:
    with site.exim("whole", more="queue_only = true\n") as exim:
        queue = EximHoldQueue([exim.program, "-C", str(exim.config)], deliver=False)
        assert all(send(exim, letter()).startswith("250") for _ in range(2))
        first, second = (message.queue_id for message in queue.listing().messages)
        assert queue.listing().held.messages == ()
        queue.carry_out(HoldDecision.DROP, [second])
        queue.carry_out(HoldDecision.HOLD, [second, first])
        assert [message.queue_id for message in queue.listing().held.messages] == [first]
        queue.carry_out(HoldDecision.RELEASE, [first, second])
        assert queue.listing().held.messages == ()
        assert [message.queue_id for message in queue.listing().messages] == [first]


def test_a_notice_is_handed_in_without_a_sender_and_left_to_the_daemon(exim: Exim) -> None:
    queue = EximHoldQueue([exim.program, "-C", str(exim.config)])
    notice = b"From: postmaster@example.test\nTo: joe@example.test\nSubject: Held\n\n.\nNot yet\n"
    queue.hand_in(notice, "joe@example.test")
    (waits,) = queue.listing().messages
    assert (waits.sender, waits.recipients, waits.held) == ("", ("joe@example.test",), False)
    exim.command("-M", waits.queue_id)
    eventually(lambda: exim.messages("joe") != [])
    (message,) = exim.messages("joe")
    assert message.endswith(b"\n.\nNot yet\n")


def test_spam_of_a_program_is_frozen_and_nobody_is_told(exim: Exim) -> None:
    assert exim.submit(SOLD.replace(b"\r\n", b"\n"), "joe@example.test") == ""
    assert "*** frozen ***" in exim.command("-bp")
    assert exim.messages("joe") == []


def test_other_mail_of_a_login_goes_on(exim: Exim) -> None:
    assert send(exim, letter()).startswith("250")
    eventually(lambda: exim.messages("joe") != [])
    assert "frozen" not in exim.command("-bp")


def test_by_spamassassins_protocol_it_is_refused(site: Site) -> None:
    assert "spamassassin" in VARIANTS
    with site.exim("spamassassin") as exim:
        assert send(exim, SOLD).startswith("550")
        assert exim.command("-bp") == ""
