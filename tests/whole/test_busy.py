"""Too much at once: each door says so in its protocol's own words, no queue grows behind it, and
afterwards all is as it was.

One worker that judges one message at a time, and a DNS that is slow while somebody is to be kept
waiting.
"""

from __future__ import annotations

import re
import shutil
import smtplib
import socket
import subprocess
import tempfile
import threading
import urllib.error
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from oborona.config.address import parse_address
from tests.peers.dns import Zones
from tests.peers.mail_server import MailServer
from tests.peers.oborona import Oborona
from tests.peers.readsocket import connected, extract, readsocket, request
from tests.whole import couriers
from tests.whole.couriers import House, post
from tests.whole.gate import eventually

GOOD = b"From: Ann <ann@a.example>\r\nTo: joe@example.test\r\nSubject: Lunch\r\n\r\nAt noon?\r\n"
ROOM = 4  # connections at each door
STORES = 3  # that a worker may open later; each test makes more connections than that
SLOW_S = 60.0  # as the DNS is; nobody waits so long


class Full:
    """A daemon, its doors, and the DNS that it asks."""

    def __init__(self, oborona: Oborona, house: House, zones: Zones) -> None:
        self.oborona = oborona
        self.house = house
        self.zones = zones
        (child,) = re.findall(r'"?process started"? process=worker-0 child=(\d+)', oborona.log())
        self.worker = int(child)
        self._times = 0

    def open_files(self) -> int:
        """Return how many files, sockets among them, the worker has open."""
        return sum(1 for _ in Path(f"/proc/{self.worker}/fd").iterdir())

    def nothing_left(self, before: int) -> None:
        """Wait until no more is open than before, but for a store or two that was not needed
        then.
        """
        eventually(lambda: self.open_files() <= before + STORES)

    @contextmanager
    def judging(self) -> Iterator[None]:
        """Have the one message that there is room for judged all the while."""
        self.zones.asked.clear()
        self.zones.delay("*", SLOW_S)
        self._times += 1
        domain = f"slow-{self._times}.example"  # the answers of the last one are known
        heard: list[bytes] = []

        def bring() -> None:
            with MailServer(parse_address(self.house.milter)) as server:
                server.sock.settimeout(SLOW_S)
                heard.append(_milter(server, domain))

        thread = threading.Thread(target=bring)
        thread.start()
        try:
            eventually(lambda: bool(self.zones.asked))
            yield
            assert not heard, "it was to be judged all the while"
        finally:
            self.zones.heal()
            thread.join(SLOW_S)
        assert heard == [b"a"], "who was inside is judged, late as it is"


@pytest.fixture(scope="module")
def full() -> Iterator[Full]:
    folder = Path(tempfile.mkdtemp(prefix="oborona-test-", dir="/tmp"))
    folder.chmod(0o755)
    house = House(folder)
    limits = {f"doors.{door}.max_connections": ROOM for door in ("exim", "spamd", "http", "proxy")}
    with Zones() as zones:
        settings = limits | {
            "worker.processes": 1,
            "worker.max_messages": 1,
            "worker.deadline_s": 20,
            "dns.servers": zones.setting,
        }
        with Oborona(house.settings | settings) as oborona, couriers.next_hop(house.next_hop):
            all_is_well(house)  # what is opened once, at the first message, is open
            yield Full(oborona, house, zones)
    shutil.rmtree(folder)


def all_is_well(house: House) -> None:
    """Have a message judged by each door."""
    for way in (couriers.milter, couriers.exim_line, couriers.spamc, couriers.http):
        with way(house) as bring:
            assert bring(GOOD).verdict == "accept"
    assert by_proxy(house).startswith("250")


def _milter(server: MailServer, domain: str = "a.example") -> bytes:
    server.connect("mail.a.example", "192.0.2.7", 4711)
    server.helo("client.test")
    server.mail(f"<ann@{domain}>")
    server.rcpt("<joe@example.test>")
    server.content([(b"From", b" ann@a.example"), (b"Subject", b" x")], [b"hello\r\n"])
    _, letter, said = server.end()
    server.quit()
    return said.rstrip(b"\0") if letter == b"y" else letter


# --- a message too many, by each door ---


def by_milter(house: House) -> str:
    with MailServer(parse_address(house.milter)) as server:
        return _milter(server).decode()


def by_line(house: House) -> str:
    line = readsocket(
        house.exim, request("data", ip="192.0.2.7", headers=b"Subject: x\n", body=b"hello\n")
    )
    return f"{extract('verdict', line)} {extract('code', line)} {extract('text', line)}"


def by_spamc(house: House) -> str:
    host, port = house.spamd
    command = ["spamc", "-d", host, "-p", str(port), "-x", "-R"]
    done = subprocess.run(command, input=GOOD, capture_output=True, timeout=60, check=False)
    return str(done.returncode)


