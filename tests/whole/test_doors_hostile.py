"""Whatever strangers write to the doors of one running daemon: no worker dies, none keeps a
connection, and each door answers as before.
"""

from __future__ import annotations

import random
import re
import shutil
import socket
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from oborona.config.address import UnixAddress, parse_address
from tests.peers.oborona import Oborona
from tests.peers.policy_client import PolicyClient
from tests.whole import couriers
from tests.whole.couriers import Bring, House
from tests.whole.gate import LETTER, eventually

TIMES = 40  # of each way, at each door
WAIT_S = 0.02  # for an answer to what deserves none
SILENT = 120  # connections at once that say nothing
SLOW_BYTES = 30  # that half of them say, one by one
MOST_GROWN_KB = 96 << 10

POLICY = (
    '[verdict]\nspam_score = 100\nreject_score = 200\n[[rule]]\nname = "BAD"\nwhen = "subject '
    "== 'bad'\"\nscore = 300\n"
)
BAD = LETTER.replace(b"Lunch", b"Bad")


def _packet(letter: bytes, data: bytes) -> bytes:
    return struct.pack("!I", len(data) + 1) + letter + data


SAID = {
    "milter": _packet(b"O", struct.pack("!III", 6, 0x1FF, 0x1FFFFF))
    + _packet(b"C", b"client.test\x004\x12\x67198.51.100.9\0")
    + _packet(b"H", b"client.test\0")
    + _packet(b"M", b"<eve@e.example>\0")
    + _packet(b"R", b"<joe@example.test>\0")
    + _packet(b"L", b"Subject\0 bad\0")
    + _packet(b"N", b"")
    + _packet(b"B", b"body\r\n" * 100)
    + _packet(b"E", b""),
    "policy_service": b"request=smtpd_access_policy\nprotocol_state=RCPT\nclient_address=198.51.100.9\nclient_name=unknown\n"
    b"helo_name=client.test\nsender=eve@e.example\nrecipient=joe@example.test\ninstance=1.2.3\n\n",
    "exim": (
        b"oborona/1 rcpt ip=198.51.100.9 helo64=Y2xpZW50LnRlc3Q= from64=ZXZlQGUuZXhhbXBsZQ== "
        b"rcpt64=am9lQGV4YW1wbGUudGVzdA== more=yes\n"
    ),
    "spamd": b"CHECK SPAMC/1.5\r\nUser: joe\r\nContent-length: %d\r\n\r\n%b" % (len(BAD), BAD),
    "http": b"POST /checkv2 HTTP/1.1\r\nHost: x\r\nIP: 198.51.100.9\r\nContent-Length: %d\r\n\r\n%b"
    % (len(BAD), BAD),
    "proxy": (
        b"EHLO client.test\r\nMAIL FROM:<eve@e.example>\r\nRCPT "
        b"TO:<joe@example.test>\r\nDATA\r\n%b.\r\n"
    )
    % BAD,
}


class Site:
    """One daemon with all doors open, and who brings mail by them."""

    def __init__(
        self, oborona: Oborona, house: House, bring: dict[str, Bring], policy_service: str
    ) -> None:
        self.oborona = oborona
        self.bring = bring
        self.addresses = {
            "milter": house.milter,
            "exim": house.exim,
            "policy_service": policy_service,
            "spamd": "inet:{}:{}".format(*house.spamd),
            "http": "inet:{}:{}".format(*house.http),
            "proxy": "inet:{}:{}".format(*house.proxy),
        }

    def dial(self, door: str) -> socket.socket:
        address = parse_address(self.addresses[door])
        if isinstance(address, UnixAddress):
            sock = socket.socket(socket.AF_UNIX)
            where: str | tuple[str, int] = address.path
        else:
            sock = socket.socket()
            where = (address.host, address.port)
        sock.settimeout(5.0)
        sock.connect(where)
        return sock

    @property
    def worker(self) -> int:
        """The pid of the only worker; it has had no other."""
        (pid,) = re.findall(
            r'msg="process started" process=worker-0 child=(\d+)', self.oborona.log()
        )
        return int(pid)

    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.worker}/fd").iterdir()))

    def memory_kb(self) -> int:
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{self.worker}/status").read_text())
        assert found is not None
        return int(found[1])


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    folder = Path(tempfile.mkdtemp(prefix="oborona-test-", dir="/tmp"))
    folder.chmod(0o755)
    (folder / "policy.d").mkdir()
    (folder / "policy.d" / "10.toml").write_text(POLICY)
    house = House(folder)
    policy_service = f"unix:{folder}/policy.sock"
    settings = house.settings | {
        "paths.policy": folder / "policy.d",
        "worker.processes": 1,
        "doors.policy_service.listen": policy_service,
    }
    ways = {
        "milter": couriers.milter,
        "exim": couriers.exim_line,
        "spamd": couriers.spamc,
        "http": couriers.http,
        "proxy": couriers.smtp_proxy,
    }
    if shutil.which("spamc") is None:
        del ways["spamd"]
    with Oborona(settings) as oborona, ExitStack() as held:
        bring = {door: held.enter_context(way(house)) for door, way in ways.items()}
        yield Site(oborona, house, bring, policy_service)
    shutil.rmtree(folder)


