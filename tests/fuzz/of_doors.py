"""What must hold of what peers say at the doors, whatever octets it is: the same however it is cut,
kept within its limits, and refused by PeerError or not at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from ipaddress import ip_address
from typing import Protocol, TypeVar

import msgspec

from oborona.doors import rfc5322 as letter
from oborona.doors.arguments import peer_text
from oborona.doors.exim import codec as exim_codec
from oborona.doors.exim.answer import error_line as exim_trouble
from oborona.doors.exim.question import question_of
from oborona.doors.http.envelopes import EnvelopeHeaders, envelope_of_json
from oborona.doors.http.model import GlanceRequest, ScanRequest, decode_body
from oborona.doors.proxy import client_attributes, login, offers
from oborona.doors.raw_message import MAX_HEADERS
from oborona.doors.reply import AddHeader, RemoveHeader
from oborona.doors.smtp import paths
from oborona.doors.smtp.dot_stuffing import DotUnstuffer, stuff_dots
from oborona.doors.smtp.replies import SmtpReplyParser
from oborona.doors.spamd import codec as spamd_codec
from oborona.doors.spamd.request import TrustOptions
from oborona.doors.spamd.request import message_to_scan as told_by_spamd
from oborona.doors.spamd.tell_feedback import tell_result
from oborona.errors import PeerError
from oborona.message import received
from oborona.milter.opensmtpd import filter_lines
from oborona.policy.engines import EngineOpinion
from oborona.session.engines import clamd, rspamd, spamd
from oborona.session.engines.question import LARGEST, MAX_NAME, MAX_SYMBOLS
from oborona.types import Client, Envelope

KEPT = 2048  # octets of a message
BELIEVING = TrustOptions(
    received=True, person="%u@example.test", submission_port="587", limit_bytes=KEPT
)
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
SCAN = msgspec.json.Decoder(ScanRequest)
GLANCE = msgspec.json.Decoder(GlanceRequest)


def cuts(octets: bytes) -> Iterable[list[bytes]]:
    """Yield the same octets whole, one by one, and in pieces."""
    yield [octets]
    for size in (1, 7) if len(octets) <= 1024 else (61, 4093):
        yield [octets[place : place + size] for place in range(0, len(octets), size)]


def the_same(read: Callable[[list[bytes]], list[T]], octets: bytes) -> list[T]:
    """Return what a codec reads; it reads the same from all pieces."""
    first, *others = (read(pieces) for pieces in cuts(octets))
    assert all(one == first for one in others), (first, others)
    return first


class Codec(Protocol[T_co]):
    """What reads octets as they come."""

    def feed(self, data: bytes, /) -> Iterable[T_co]: ...


def fed(make: Callable[[], Codec[T]], octets: bytes) -> list[T | str]:
    """Return what a new codec reads, and the error that ended it, if one did.

    It reads the same from all pieces.
    """

    def read(pieces: list[bytes]) -> list[T | str]:
        codec, found = make(), list[T | str]()
        try:
            for piece in pieces:
                found += codec.feed(piece)
        except PeerError as error:
            found.append(str(error))
        return found

    return the_same(read, octets)


def sound(one: Envelope) -> None:
    """What goes on to be hashed, logged and stored is text that can be, and an address is one."""
    "".join(
        (one.helo, one.sender, one.login, one.queue_id, one.client.name, *one.recipients)
    ).encode()
    if one.client.ip:
        ip_address(one.client.ip)
    assert 0 <= one.client.port <= 65_535


def one_line(answer: bytes) -> None:
    assert answer.endswith(b"\n")
    assert answer.count(b"\n") == 1
    assert answer.isascii()


def exim(octets: bytes) -> None:
    for request in fed(lambda: exim_codec.EximCodec(KEPT), octets):
        if isinstance(request, str):
            one_line(exim_trouble(request))
            continue
        assert request is not None  # nothing is dropped here
        if request.word is exim_codec.EximVerb.PING:
            continue
        try:
            asked = question_of(request, KEPT)
        except PeerError as error:
            one_line(exim_trouble(str(error)))
            continue
        sound(asked.envelope)
        if asked.message is not None:
            assert len(asked.message.raw) <= KEPT


def spamd_door(octets: bytes) -> None:
    def read(pieces: list[bytes]) -> list[spamd_codec.SpamdRequest | str | None]:
        codec, found = spamd_codec.SpamdCodec(KEPT), list[spamd_codec.SpamdRequest | str | None]()
        try:
            found += [whole for piece in pieces if (whole := codec.feed(piece)) is not None]
            found.append(codec.end())
        except PeerError as error:
            found.append(str(error))
        return found

    found = the_same(read, octets)
    requests = [one for one in found if isinstance(one, spamd_codec.SpamdRequest)]
    assert len(requests) <= 1, "a connection has one request"
    for request in requests:
        assert len(request.raw) <= KEPT
        event, refusal = tell_result(request, key=b"f" * 32, template="%u@example.test", now=1.0)
        if event is None:
            one_line(refusal)
        try:
            said = told_by_spamd(request, BELIEVING)
        except PeerError:
            continue
        sound(said.envelope)
        assert len(said.message.raw) <= KEPT
        assert said.mailbox_line <= len(request.raw)


def received_line(octets: bytes) -> None:
    hop = received.read(octets)
    if hop is not None:
        "".join(
            (hop.name, hop.helo, hop.login, hop.queue_id, hop.sender or "", hop.recipient)
        ).encode()
        assert not hop.ip or str(ip_address(hop.ip)) == hop.ip
        assert len(hop.helo) <= received.HELO


def engine(octets: bytes) -> None:
    """The first line says whose answer it is."""
    whose, _, said = octets.partition(b"\n")
    read: dict[bytes, Callable[[bytes], EngineOpinion]] = {
        b"rspamd": rspamd.opinion_of_answer,
        b"spamd": spamd.opinion_of_answer,
        b"clamd": lambda answer: clamd.opinion_of_answer(answer, whole=True),
    }
    try:
        found = read.get(whose, rspamd.opinion_of_answer)(said)
    except PeerError as error:
        str(error).encode()
        return
    names = (found.action, found.virus, *found.symbols)
    assert all(len(one) <= MAX_NAME and one.isprintable() for one in names)
    assert len(found.symbols) <= MAX_SYMBOLS
    assert all(
        one is None or (math.isfinite(one) and abs(one) <= LARGEST)
        for one in (found.score, found.line)
    )
    msgspec.json.encode(found)


def whole_letter(octets: bytes) -> None:
    """A header that was counted is the one that is removed, and nothing else of the message
    changes.
    """
    message = letter.raw_message_of(octets, KEPT)
    assert len(message.raw) <= KEPT
    assert message.truncated == (message.size > len(message.raw))
    raw = letter.with_crlf(octets)
    assert raw.count(b"\n") == raw.count(b"\r\n")
    untouched = letter.with_edits(raw, ())
    assert untouched.replace(b"\r\n", b"") == raw.replace(b"\r\n", b"")
    assert letter.with_edits(untouched, ()) == untouched
    names = [name.lower() for name, _ in message.headers]
    if names and len(names) < MAX_HEADERS:
        last = names[-1]
        gone = letter.with_edits(raw, (RemoveHeader(last.decode("ascii"), names.count(last)),))
        left = [field.name.lower() for field in letter.header_fields(gone)]
        before = [field.name.lower() for field in letter.header_fields(raw)]
        place = len(before) - 1 - before[::-1].index(last)
        assert left == before[:place] + before[place + 1 :]
        assert gone.endswith(untouched.partition(b"\r\n\r\n")[2])
    added = letter.with_edits(
        raw, (AddHeader("X-Top", "1", top=True), AddHeader("X-End", "a\n\tb"))
    )
    fields = [field.name for field in letter.header_fields(added)]
    assert (fields[0], fields[-1]) == (b"X-Top", b"X-End")


def proxy(octets: bytes) -> None:
    """Nothing that a client says makes a line of its own at the next hop.

    The first line says what is read.
    """
    kind, _, said = octets.partition(b"\n")
    match kind:
        case b"XCLIENT" | b"XFORWARD":
            known = client_attributes.XCLIENT if kind == b"XCLIENT" else client_attributes.XFORWARD
            found = client_attributes.parse_attributes(said, known)
            if found is not None:
                sound(
                    Envelope(
                        client=client_attributes.client_of(
                            found, Client(ip="192.0.2.1", name="a.example")
                        )
                    )
                )
                command = client_attributes.format_command(
                    kind, found, b" ".join(one.encode() for one in known)
                )
                assert command is None or (command.isascii() and peer_text(command).isprintable())
                if command is not None:
                    assert (
                        client_attributes.parse_attributes(command.partition(b" ")[2], known)
                        == found
                    )
        case b"MAIL" | b"RCPT":
            keyword = b"FROM:" if kind == b"MAIL" else b"TO:"
            named = paths.parse_path(said, keyword)
            if named is not None:
                offered = dict.fromkeys(("SIZE", "8BITMIME", "SMTPUTF8", "DSN", "AUTH"), b"")
                command = offers.next_hop_command(kind, keyword, named, offered)
                assert command is None or not {b"\r", b"\n", b"\0"} & {
                    bytes([one]) for one in command
                }
                if command is not None:
                    assert paths.parse_path(command.partition(b" ")[2], keyword) == named
        case b"AUTH":
            mechanism, *turns = said.split(b"\n")
            login.login_name(mechanism, turns).encode()
        case b"DATA":
            _content(said)
        case _:
            fed(SmtpReplyParser, said)


def _content(said: bytes) -> None:
    def read(pieces: list[bytes]) -> list[bytes]:
        dots, content = DotUnstuffer(), bytearray()
        over, rest = False, b""
        for piece in pieces:
            if over:
                rest += piece
                continue
            content += dots.feed(piece)
            over, rest = dots.over, dots.rest
        return [bytes(content), rest, bytes([over])]

    content, _, over = the_same(read, said)
    assert content.count(b"\n") == content.count(b"\r\n")
    if over == b"\1":
        again = b"".join(stuff_dots([content]))
        assert again.endswith(b".\r\n")
        assert read([again])[0] == content


def http(octets: bytes) -> None:
    """The headers of a request, or a body in JSON after an empty first line."""
    first, _, rest = octets.partition(b"\n")
    if not first:
        for read in (partial(decode_body, SCAN), partial(decode_body, GLANCE)):
            try:
                sound(envelope_of_json(read(rest)))
            except PeerError:
                continue
        return
    pairs = [tuple(line.partition(b":")[::2]) for line in octets.split(b"\n")]
    try:
        sound(EnvelopeHeaders([(name, value) for name, value in pairs]).envelope())
    except PeerError as error:
        str(error).encode()


def opensmtpd(octets: bytes) -> None:
    """A line of a filter, and a message that goes back line by line."""
    line, _, message = octets.partition(b"\n")
    try:
        found = filter_lines.read(line)
    except PeerError:
        return
    assert filter_lines.result(found, "proceed").count(b"\n") == 1
    raw = letter.with_crlf(message)
    if raw and not raw.endswith(b"\r\n"):
        raw += b"\r\n"
    back = filter_lines.content(found, raw).split(b"\n")
    start = b"filter-dataline|%b|%b|" % (found.session, found.token)
    assert all(one.startswith(start) for one in back[:-1])
    assert [one for one in back if one == start + b"."] == back[-2:-1], (
        "one end, and it is the last"
    )
