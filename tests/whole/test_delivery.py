"""The delivery door between a real Postfix and a real Dovecot: each reader's verdict, and mail that
is neither lost nor there twice.
"""

from __future__ import annotations

import email
import os
import re
import shutil
import signal
import smtplib
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from email.header import decode_header, make_header
from email.message import Message
from pathlib import Path

import pytest

from oborona import state_files
from oborona.reputation.personal import EntryAction, PersonalEntryKind, PersonalEntrySource, entry
from oborona.stores.persons.store import PersonStore
from oborona.telemetry.status import read_workers
from tests.peers.dns import Zones
from tests.peers.dovecot import Dovecot
from tests.peers.oborona import SETTINGS, Oborona
from tests.peers.postfix import Postfix, available
from tests.whole.gate import eventually

ANN = "ann@a.example"
LETTER = (
    b"From: Ann <ann@a.example>\r\nTo: all@example.test\r\nSubject: Lunch\r\nDate: Fri, 20 Nov "
    b"2026 10:00:00 +0000\r\n"
    b"Message-ID: <%b@a.example>\r\n%b\r\nShall we meet at noon, as last week?\r\n.\r\n..dots\r\n"
)
PROGRAM = (
    b"MIME-Version: 1.0\r\nContent-Type: application/octet-stream; "
    b'name="a.pdf.exe"\r\nContent-Disposition: attachment\r\n'
)