def garbage(chance: random.Random, said: bytes) -> bytes:
    del said
    return chance.randbytes(chance.randrange(1, 5000))


def printable(chance: random.Random, said: bytes) -> bytes:
    del said
    return bytes(chance.choices(b' :;=<>@.\r\n\t\\"|%abcXYZ019{}[]', k=chance.randrange(1, 5000)))


def half(chance: random.Random, said: bytes) -> bytes:
    return said[: chance.randrange(len(said))]


def spoilt(chance: random.Random, said: bytes) -> bytes:
    octets = bytearray(said)
    for _ in range(chance.randrange(1, 8)):
        octets[chance.randrange(len(octets))] = chance.randrange(256)
    return bytes(octets)


def endless(chance: random.Random, said: bytes) -> bytes:
    return half(chance, said) + bytes([chance.choice(b"A0 \0\xff=")]) * 300_000


def flood(_chance: random.Random, said: bytes) -> bytes:
    return said * 50


WAYS: list[Callable[[random.Random, bytes], bytes]] = [
    garbage,
    printable,
    half,
    spoilt,
    endless,
    flood,
]


def strike(site: Site, door: str, octets: bytes, chance: random.Random) -> None:
    """Say it, in pieces or at once, and leave politely, at once, or by a reset."""
    with site.dial(door) as sock, suppress(OSError):
        sock.settimeout(WAIT_S)
        start = 0
        while start < len(octets) and chance.random() < 0.8:  # some bytes one by one
            size = chance.choice((1, 1, 2, 17))
            sock.sendall(octets[start : start + size])
            start += size
        sock.sendall(octets[start:])
        leaving = chance.randrange(3)
        if leaving == 0:
            sock.shutdown(socket.SHUT_WR)
        if leaving < 2:
            sock.recv(1 << 16)
        else:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def answers(site: Site) -> None:
    """Each door says of a good letter and of a bad one what it should."""
    for door, bring in site.bring.items():
        assert bring(LETTER).verdict == "accept", site.oborona.log()[-3000:]
        assert bring(BAD).verdict == ("flagged" if door == "spamd" else "reject"), door
    with PolicyClient(site.addresses["policy_service"]) as client:
        assert (
            client.ask(
                protocol_state="RCPT", client_address="192.0.2.9", recipient="joe@example.test"
            )
            == "DUNNO"
        )


@pytest.fixture(scope="module")
def before(site: Site) -> tuple[int, int]:
    """Descriptors and memory of the worker once all of its doors have been used."""
    answers(site)
    return site.descriptors(), site.memory_kb()


@pytest.mark.parametrize("door", SAID)
def test_what_strangers_write(site: Site, before: tuple[int, int], door: str) -> None:
    descriptors, memory_kb = before
    chance = random.Random(door)
    for _ in range(TIMES):
        for way in WAYS:
            strike(site, door, way(chance, SAID[door]), chance)
    eventually(lambda: site.descriptors() <= descriptors, 30.0)
    assert site.memory_kb() - memory_kb < MOST_GROWN_KB
    quiet(site)


def test_who_comes_in_crowds_and_says_nothing_or_little(
    site: Site, before: tuple[int, int]
) -> None:
    with ExitStack() as held:
        crowd = {
            door: [held.enter_context(site.dial(door)) for _ in range(SILENT)] for door in SAID
        }
        answers(site)
        for place in range(SLOW_BYTES):
            for door, said in SAID.items():
                for one in crowd[door][: SILENT // 2]:
                    with suppress(OSError):  # who has said enough to be shown out
                        one.sendall(said[place : place + 1])
            if place % 10 == 0:
                answers(site)
    eventually(lambda: site.descriptors() <= before[0], 30.0)
    quiet(site)


def quiet(site: Site) -> None:
    """All answer, the worker is the one that began, and what it logged is no fault of ours."""
    answers(site)
    assert Path(f"/proc/{site.worker}").exists()
    log = site.oborona.log()
    assert not re.search(r"Traceback|\bfault\b|level=(error|critical)", log), log
