"""Outgoing mail behind a real Postfix: what leaves, what is held or refused, and what its sender is
told.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import time
from collections.abc import Iterator

import msgspec
import pytest

from oborona import secret, state_files
from oborona.counters.readonly import open_reader
from oborona.message.hashing import Hasher, ShingleType
from oborona.message.unique_pairs import entity_recipients
from oborona.types import CounterPrefix, Metric, Shingle, Window
from tests.peers.dns import Zones
from tests.peers.postfix import Postfix
from tests.whole.gate import CONTACT, LETTER, Gate, eventually, reference

LOGIN = "ann"
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
"""
SPAM = LETTER.replace(b"Subject: Lunch", b"Subject: Sold")
WORSE = LETTER.replace(b"Subject: Lunch", b"Subject: Sold out")


@pytest.fixture(scope="module", params=["native", "libmilter"])
def gate(request: pytest.FixtureRequest) -> Iterator[Gate]:
    settings = {"doors.milter.transport": request.param}
    with Zones() as zones, Gate(zones.setting, POLICY, settings=settings) as running:
        yield running


@pytest.fixture(scope="module")
def postfix(gate: Gate) -> Iterator[Postfix]:
    """A Postfix of our own people, whose mail leaves it; a deferred one can be read."""
    milter = f"unix:{gate.folder}/milter.sock"
    main = {
        "non_smtpd_milters": milter,
        "smtpd_relay_restrictions": "permit_mynetworks, permit_auth_destination, check_sender_access static:OK, reject",
        "default_transport": "smtp:[127.0.0.1]:1",
        "virtual_transport": "smtp:[127.0.0.1]:1",
    }
    with Postfix(milter, main=main) as running:
        yield running


def send(
    postfix: Postfix,
    raw: bytes,
    *recipients: str,
    login: str = LOGIN,
    ip: str = "192.0.2.9",
) -> str:
    told = {"ADDR": ip, "NAME": "[UNAVAILABLE]"} | ({"LOGIN": login} if login else {})
    return postfix.send(
        raw, sender="ann@example.test", recipients=recipients or ("bo@b.example",), xclient=told
    )[-1]


def queue(postfix: Postfix) -> dict[str, str]:
    """In which queue each message lies, by its id."""
    command = ["/usr/sbin/postqueue", "-c", f"{postfix.folder}/etc", "-j"]
    lines = subprocess.run(command, capture_output=True, check=True, timeout=20).stdout
    rows = [msgspec.json.decode(line) for line in lines.splitlines()]
    return {row["queue_id"]: row["queue_name"] for row in rows}


def headers(postfix: Postfix, ident: str) -> bytes:
    command = ["/usr/sbin/postcat", "-c", f"{postfix.folder}/etc", "-hq", ident]
    return subprocess.run(command, capture_output=True, check=True, timeout=20).stdout


def verdict(gate: Gate, queue_id: str) -> dict[str, object]:
    eventually(lambda: queue_id in {one["queue"] for one in gate.events("verdict")})
    (found,) = (one for one in gate.events("verdict") if one["queue"] == queue_id)
    return dict(found)


def test_good_mail_leaves_with_the_id_and_no_score(gate: Gate, postfix: Postfix) -> None:
    reply = send(postfix, LETTER.replace(b"\r\n\r\n", b"\r\nX-Mras: Ok\r\n\r\n", 1))
    assert reply.startswith("250"), reply
    ident = reply.rsplit(" ", 1)[-1]
    names = re.findall(rb"(?m)^(X-[\w-]+|Authentication-Results):", headers(postfix, ident))
    assert names == [b"X-Mras-Id"]
    assert verdict(gate, ident)["outcome"] == "accept"
    assert queue(postfix)[ident] != "hold"


def test_spam_is_held_and_let_go_by_the_mail_server(gate: Gate, postfix: Postfix) -> None:
    reply = send(postfix, SPAM, "bo@b.example", "joe@example.test")
    assert reply.startswith("250"), reply
    ident = reply.rsplit(" ", 1)[-1]
    assert queue(postfix)[ident] == "hold"
    assert b"X-Mras-Score" not in headers(postfix, ident)
    assert b"X-Spam-Flag" not in headers(postfix, ident)
    logged = verdict(gate, ident)
    assert (logged["verdict"], logged["outcome"], logged["login"]) == ("spam", "hold", LOGIN)
    subprocess.run(
        ["/usr/sbin/postsuper", "-c", f"{postfix.folder}/etc", "-H", ident],
        check=True,
        capture_output=True,
        timeout=20,
    )
    eventually(lambda: queue(postfix)[ident] != "hold")