def by_rspamc_of_old(house: House) -> str:
    with socket.create_connection(house.spamd, 60) as sock:
        head = f"CHECK RSPAMC/1.3\r\nContent-length: {len(GOOD)}\r\nIP: 192.0.2.7\r\n\r\n"
        sock.sendall(head.encode() + GOOD)
        sock.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: sock.recv(4096), b"")).decode()
    (action,) = re.findall(r"^Action: ([\w ]+)\r$", answer, re.MULTILINE)
    return f"{action}: {answer.splitlines()[-1]}"


def by_http(house: House) -> str:
    try:
        post(house.http, "/v1/scan", {"raw": "U3ViamVjdDogeAoKaGVsbG8K"})
    except urllib.error.HTTPError as error:
        with error:
            return f"{error.code} {error.headers['Retry-After']}"
    return "200"


def by_proxy(house: House) -> str:
    with smtplib.SMTP(*house.proxy, timeout=60) as smtp:
        smtp.ehlo()
        smtp.mail("ann@a.example")
        smtp.rcpt("joe@example.test")
        code, text = smtp.data(GOOD)
        return f"{code} {text.decode()}"


REFERENCE = re.compile(r", reference ([0-9A-Z]{13})")
MESSAGES: dict[str, tuple[Callable[[House], str], str]] = {
    "milter": (by_milter, "451 4.3.2 Too busy, try again later"),
    "exim": (by_line, "defer 451 4.3.2 Too busy, try again later"),
    # what it makes of "75 EX_TEMPFAIL", as of any code of spamd that is not 0
    "spamc": (by_spamc, "74"),
    "rspamc": (by_rspamc_of_old, "soft reject: 4.3.2 Too busy, try again later"),
    "http": (by_http, "503 1"),
    # by SMTP from this machine without a login: a program's, which is never put off
    "proxy": (by_proxy, "250 2.0.0 taken"),
}


def test_a_message_too_many_is_told_so_by_every_door_and_the_next_one_is_judged(full: Full) -> None:
    before = full.open_files()
    with full.judging():
        for _ in range(3):
            told = {name: ask(full.house) for name, (ask, _) in MESSAGES.items()}
            references = {name: REFERENCE.search(words) for name, words in told.items()}
            assert {name for name, found in references.items() if found} == {
                "milter",
                "exim",
                "rspamc",
            }
            told = {name: REFERENCE.sub("", words) for name, words in told.items()}
            assert told == {name: words for name, (_, words) in MESSAGES.items()}
    all_is_well(full.house)
    full.nothing_left(before)
    for found in references.values():
        if found is not None:
            shown = full.oborona.run("explain", found[1])
            assert "decided by busy" in shown.stdout, shown.stderr
    assert "Traceback" not in full.oborona.log()


def test_the_turned_away_are_counted(full: Full) -> None:
    with full.judging():
        assert by_http(full.house) == "503 1"

    def counted() -> bool:
        said = full.oborona.run("metrics").stdout
        busy = re.findall(r'^oborona_busy_total\{worker="0"\} (\S+)$', said, re.MULTILINE)
        at_door = re.findall(
            r'^oborona_door_total\{.*door="http",outcome="busy".*\} (\S+)$', said, re.MULTILINE
        )
        return bool(busy and at_door) and float(busy[0]) >= 1 and float(at_door[0]) >= 1

    eventually(counted)


# --- a connection too many, at each door ---

CONNECTIONS = {
    "exim": (rb'\Averdict=defer .*code=451 text="4\.3\.2 .*\n\Z'),
    "spamd": (rb"\ASPAMD/1\.\d 75 "),
    "http": (rb"\AHTTP/1\.1 503 (?s:.*)Retry-After: "),
    "proxy": (rb"\A421 4\.3\.2 "),
}


@pytest.mark.parametrize("door", CONNECTIONS)
def test_a_connection_too_many_is_told_so_at_once(door: str, full: Full) -> None:
    before = full.open_files()
    place = getattr(full.house, door)
    address = place if isinstance(place, str) else f"inet:{place[1]}@{place[0]}"
    with ExitStack() as inside:
        for _ in range(ROOM):  # that say nothing
            inside.enter_context(connected(address))
        with connected(address) as late:
            assert re.match(CONNECTIONS[door], b"".join(iter(lambda: late.recv(4096), b"")))
    eventually(lambda: MESSAGES["spamc" if door == "spamd" else door][0](full.house) in ACCEPTED)
    full.nothing_left(before)


ACCEPTED = {"0", "200", "250 2.0.0 taken", "accept 0 "}


def test_a_flood_of_connections_leaves_nothing_behind(full: Full) -> None:
    before = full.open_files()
    for _ in range(3):
        with ExitStack() as flood:
            for address in (
                full.house.exim,
                *(
                    f"inet:{port}@{host}"
                    for host, port in (full.house.spamd, full.house.http, full.house.proxy)
                ),
            ):
                for _ in range(100):
                    flood.enter_context(connected(address))
    full.nothing_left(before)
    eventually(lambda: by_spamc(full.house) == "0")
    assert by_milter(full.house) == "a"
