"""Who answers in the server's place, or as no server should."""

from __future__ import annotations

import asyncio
import itertools
import random
import socket
import struct
from collections import Counter
from collections.abc import Callable, Iterable

import dns.message
import pytest

from oborona.dns import DnsAnswer, DnsOutcome, DnsType
from oborona.resolver import Resolver, ResolverAddress
from tests.peers.dns import Zones
from tests.resolver.conftest import Far

Make = Callable[..., Resolver]
FOUND = DnsAnswer(outcome=DnsOutcome.FOUND, records=("192.0.2.1",), ttl=300)
HANG_S = 60.0


@pytest.fixture(autouse=True)
def fill(zones: Zones) -> None:
    zones.add({"example.test": {"A": "192.0.2.1"}})


async def ask(resolver: Resolver, name: str = "example.test") -> DnsAnswer:
    return await asyncio.wait_for(resolver.ask(name, DnsType.A), HANG_S)


def forged(
    zones: Zones, question: dns.message.Message, change: Callable[[bytearray], None]
) -> bytes:
    octets = bytearray(
        zones.answer(question).to_wire().replace(b"\xc0\0\x02\x01", b"\x06\x06\x06\x06")
    )
    change(octets)
    return bytes(octets)


async def test_wrong_answers_before_the_right_one_are_ignored(make: Make, zones: Zones) -> None:
    def reply(question: dns.message.Message) -> Iterable[bytes]:
        def wrong_id(octets: bytearray) -> None:
            octets[0] ^= 0x80

        def wrong_name(octets: bytearray) -> None:
            octets[13] ^= 1

        def wrong_kind(octets: bytearray) -> None:
            octets[12 + 14 + 1] = 28

        def query(octets: bytearray) -> None:
            octets[2] &= 0x7F

        yield from (
            forged(zones, question, change) for change in (wrong_id, wrong_name, wrong_kind, query)
        )
        yield struct.pack("!H", question.id)
        yield zones.answer(question).to_wire()

    zones.reply("example.test", reply)
    async with make() as resolver:
        assert await ask(resolver) == FOUND
        assert resolver.stats.ignored == 5
        assert resolver.stats.sent == 1


async def test_a_flood_of_wrong_answers_neither_ends_nor_hangs_a_question(
    make: Make, zones: Zones
) -> None:
    def flood(question: dns.message.Message) -> Iterable[bytes]:
        right = zones.answer(question).to_wire()
        for number in range(10_000):
            if number != question.id:
                yield struct.pack("!H", number) + right[2:-4] + b"\6\6\6\6"
        yield right

    zones.reply("flood.test", flood)
    zones.add({"flood.test": {"A": "192.0.2.9"}})
    async with make(timeout_s=2.0) as resolver:
        flooded = await ask(resolver, "flood.test")
        # The kernel may have dropped the right answer; a wrong one is never taken.
        assert flooded.names == ("192.0.2.9",) or flooded.why == "timeout"
        assert resolver.stats.ignored > 0
        zones.heal()
        assert await ask(resolver) == FOUND


async def test_only_the_server_itself_is_heard(make: Make, zones: Zones) -> None:
    stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    stranger.bind(("127.0.0.1", 0))

    def reply(question: dns.message.Message) -> Iterable[bytes]:
        data = forged(zones, question, lambda _octets: None)
        stranger.sendto(data, ("127.0.0.1", zones.asked[-1].port))
        yield zones.answer(question).to_wire()

    zones.reply("example.test", reply)
    with stranger:
        async with make() as resolver:
            assert await ask(resolver) == FOUND
            assert resolver.stats.ignored == 0  # the kernel let nothing else in


async def test_ids_are_random_and_so_are_ports_towards_other_machines(zones: Zones) -> None:
    zones.add({f"n{number}.test": {"A": "192.0.2.1"} for number in range(200)})
    for server, ports in (
        (ResolverAddress("127.0.0.1", zones.port), 1),
        (Far("127.0.0.1", zones.port), 150),
    ):
        zones.asked.clear()
        async with Resolver([server]) as resolver:
            for number in range(200):
                assert await ask(resolver, f"n{number}.test") == FOUND
        ids = [one.id for one in zones.asked]
        assert len(set(ids)) > 190
        assert ids != sorted(ids)
        steps = Counter((after - before) % 65536 for before, after in itertools.pairwise(ids))
        assert steps.most_common(1)[0][1] < 10
        assert len({one.port for one in zones.asked}) >= ports
        if ports == 1:
            assert len({one.port for one in zones.asked}) == 1


async def test_mutated_answers_end_every_question(make: Make, zones: Zones) -> None:
    """Whatever comes behind a right question section: an answer of our words, in time, and the next
    question is answered.
    """
    dice = random.Random(20)

    def reply(question: dns.message.Message) -> Iterable[bytes]:
        octets = bytearray(zones.answer(question).to_wire())
        begin = 12 + len(question.question[0].name.to_text()) + 1 + 4
        for _ in range(dice.randint(1, 6)):
            place = dice.choice([3, 6, 7, 8, 9, 10, 11, *range(begin, len(octets))])
            octets[place] = dice.randrange(256)
        yield bytes(octets[: dice.choice([len(octets), dice.randint(12, len(octets))])])

    zones.reply("*", reply)
    zones.add(
        {f"n{number}.test": {"A": "192.0.2.1", "CNAME": "example.test"} for number in range(300)}
    )
    async with make(timeout_s=0.3, tries=1) as resolver:
        answers = await asyncio.gather(*(ask(resolver, f"n{number}.test") for number in range(300)))
        assert all(isinstance(answer, DnsAnswer) for answer in answers)
        assert {answer.outcome for answer in answers} >= {DnsOutcome.TEMPERROR}
        zones.heal()
        for number in range(20):  # a busy machine may take longer than that over one or two
            later = await ask(resolver, f"w{number}.example.test")
            if later.why != "timeout":
                break
        assert later == DnsAnswer(outcome=DnsOutcome.NO_NAME, ttl=300)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"\0\0",
        b"\0\5abc",
        b"\0\x0c" + b"\0" * 12,
        b"\xff\xff" + b"x" * 65_535,
        b"\xff\xffx",
    ],
)
async def test_nonsense_over_tcp_is_an_error(make: Make, zones: Zones, data: bytes) -> None:
    """A server of its own on the port's TCP side, that says what it likes and hangs up."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4096)
        writer.write(data)
        writer.close()

    zones.stop()
    server = await asyncio.start_server(serve, "127.0.0.1", zones.port)
    with Datagrams(zones.port):
        async with make(timeout_s=60.0) as resolver:
            answer = await ask(resolver)
            assert answer.outcome is DnsOutcome.TEMPERROR
            assert answer.why in ("unreachable", "malformed")
    server.close()
    await server.wait_closed()


class Datagrams:
    """Says over UDP that the answer is over TCP."""

    def __init__(self, port: int) -> None:
        self._sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sock.bind(("127.0.0.1", port))
        self._sock.setblocking(False)

    def __enter__(self) -> None:
        asyncio.get_running_loop().add_reader(self._sock, self._readable)

    def __exit__(self, *_exc: object) -> None:
        asyncio.get_running_loop().remove_reader(self._sock)
        self._sock.close()

    def _readable(self) -> None:
        data, asker = self._sock.recvfrom(4096)
        question = dns.message.from_wire(data)
        response = dns.message.make_response(question)
        response.flags |= 0x0200
        self._sock.sendto(response.to_wire(), asker)
