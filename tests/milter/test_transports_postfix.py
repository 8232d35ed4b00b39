"""Both transports under a real Postfix: what its clients hear, and what becomes of their mail."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.peers import postfix as peer
from tests.peers.doorman import Doorman, listen
from tests.peers.postfix import Postfix, transaction

pytestmark = pytest.mark.skipif(not peer.available(), reason="needs Postfix and root")

EARLY = ["connect", "sender", "recipient"]
OUTSIDE = {"ADDR": "192.0.2.9", "NAME": "client.example"}
HOLD = {
    "smtpd_recipient_restrictions": "check_client_access static:HOLD, permit_auth_destination, reject"
}
# Postfix adds nothing
WHOLE = "From: a@b.test\r\nDate: Sat, 21 Nov 2026 10:00:00 +0000\r\nMessage-ID: <x@b.test>\r\n"


def mail(do: str = "edit", extra: str = "") -> bytes:
    return f"X-Do: {do}\r\n{WHOLE}{extra}\r\nbody\r\n".encode()


class Site:
    """A Postfix that holds what it accepts, and the doorman behind it."""

    def __init__(self, postfix: Postfix, doorman: Doorman) -> None:
        self.postfix = postfix
        self.doorman = doorman

    def send(self, raw: bytes, **how: Any) -> list[str]:
        return self.postfix.send(raw, xclient=OUTSIDE, **how)

    def held(self, reply: str) -> str:
        """Return the message under the queue id that a reply names."""
        command = [
            "/usr/sbin/postcat",
            "-c",
            f"{self.postfix.folder}/etc",
            "-hbq",
            reply.rsplit(" ", 1)[-1],
        ]
        return subprocess.run(command, capture_output=True, check=True, timeout=20).stdout.decode(
            "latin-1"
        )

    def told(self, client: str = OUTSIDE["ADDR"]) -> list[list[Any]]:
        """Return what the door was told of a client.

        Postfix may show itself before, and its other clients.
        """
        others = []
        for _ in range(4):
            told = self.doorman.told()
            if ["connect", client] in [record[:2] for record in told]:
                return told
            others.append(told)
        raise AssertionError(f"{client} never connected, but {others}")


@pytest.fixture(
    scope="module",
    params=[
        (transport, kind) for transport in ("native", "libmilter") for kind in ("unix", "inet")
    ],
    ids="-".join,
)
def house(request: pytest.FixtureRequest) -> Iterator[Callable[[], Site]]:
    transport, kind = request.param
    run = Path(tempfile.mkdtemp(prefix="oborona-test-", dir="/tmp"))
    run.chmod(0o755)
    sock, address = listen(kind, run)
    with (
        sock,
        Doorman(sock, run / "journal", transport=transport, waits=EARLY, guard_s=1.0) as doorman,
        Postfix(address.postfix, main=HOLD) as postfix,
    ):
        site = Site(postfix, doorman)

        def fresh() -> Site:
            doorman.mark()
            return site

        yield fresh
    shutil.rmtree(run)


@pytest.fixture
def site(house: Callable[[], Site]) -> Site:
    return house()


def test_good_mail_passes_with_our_headers_alone(site: Site) -> None:
    forged = "X-Mras: Ok\r\nSubject: hello\r\nx-mras:\r\n Spam\r\n"
    *_, reply = site.send(mail(extra=forged))
    assert reply.startswith("250 2.0.0 Ok: queued as ")
    head, _, body = site.held(reply).partition("\n\n")
    lines = head.split("\n")
    assert [line for line in lines if line.lower().startswith("x-mras:")] == ["X-Mras: Ok"]
    assert "X-Mras-Reason: A=1.0\n\tB=2.0" in head
    assert "Subject: hello" in lines
    assert body == "body\n"


def test_the_door_sees_the_message_as_it_was_sent(site: Site) -> None:
    raw = mail(
        extra=(
            "Subject:tight\r\nX-Folded: one\r\n\ttwo\r\n   three\r\nX-Bytes: \u0436\r\nX-Empty:\r\n"
        )
    )
    *_, reply = site.send(raw)
    told = site.told()
    assert [r[1].encode("latin-1") for r in told if r[0] == "end"] == [raw]
    known: dict[str, str] = {}
    for record in told:
        if record[0] == "learn":
            known |= record[1]
    assert known["i"] == reply.rsplit(" ", 1)[-1]
    assert known["client_addr"] == OUTSIDE["ADDR"]
    assert known["client_name"] == OUTSIDE["NAME"]


@pytest.mark.parametrize(
    ("order", "reply"),
    [
        ("refuse", "550 5.7.1 refused by the door"),
        ("lines", "550 5.7.1 Message refused as spam\n5.7.1 See https://mx.test/why"),
        ("tempfail", "451 4.7.1 try again later"),
        ("fail twice", "451 4.3.0 Service unavailable, try again later"),
    ],
)
def test_answers_at_the_end_of_data(site: Site, order: str, reply: str) -> None:
    assert site.send(mail(order)) == ["250 2.1.0 Ok", "250 2.1.5 Ok", reply]


@pytest.mark.parametrize("order", ["fail", "hang"])
def test_what_a_door_does_not_judge_is_marked_by_it_all_the_same(site: Site, order: str) -> None:
    reply = site.send(mail(order))[-1]
    assert reply.startswith("250 2.0.0 Ok: queued as ")
    assert "X-Mras-Reason: partial" in site.held(reply)


def test_discarded_mail_is_taken_and_gone(site: Site) -> None:
    *_, reply = site.send(mail("discard"))
    assert reply.startswith("250 2.0.0 Ok: queued as ")
    with pytest.raises(subprocess.CalledProcessError):
        site.held(reply)


def test_a_recipient_is_removed(site: Site) -> None:
    *_, reply = site.send(
        mail("remove trap@example.test"), recipients=["joe@example.test", "trap@example.test"]
    )
    command = [
        "/usr/sbin/postcat",
        "-c",
        f"{site.postfix.folder}/etc",
        "-eq",
        reply.rsplit(" ", 1)[-1],
    ]
    envelope = subprocess.run(command, capture_output=True, check=True, timeout=20).stdout.decode()
    assert [line for line in envelope.splitlines() if line.startswith("recipient:")] == [
        "recipient: joe@example.test"
    ]


def test_a_client_that_is_refused_at_connect_hears_it_at_mail(site: Site) -> None:
    assert site.postfix.send(mail(), xclient={"ADDR": "192.0.2.66"}) == ["554 5.7.1 no entry"]


def test_a_sender_is_refused(site: Site) -> None:
    assert site.send(mail(), sender="refuse@b.test") == ["550 5.7.1 refused by the door"]


def test_one_recipient_is_refused_and_the_others_get_their_mail(site: Site) -> None:
    replies = site.send(
        mail(), recipients=["joe@example.test", "refuse@example.test", "tempfail@example.test"]
    )
    assert replies[1:4] == [
        "250 2.1.5 Ok",
        "550 5.7.1 refused by the door",
        "451 4.7.1 try again later",
    ]
    assert replies[4].startswith("250 2.0.0 Ok: queued as ")


def test_messages_of_one_smtp_session(site: Site) -> None:
    with site.postfix.connect(OUTSIDE) as smtp:
        assert transaction(smtp, mail("refuse"), "one@b.test", ["joe@example.test"])[-1].startswith(
            "550"
        )
        smtp.docmd("MAIL", "FROM:<two@b.test>")
        smtp.docmd("RCPT", "TO:<joe@example.test>")
        smtp.rset()
        assert transaction(smtp, mail("fail twice"), "three@b.test", ["joe@example.test"])[
            -1
        ].startswith("451")
        assert transaction(smtp, mail(), "four@b.test", ["joe@example.test"])[-1].startswith("250")
    told = site.told()
    assert [r[1] for r in told if r[0] == "mail"] == [
        "one@b.test",
        "two@b.test",
        "three@b.test",
        "four@b.test",
    ]
    ends = [r[1].encode("latin-1") for r in told if r[0] == "end"]
    assert ends == [mail("refuse"), mail("fail twice"), mail()]


def test_a_login_is_told(site: Site) -> None:
    site.postfix.send(mail(), xclient={**OUTSIDE, "LOGIN": "joe"})
    assert {"auth_type": "XCLIENT", "auth_authen": "joe"}.items() <= {
        name: value
        for record in site.told()
        if record[0] == "learn"
        for name, value in record[1].items()
    }.items()


def test_the_port_that_the_client_came_to_is_told_before_the_client(site: Site) -> None:
    site.send(mail())
    told = site.told()
    before = told[: [record[0] for record in told].index("connect")]
    assert {"daemon_port": str(site.postfix.port)}.items() <= before[-1][1].items()


def test_an_ipv6_client(site: Site) -> None:
    site.postfix.send(mail(), xclient={"ADDR": "IPV6:2001:db8::7"})
    told = site.told("2001:db8::7")
    assert [record[1] for record in told if record[0] == "mail"] == ["sender@client.test"]


def test_large_mail(site: Site) -> None:
    raw = (
        mail(extra="X-Long: " + "x" * 50_000 + "\r\n") + (b"0123456789abcdef" * 60 + b"\r\n") * 3000
    )  # 2.9 MB
    *_, reply = site.send(raw)
    assert reply.startswith("250 2.0.0 Ok: queued as ")
    (_, head, size, truncated, _) = next(record for record in site.told() if record[0] == "end")
    assert (size, truncated) == (len(raw), True)
    assert raw.startswith(head.encode("latin-1"))
    assert len(site.held(reply)) > 2_900_000


def test_without_the_door_postfix_does_as_it_is_set() -> None:
    with Postfix("unix:/nowhere/milter.sock", milter_default_action="accept") as accepts:
        assert accepts.send(mail())[-1].startswith("250")
    with Postfix("unix:/nowhere/milter.sock") as waits:
        assert waits.send(mail()) == ["451 4.7.1 Service unavailable - try again later"]