LARGE = (b"y" * 76 + b"\r\n") * (8_000_000 // 78)
MARKED = """[[rule]]
name = "MARKED"
when = "message_id == 'spam@a.example' or message_id == 'forged@a.example'"
score = 110

[[rule]]
name = "WORSE"
when = "message_id == 'worse@a.example' or message_id == 'listed@a.example'"
score = 600
say = "«выигрыш»"

[[local_list]]
name = "FRIENDS"
action = "allow"
of = ["client"]
entries = ["192.0.2.44"]
"""
USERS = (
    "joe",
    "amy",
    "max",
    "joe.alias",
    "bob",
    "ben",
    "kim",
    "lee",
    "zoe",
    "ida",
    "ian",
    "tim",
    "una",
    "vic",
    "uma",
    "wes",
    "xia",
)
LISTS = (
    ("tim", EntryAction.ALLOW, ANN),
    ("amy", EntryAction.DENY, ANN),
    ("max", EntryAction.DENY, "somebody@else.example"),
    ("joe.alias", EntryAction.DENY, ANN),
    ("uma", EntryAction.DENY, ANN),
    ("wes", EntryAction.ALLOW, ANN),
)

pytestmark = pytest.mark.skipif(not available(), reason="needs Postfix and root")


@dataclass
class Row:
    """Postfix → milter → Postfix's queue → delivery door → Dovecot."""

    postfix: Postfix
    oborona: Oborona
    dovecot: Dovecot

    def post(
        self,
        name: str,
        *users: str,
        more: bytes = b"",
        body: bytes = b"",
        client: str = "192.0.2.7",
    ) -> None:
        reply = self.send(name, *users, more=more, body=body, client=client)
        assert reply.startswith("250 "), reply

    def send(
        self,
        name: str,
        *users: str,
        more: bytes = b"",
        body: bytes = b"",
        client: str = "192.0.2.7",
    ) -> str:
        """Send a message; return the last reply."""
        return self.postfix.send(
            LETTER % (name.encode(), more) + body,
            sender=ANN,
            recipients=[f"{user}@example.test" for user in users],
            xclient={"ADDR": client, "NAME": "a.example"},
        )[-1]

    def mailbox(self, user: str, box: str = "INBOX") -> list[Message]:
        return [email.message_from_bytes(one) for one in self.dovecot.messages(user, box)]

    def the_message(self, user: str, box: str = "INBOX") -> Message:
        """Wait for the one message of a mailbox."""
        eventually(lambda: bool(self.mailbox(user, box)), 30)
        (only,) = self.mailbox(user, box)
        return only

    def workers(self) -> list[int]:
        """Return the process numbers of the workers."""
        eventually(lambda: len(read_workers(self.oborona.state, time.time())) == 2)
        return [one.pid for one in read_workers(self.oborona.state, time.time())]


def write_lists(state: Path) -> None:
    """Write down what people want before the workers first look, so that no test waits for them."""
    now = time.time()
    with PersonStore(state / state_files.PERSONS) as store:
        for user, side, value in LISTS:
            said = entry(
                side, PersonalEntryKind.ADDRESS, value, time=now, source=PersonalEntrySource.COMMAND
            )
            store.put(f"{user}@example.test", [said], now=now)
        store.strict("una@example.test", 2.0)


@pytest.fixture(scope="module")
def row() -> Iterator[Row]:
    with Dovecot(USERS) as dovecot, Zones() as zones:
        zones.add({"a.example": {"TXT": "v=spf1 ip4:192.0.2.7 -all"}})
        policy = dovecot.root / "policy.d"
        shutil.copytree(SETTINGS.parent / "policy.d", policy)
        (policy / "90-local.toml").write_text(MARKED)
        folder = dovecot.root / "door"
        folder.mkdir(mode=0o755)
        door = f"unix:{folder}/lmtp.sock"
        settings = {
            "site.name": "mx.example.test",
            "dns.servers": zones.setting,
            "paths.policy": policy,
            "worker.processes": 2,
            "headers.reason": "full",
            "worker.drain_s": 1,
            "worker.max_message_bytes": 100_000,  # of large ones the head is enough
            "reader.enabled": False,
            "doors.delivery.listen": door,
            "doors.delivery.socket_group": "postfix",
            "doors.delivery.next_hop": f"unix:{dovecot.lmtp}",
        }
        daemon = Oborona(settings)
        daemon.state.mkdir(exist_ok=True)
        write_lists(daemon.state)
        with (
            daemon as oborona,
            Postfix(
                oborona.milter,
                virtual_transport=f"lmtp:{door}",
                main={
                    "virtual_alias_maps": "inline:{{team@example.test=joe.alias@example.test}}",
                    "virtual_alias_domains": "",
                    # a message that comes again while its last delivery is being written down is
                    # left lying by qmgr
                    "minimal_backoff_time": "3s",
                    "maximal_backoff_time": "3s",
                    "queue_run_delay": "1s",
                    "message_size_limit": "50000000",
                    "lmtp_destination_concurrency_failed_cohort_limit": "0",
                },
            ) as postfix,
        ):
            yield Row(postfix, oborona, dovecot)


def test_spam_to_three_people_has_three_verdicts_and_a_forged_name_gains_nothing(row: Row) -> None:
    """The site files it: one allows its proved sender, one is patient, one has said nothing."""
    row.post("spam", "tim", "una", "vic")
    tim, una, vic = row.the_message("tim"), row.the_message("una"), row.the_message("vic", "Junk")
    assert [one["X-Mras"] for one in (tim, una, vic)] == ["Ok", "Ok", "Probable"]
    assert " ".join(tim["X-Mras-Reason"].split()).startswith(
        "PERSONAL=0.0(their list: allow address ann@a.example) MARKED=110.0"
    )
    assert una["X-Mras-Score"].endswith(" / 200")
    assert vic["X-Mras-Score"].endswith(" / 100")
    assert "PERSONAL" not in vic["X-Mras-Reason"]
    row.post("forged", "tim", "una", "vic", client="192.0.2.66")
    forged = row.the_message("tim", "Junk")
    assert (forged["X-Mras"], forged["X-Mras-Reason"].startswith("PERSONAL")) == ("Probable", False)


def test_one_message_to_three_people_has_three_verdicts_by_their_lists(row: Row) -> None:
    """Good for the site: one denies the sender, one denies somebody else, one has said nothing."""
    row.post("three", "joe", "amy", "max")
    joe, amy, maximilian = (
        row.the_message("joe"),
        row.the_message("amy", "Junk"),
        row.the_message("max"),
    )
    assert (joe["X-Mras"], maximilian["X-Mras"]) == ("Ok", "Ok")
    assert (amy["X-Mras"], amy["X-Spam-Flag"]) == ("Probable", "YES")
    assert amy["X-Mras-Reason"].startswith("PERSONAL=0.0(their list: ")
    assert joe["X-Mras-Reason"] == maximilian["X-Mras-Reason"]
    assert "PERSONAL" not in joe["X-Mras-Reason"]
    assert joe["X-Mras-Id"] == amy["X-Mras-Id"] == maximilian["X-Mras-Id"]
    assert (
        joe.get_payload()
        == amy.get_payload()
        == "Shall we meet at noon, as last week?\n.\n..dots\n"
    )
    assert row.mailbox("amy") == row.mailbox("joe", "Junk") == []


def test_what_the_policy_refuses_is_let_in_for_who_allows_it_alone_and_no_list_refuses(
    row: Row,
) -> None:
    """The milter takes it for the sake of one of three; at the door each has their own verdict."""
    assert row.send("worse", "uma", "xia").startswith("550 5.7.1 Message refused as spam"), (
        "nobody wants it"
    )
    row.post("worse", "uma", "wes", "xia")
    uma, wes, xia = (
        row.the_message("uma", "Junk"),
        row.the_message("wes"),
        row.the_message("xia", "Junk"),
    )
    assert [one["X-Mras"] for one in (uma, wes, xia)] == ["Spam", "Ok", "Spam"]
    assert said(uma).startswith(
        "PERSONAL=0.0(their list: deny address ann@a.example) WORSE=600.0(«выигрыш»)"
    )
    assert said(wes).startswith("PERSONAL=0.0(their list: allow address ann@a.example) WORSE=600.0")
    assert "PERSONAL" not in said(xia)


def test_a_list_of_the_site_stands_above_everybodys(row: Row) -> None:
    for box in (("uma", "INBOX"), ("xia", "INBOX")):
        assert row.mailbox(*box) == []
    row.post("listed", "uma", "xia", client="192.0.2.44")
    for message in (row.the_message("uma"), row.the_message("xia")):
        assert (message["X-Mras"], said(message).startswith("FRIENDS=0.0(allow 192.0.2.44)")) == (
            "Ok",
            True,
        )


def test_a_list_of_the_one_behind_an_alias_counts(row: Row) -> None:
    row.post("alias", "team")
    message = row.the_message("joe.alias", "Junk")
    assert message["X-Mras-Reason"].startswith("PERSONAL=0.0(their list: ")


def test_what_the_site_files_stays_filed_for_who_has_said_nothing(row: Row) -> None:
    row.post("program", "bob", more=PROGRAM)
    message = row.the_message("bob", "Junk")
    assert (message["X-Mras"], message["X-Spam-Flag"]) == ("Probable", "YES")


def test_a_recipient_that_dovecot_does_not_take_is_told_apart_from_the_others(row: Row) -> None:
    row.post("unknown", "ben", "nobody")
    row.the_message("ben")
    log = row.postfix.wait_log("status=bounced", 20)
    (line,) = [one for one in log.splitlines() if "status=bounced" in one]
    assert "<nobody@example.test>" in line
    assert re.search(r"said: 550 5\.1\.1 <nobody@example\.test> User doesn't exist", line), line


def test_a_next_hop_killed_in_the_middle_loses_nothing_and_delivers_nothing_twice(row: Row) -> None:
    """Dovecot's lmtp is killed while it reads the content, of two messages to two people.

    Small ones come meanwhile.
    """
    users, names = ("kim", "lee"), [f"kill{number}" for number in range(8)]
    for number, name in enumerate(names):
        if number % 4:
            row.post(name, *users)
        else:
            row.post(name, *users, body=LARGE)
            _while_it_reads(row.dovecot, signal.SIGKILL, len(LARGE))
    log = row.postfix.wait_log("status=deferred")
    assert "No answer of the mailbox host, reference " in log

    def there() -> list[Counter[str]]:
        return [Counter(message["Message-ID"] for message in row.mailbox(user)) for user in users]

    eventually(lambda: all(len(found) == len(names) for found in there()), 60, every_s=0.3)
    eventually(lambda: not row.postfix.queued(), 30)
    for found in there():
        assert found == Counter(f"<{name}@a.example>" for name in names)


def said(message: Message) -> str:
    """Return the reason that a message gives for its verdict."""
    return str(make_header(decode_header(message["X-Mras-Reason"])))


def _while_it_reads(dovecot: Dovecot, number: int, octets_of: int) -> int:
    """Send a signal to the process of Dovecot that takes a message of so many octets, once it has
    read some of it and not yet half.
    """
    before: dict[int, int] = {}
    until = time.monotonic() + 20
    while time.monotonic() < until:
        for pid in dovecot.processes("lmtp"):
            with suppress(OSError):
                octets = int(re.findall(r"rchar: (\d+)", Path(f"/proc/{pid}/io").read_text())[0])
                if 100_000 < octets - before.setdefault(pid, octets) < octets_of // 2:
                    os.kill(pid, number)
                    return pid
    raise TimeoutError("nobody read a large message")


@pytest.mark.parametrize("way", ["stopped", "killed"])
def test_a_daemon_that_goes_in_the_middle_loses_nothing_and_delivers_nothing_twice(
    row: Row, way: str
) -> None:
    """Dovecot stands still in the middle of a message until the daemon is stopped, or its workers
    are killed, and back.
    """
    user = {"stopped": "ida", "killed": "ian"}[way]
    cut = row.postfix.whole_log().count("lost connection with mx.test[")
    workers = row.workers()
    body = LARGE * 3  # so that even a busy machine sees it on its way
    row.post(way, user, body=body)
    frozen = _while_it_reads(row.dovecot, signal.SIGSTOP, len(body))
    try:
        if way == "stopped":
            row.oborona.halt()
        else:
            for pid in workers:
                os.kill(pid, signal.SIGKILL)
        eventually(lambda: row.postfix.log().count("lost connection with mx.test[") > cut)
    finally:
        os.kill(frozen, signal.SIGCONT)
    if way == "stopped":
        row.oborona.start()
    row.the_message(user)
    row.post("later", user)
    eventually(lambda: len(row.mailbox(user)) == 2, 30)
    names = [message["Message-ID"] for message in row.mailbox(user)]
    assert names == [f"<{way}@a.example>", "<later@a.example>"]


def test_a_large_message_passes_and_the_workers_do_not_grow_by_it(row: Row) -> None:
    """30 MB straight to the door: the milter keeps what it scans in memory, and would hide what the
    door takes.
    """
    body = LARGE * 4
    _forget_peaks(row.workers())
    before = _peaks(row.workers())
    with smtplib.LMTP(str(row.dovecot.root / "door/lmtp.sock")) as client:
        answer = client.sendmail(ANN, ["zoe@example.test"], b"Subject: large\r\n\r\n" + body)
    assert answer == {}
    assert len(row.the_message("zoe").get_payload()) > len(body) * 0.98
    grown = max(after - then for after, then in zip(_peaks(row.workers()), before, strict=True))
    assert grown < 4096, f"{grown} KiB"


def _forget_peaks(workers: list[int]) -> None:
    for pid in workers:
        Path(f"/proc/{pid}/clear_refs").write_text("5")


def _peaks(workers: list[int]) -> list[int]:
    """Return how much memory each had at most, in KiB."""
    return [
        int(re.findall(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0])
        for pid in workers
    ]


def test_the_log_tells_every_delivery_and_no_fault(row: Row) -> None:
    assert "Traceback" not in row.oborona.log()
    assert "msg=delivery " in row.oborona.log()
    assert "logger=mail.log" not in row.oborona.log()