def test_what_is_refused_tells_its_sender_in_words(gate: Gate, postfix: Postfix) -> None:
    reply = send(postfix, WORSE)
    assert reply == (f"550 5.7.1 Message refused as spam, reference {reference(reply)}; {CONTACT}")
    assert gate.verdict(reply)["outcome"] == "reject"


def test_spam_to_our_own_mailboxes_alone_goes_to_junk(gate: Gate, postfix: Postfix) -> None:
    reply = send(postfix, SPAM, "joe@example.test")
    ident = reply.rsplit(" ", 1)[-1]
    assert queue(postfix)[ident] != "hold"
    assert b"X-Spam-Flag: YES" in headers(postfix, ident)
    assert "outcome" not in verdict(gate, ident)


def test_inbound_spam_is_marked_as_ever(gate: Gate, postfix: Postfix) -> None:
    reply = send(postfix, SPAM, "joe@example.test", login="", ip="198.51.100.3")
    ident = reply.rsplit(" ", 1)[-1]
    assert queue(postfix)[ident] != "hold"
    assert b"X-Mras: Probable" in headers(postfix, ident)
    assert "outcome" not in verdict(gate, ident)


def sendmail(postfix: Postfix, raw: bytes, recipient: str) -> None:
    subprocess.run(
        ["/usr/sbin/sendmail", "-C", f"{postfix.folder}/etc", "-if", "web@example.test", recipient],
        input=raw.replace(b"\r\n", b"\n"),
        check=True,
        capture_output=True,
        timeout=20,
        env=dict(os.environ) | {"MAIL_CONFIG": f"{postfix.folder}/etc"},
    )


def of_programs(gate: Gate, number: int) -> list[dict[str, object]]:
    eventually(
        lambda: (
            len([one for one in gate.events("verdict") if one["sender"] == "web@example.test"])
            >= number
        )
    )
    return [dict(one) for one in gate.events("verdict") if one["sender"] == "web@example.test"]


def test_a_program_of_the_machine_has_its_spam_held_and_the_rest_bounced(
    gate: Gate, postfix: Postfix
) -> None:
    sendmail(postfix, SPAM, "bo@b.example")
    (held,) = of_programs(gate, 1)
    assert (held["outcome"], held["client"]) == ("hold", "127.0.0.1")
    assert queue(postfix)[str(held["queue"])] == "hold"
    sendmail(postfix, WORSE, "bo@b.example")
    _, refused = of_programs(gate, 2)
    assert refused["outcome"] == "reject"
    postfix.wait_log("sender non-delivery notification")
    (bounce,) = (ident for ident in queue(postfix) if b"MAILER-DAEMON" in headers(postfix, ident))
    whole = subprocess.run(
        ["/usr/sbin/postcat", "-c", f"{postfix.folder}/etc", "-bq", bounce],
        capture_output=True,
        check=True,
        timeout=20,
    ).stdout
    assert f"reference {refused['id']}" in " ".join(whole.decode().split())


def seen(gate: Gate, prefix: CounterPrefix, shingle: Shingle) -> int:
    with open_reader(gate.oborona.state / state_files.COUNTERS) as store:
        (row,) = asyncio.run(store.read([shingle], time.time(), prefix))
    return row[Window.DAY][Metric.SEEN]


def test_the_account_is_counted_by_all_it_sends_to(gate: Gate, postfix: Postfix) -> None:
    many = [f"r{number}@c.example" for number in range(120)]
    assert send(postfix, LETTER, *many, login="newsletter").startswith("250")
    keys = Hasher(secret.load(gate.oborona.state).shingles)
    account = keys.shingle(ShingleType.ACCOUNT, "newsletter")
    eventually(lambda: seen(gate, CounterPrefix.RECIPIENTS, account) == 120)
    assert seen(gate, CounterPrefix.OUT, account) == 1
    assert seen(gate, CounterPrefix.IN, account) == 0
    assert len(LETTER) / 2 < seen(gate, CounterPrefix.OCTETS, account) < len(LETTER) * 2
    people = entity_recipients(keys, ShingleType.ACCOUNT, "newsletter")
    assert seen(gate, CounterPrefix.OUT, people) == 120
