"""Both transports, one suite: whatever one does with a mail server's words, so does the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from oborona.config.address import InetAddress, UnixAddress
from tests.peers.doorman import Doorman, listen
from tests.peers.mail_server import LEADING_SPACE, NO_REPLY, MailServer

EARLY = ("connect", "sender", "recipient")
ALL_NO_REPLY = sum(NO_REPLY.values())
Told = list[list[Any]]


class House:
    """A doorman and where mail servers find it."""

    def __init__(self, doorman: Doorman, address: UnixAddress | InetAddress) -> None:
        self.doorman = doorman
        self.address = address

    def server(self, **offer: int) -> MailServer:
        return MailServer(self.address, **offer)

    def told(self) -> Told:
        return self.doorman.told()


@pytest.fixture(
    scope="module",
    params=[
        (transport, kind) for transport in ("native", "libmilter") for kind in ("unix", "inet")
    ],
    ids="-".join,
)
def make(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., House]]:
    """Makes houses of one transport and one kind of address.

    Each is made once for the settings it has.
    """
    transport, kind = request.param
    houses: dict[str, House] = {}
    socks = []

    def make_one(**settings: object) -> House:
        key = repr(settings)
        if key not in houses:
            folder = tmp_path_factory.mktemp("house")
            sock, address = listen(kind, folder)
            socks.append(sock)
            doorman = Doorman(sock, folder / "journal", transport=transport, **settings)
            houses[key] = House(doorman, address)
        houses[key].doorman.mark()
        return houses[key]

    yield make_one
    for house in houses.values():
        assert "Traceback" not in (said := house.doorman.stop()) or "as it was asked to" in said
    for sock in socks:
        sock.close()


@pytest.fixture
def silent(make: Callable[..., House]) -> House:
    """A door that decides at the end of messages only."""
    return make()


@pytest.fixture
def early(make: Callable[..., House]) -> House:
    """A door that answers at every stage."""
    return make(waits=EARLY)


def test_every_callback_reaches_the_door_in_order(silent: House) -> None:
    with silent.server() as server:
        server.macros(b"C", j="mx.test", client_addr="192.0.2.9", client_name="client.test")
        server.connect("Client.TEST", "192.0.2.9", 4711)
        server.helo("client.test")
        server.macros(b"M", auth_authen="joe", mail_addr="a@b.test")
        server.mail("<a@b.test>", "SIZE=100", "BODY=8BITMIME")
        server.macros(b"R", rcpt_addr="c@d.test")
        server.rcpt("<c@d.test>", "NOTIFY=NEVER")
        server.rcpt("<e@d.test>")
        server.content(
            [(b"From", b" a@b.test"), (b"Subject", b" folded\n\tvalue"), (b"X-Tight", b"x")],
            [b"one\r\n", b"two\r\n"],
        )
        server.macros(b"E", i="4ABCDEF")
        edits, letter, _ = server.end()
        assert letter == b"c"
        assert edits == [(b"h", b"X-Mras\0 Ok\0"), (b"h", b"X-Mras-Reason\0 A=1.0\n\tB=2.0\0")]
        server.quit()
    told = silent.told()
    macros: dict[str, str] = {}
    for record in told:
        if record[0] == "learn":
            macros |= record[1]
    raw = "From: a@b.test\r\nSubject: folded\r\n\tvalue\r\nX-Tight:x\r\n\r\none\r\ntwo\r\n"
    assert [record for record in told if record[0] != "learn"] == [
        ["connect", "192.0.2.9", "client.test", 4711],
        ["helo", "client.test"],
        ["mail", "a@b.test", "SIZE=100", "BODY=8BITMIME"],
        ["rcpt", "c@d.test", "NOTIFY=NEVER"],
        ["rcpt", "e@d.test"],
        ["end", raw, len(raw), False, 3],
        ["close"],
    ]
    assert macros == {
        "j": "mx.test",
        "client_addr": "192.0.2.9",
        "client_name": "client.test",
        "auth_authen": "joe",
        "mail_addr": "a@b.test",
        "rcpt_addr": "c@d.test",
        "i": "4ABCDEF",
    }


def test_macros_come_before_the_step_that_needs_them(silent: House) -> None:
    with silent.server() as server:
        server.macros(b"C", client_addr="192.0.2.9")
        server.connect()
        server.macros(b"M", auth_authen="joe")
        server.mail("<a@b.test>")
        server.rcpt("<c@d.test>")
        server.content([], [])
        server.macros(b"E", i="Q1")
        server.end()
        server.quit()
    told = silent.told()
    steps = [record[0] for record in told]
    knew: dict[str, str] = {}
    at: dict[str, dict[str, str]] = {}
    for record in told:
        if record[0] == "learn":
            knew |= record[1]
        else:
            at[record[0]] = dict(knew)
    assert at["connect"]["client_addr"] == "192.0.2.9"
    assert at["mail"]["auth_authen"] == "joe"
    assert at["end"]["i"] == "Q1"
    assert steps[-1] == "close"


def test_all_that_nobody_waits_for_is_negotiated_away(silent: House) -> None:
    with silent.server() as server:
        assert server.version == 6
        assert server.protocol & ALL_NO_REPLY == ALL_NO_REPLY
        assert server.protocol & LEADING_SPACE
        assert (
            server.actions == 0x139
        )  # add headers, remove recipients, change headers, hold, set macros
        server.quit()


def test_only_stages_with_a_verdict_are_answered(make: Callable[..., House]) -> None:
    house = make(waits=("recipient",))
    with house.server() as server:
        answered = {letter for letter, bit in NO_REPLY.items() if not server.protocol & bit}
        assert answered == {b"R"}
        server.connect()
        server.helo("refuse.test")  # nobody waits, so nobody hears
        server.mail("<refuse@b.test>")
        assert server.rcpt("<refuse@d.test>") == (b"y", b"550 5.7.1 refused by the door\0")
        assert server.rcpt("<c@d.test>") == (b"c", b"")
        server.content([], [])
        assert server.end()[1] == b"c"
        server.quit()
    assert [r[0] for r in house.told() if r[0] != "learn"] == [
        "connect", "helo", "mail", "rcpt", "rcpt", "end", "close",
    ]  # fmt: skip


def test_macros_that_postfix_keeps_to_itself_are_asked_for(silent: House) -> None:
    with silent.server() as server:
        assert {
            "{client_addr}",
            "{client_name}",
            "{client_ptr}",
            "j",
            "_",
            "{daemon_name}",
            "{daemon_port}",
        } == set(server.asked[0].split())
        assert set(server.asked[2].split()) == {"{auth_type}", "{auth_authen}", "{mail_addr}"}
        assert server.asked[3] == "{rcpt_addr}"
        assert server.asked[5] == "i"
        server.quit()


@pytest.mark.parametrize(
    ("offer", "command"),
    [(0x1FFFFF & ~bit, letter) for letter, bit in NO_REPLY.items()],
    ids=[letter.decode() for letter in NO_REPLY],
)
def test_a_mail_server_that_offers_less_gets_an_answer_to_go_on(
    silent: House, offer: int, command: bytes
) -> None:
    # so that DATA, end of headers and unknown commands come at all
    offer &= ~(0x40 | 0x200 | 0x100)
    with silent.server(protocol=offer) as server:
        assert not server.protocol & ~offer
        answers = {
            b"C": server.connect(),
            b"H": server.helo(),
            b"U": server.command(b"U", b"XYZZY\0"),
        }
        answers[b"M"] = server.mail("<a@b.test>")
        answers[b"R"] = server.rcpt("<c@d.test>")
        answers[b"T"] = server.command(b"T")
        answers[b"L"] = server.command(b"L", b"Subject\0 x\0")
        answers[b"N"] = server.command(b"N")
        answers[b"B"] = server.command(b"B", b"x\r\n")
        assert {letter for letter, answer in answers.items() if answer} == {command}
        assert answers[command] == (b"c", b"")
        assert server.end()[1] == b"c"
        server.quit()
    assert silent.told()[-2][:2] == ["end", "Subject: x\r\n\r\nx\r\n"]


def test_version_2_has_no_extras_and_works(silent: House) -> None:
    with silent.server(version=2, actions=0x3F, protocol=0x7F) as server:
        assert server.version == 2
        assert server.asked == {}
        for answer in (
            server.connect(),
            server.helo(),
            server.mail("<a@b.test>"),
            server.rcpt("<c@d.test>"),
        ):
            assert answer == (b"c", b"")
        server.content([(b"Subject", b" eats one space")], [b"body\r\n"])
        edits, letter, _ = server.end()
        assert letter == b"c"
        assert edits[0] == (b"h", b"X-Mras\0Ok\0")
        server.quit()
    assert silent.told()[-2][:2] == ["end", "Subject: eats one space\r\n\r\nbody\r\n"]


def test_a_mail_server_that_allows_no_edits_gets_none(silent: House) -> None:
    with silent.server(actions=0x02) as server:  # bodies only
        assert server.actions == 0
        server.connect()
        assert server.message() == ([], b"c", b"")
        server.quit()
    silent.told()


@pytest.mark.parametrize(
    ("host", "ip", "told"),
    [
        ("client.test", "IPv6:2001:DB8::1", ["2001:db8::1", "client.test"]),
        ("[2001:db8::1]", "2001:0db8:0:0::0001", ["2001:db8::1", ""]),
        ("unknown", "198.51.100.7", ["198.51.100.7", ""]),
        ("[198.51.100.7]", "198.51.100.7", ["198.51.100.7", ""]),
        ("mixed.Case.Test.", "198.51.100.7", ["198.51.100.7", "mixed.case.test"]),
    ],
)
def test_clients_come_in_one_form(silent: House, host: str, ip: str, told: list[str]) -> None:
    with silent.server() as server:
        server.connect(host, ip)
        server.quit()
    assert [r[1:3] for r in silent.told() if r[0] == "connect"] == [told]


def test_a_local_client_has_no_address(silent: House) -> None:
    with silent.server() as server:
        server.command(b"C", b"localhost\0U")
        server.message()
        server.quit()
    assert ["connect", "", "localhost", 0] in silent.told()


@pytest.mark.parametrize(
    ("order", "answer"),
    [
        ("refuse", (b"y", b"550 5.7.1 refused by the door\0")),
        ("tempfail", (b"y", b"451 4.7.1 try again later\0")),
        (
            "lines",
            (b"y", b"550-5.7.1 Message refused as spam\r\n550 5.7.1 See https://mx.test/why\0"),
        ),
        ("accept", (b"a", b"")),
        ("discard", (b"d", b"")),
        ("fail twice", (b"y", b"451 4.3.0 Service unavailable, try again later\0")),
        ("nothing", (b"c", b"")),
    ],
)
def test_answers_at_the_end_of_a_message(
    silent: House, order: str, answer: tuple[bytes, bytes]
) -> None:
    with silent.server() as server:
        server.connect()
        server.helo()
        assert server.message(order) == ([], *answer)
        # whatever became of the first, the second is its own
        edits, letter, _ = server.message("edit")
        assert (len(edits), letter) == (2, b"c")
        server.quit()
    assert [r[0] for r in silent.told()].count("end") == 2


def test_a_recipient_is_removed_where_that_is_allowed(silent: House) -> None:
    with silent.server() as server:
        server.connect()
        assert server.message("remove c@d.test") == ([(b"-", b"<c@d.test>\0")], b"c", b"")
        server.quit()
    with silent.server(actions=0x1F7) as server:  # all but removing recipients
        server.connect()
        assert server.message("remove c@d.test") == ([], b"c", b"")
        server.quit()


@pytest.mark.parametrize("order", ["refuse", "tempfail", "fail", "hang"])
def test_answers_at_each_early_stage(early: House, order: str) -> None:
    wanted = {
        "refuse": (b"y", b"550 5.7.1 refused by the door\0"),
        "tempfail": (b"y", b"451 4.7.1 try again later\0"),
    }.get(order, (b"t", b""))
    with early.server() as server:
        assert server.connect() == (b"c", b"")
        assert server.helo(f"{order}.test") == wanted
        assert server.helo("client.test") == (b"c", b"")
        assert server.mail(f"<{order}@b.test>") == wanted
        assert server.mail("<a@b.test>") == (b"c", b"")
        assert server.rcpt(f"<{order}@d.test>") == wanted
        assert server.rcpt("<c@d.test>") == (b"c", b"")
        server.content([(b"Subject", b" x")], [])
        assert server.end()[1] == b"c"
        server.quit()
    steps = [r[0] for r in early.told() if r[0] != "learn"]
    assert steps == ["connect", "helo", "helo", "mail", "mail", "rcpt", "rcpt", "end", "close"]


def test_a_client_can_be_refused_at_once(early: House) -> None:
    with early.server() as server:
        assert server.connect("bad.test", "192.0.2.66") == (b"y", b"554 5.7.1 no entry\0")
        server.quit()
    assert [r[0] for r in early.told()][-2:] == ["connect", "close"]


def test_accepted_at_mail_the_next_message_is_asked_about_again(early: House) -> None:
    with early.server() as server:
        server.connect()
        assert server.mail("<accept@b.test>") == (b"a", b"")
        assert server.mail("<a@b.test>") == (b"c", b"")
        assert server.rcpt("<accept@d.test>") == (b"a", b"")
        server.abort()
        assert server.message()[1] == b"c"
        server.quit()
    early.told()


def test_messages_of_one_session_do_not_leak_into_each_other(silent: House) -> None:
    with silent.server() as server:
        server.connect()
        server.helo()
        server.macros(b"M", auth_authen="joe")
        server.mail("<first@b.test>")
        server.rcpt("<x@d.test>")
        server.content(
            [(b"X-First", b" 1"), (b"Subject", b" first")], [b"first body\r\n", b"more\r\n"]
        )
        server.end()
        server.mail("<second@b.test>")  # given up in its headers
        server.rcpt("<y@d.test>")
        server.content([(b"X-Second", b" 2")], [])
        server.abort()
        server.mail("<third@b.test>")
        server.rcpt("<z@d.test>")
        server.content([(b"X-Third", b" 3")], [b"third\r\n"])
        server.end()
        server.abort()
        server.abort()  # Postfix says it twice
        server.quit()
    told = silent.told()
    assert [r[1] for r in told if r[0] == "end"] == [
        "X-First: 1\r\nSubject: first\r\n\r\nfirst body\r\nmore\r\n",
        "X-Third: 3\r\n\r\nthird\r\n",
    ]
    assert [r[0] for r in told if r[0] != "learn"] == [
        "connect", "helo", "mail", "rcpt", "end", "mail", "rcpt", "abort", "mail", "rcpt", "end", "close",
    ]  # fmt: skip


def test_a_new_mail_ends_the_message_before(silent: House) -> None:
    with silent.server() as server:
        server.connect()
        server.mail("<first@b.test>")
        server.rcpt("<x@d.test>")
        server.mail("<second@b.test>")
        server.rcpt("<y@d.test>")
        server.content([], [b"x\r\n"])
        server.end()
        server.quit()
    told = [r[:2] for r in silent.told() if r[0] in ("mail", "abort", "end")]
    assert told == [
        ["mail", "first@b.test"],
        ["abort"],
        ["mail", "second@b.test"],
        ["end", "\r\nx\r\n"],
    ]


def test_a_client_that_goes_away_aborts_its_message(early: House) -> None:
    with early.server() as server:
        server.connect()
        server.mail("<a@b.test>")
        server.rcpt("<c@d.test>")
        server.content([(b"Subject", b" x")], [])
    assert [r[0] for r in early.told()][-2:] == ["abort", "close"]


def test_forged_headers_are_removed_from_the_last_to_the_first(silent: House) -> None:
    with silent.server() as server:
        server.connect()
        server.mail("<a@b.test>")
        server.rcpt("<c@d.test>")
        server.content(
            [(b"X-Mras", b" Ok"), (b"Subject", b" x"), (b"x-mras", b" Ok"), (b"X-MRAS", b"\n Ok")],
            [],
        )
        edits, letter, _ = server.end()
        server.quit()
    assert letter == b"c"
    assert edits[:3] == [(b"m", number.to_bytes(4, "big") + b"X-Mras\0\0") for number in (3, 2, 1)]
    assert edits[3] == (b"h", b"X-Mras\0 Ok\0")
    silent.told()


def test_a_large_body_keeps_its_head_and_its_size(make: Callable[..., House]) -> None:
    house = make(limit_bytes=100_000)
    chunk = b"0123456789abcdef" * 4095 + b"\r\n"  # 65,522 bytes
    with house.server() as server:
        server.connect()
        server.mail("<a@b.test>")
        server.rcpt("<c@d.test>")
        server.content([(b"Subject", b" big")], [chunk] * 40 + [b"last\r\n"])
        assert server.end()[1] == b"c"
        assert server.message()[1] == b"c"
        server.quit()
    big, small = (r for r in house.told() if r[0] == "end")
    head = b"Subject: big\r\n\r\n"
    assert big[1].encode("latin-1") == (head + chunk * 2)[:100_000]
    assert big[2:] == [len(head) + len(chunk) * 40 + 6, True, 1]
    assert small[3] is False


def test_a_header_over_the_size_of_a_packet_comes_through(silent: House) -> None:
    value = b" " + b"x" * 300_000
    with silent.server() as server:
        server.connect()
        server.mail("<a@b.test>")
        server.rcpt("<c@d.test>")
        server.content([(b"X-Long", value)], [])
        assert server.end()[1] == b"c"
        server.quit()
    assert silent.told()[-2][2] == len(b"X-Long:\r\n\r\n") + len(value)


def test_bytes_of_the_message_are_kept(silent: House) -> None:
    every = bytes(b for b in range(1, 256) if b not in b"\r\n")
    with silent.server() as server:
        server.connect()
        server.mail("<a@b.test>")
        server.rcpt("<c@d.test>")
        server.content([(b"X-Bytes", b" " + every)], [bytes(range(256))])
        server.end()
        server.quit()
    raw = b"X-Bytes: " + every + b"\r\n\r\n" + bytes(range(256))
    assert silent.told()[-2][1].encode("latin-1") == raw


def test_addresses_that_are_not_utf8_are_told_and_can_be_stored(silent: House) -> None:
    with silent.server() as server:
        server.connect()
        server.command(b"M", b"<\xff\xd0\x96@b.test>\0")
        server.command(b"R", "<ж@пример.test>\0".encode())
        server.content([], [])
        server.end()
        server.quit()
    told = {r[0]: r[1] for r in silent.told() if len(r) > 1}
    assert told["mail"] == "\\xffЖ@b.test"
    assert told["rcpt"] == "ж@пример.test"


def test_the_null_sender_is_empty(silent: House) -> None:
    with silent.server() as server:
        server.connect()
        server.mail("<>", "SIZE=1")
        server.quit()
    assert ["mail", "", "SIZE=1"] in silent.told()


def test_a_new_smtp_session_over_the_same_connection(early: House) -> None:
    with early.server() as server:
        server.connect("one.test", "192.0.2.1")
        assert server.message()[1] == b"c"
        server.write(b"K")  # SMFIC_QUIT_NC
        assert server.connect("two.test", "192.0.2.2") == (b"c", b"")
        assert server.mail("<refuse@b.test>") == (b"y", b"550 5.7.1 refused by the door\0")
        edits, letter, _ = server.message()
        assert (len(edits), letter) == (2, b"c")
        server.quit()
    first, second = early.told(), early.told()
    assert ["connect", "192.0.2.1", "one.test", 25025] in first
    assert first[-1] == ["close"]
    assert ["connect", "192.0.2.2", "two.test", 25025] in second


def test_on_failure_continue_lets_mail_through(make: Callable[..., House]) -> None:
    house = make(on_failure="continue", waits=EARLY)
    with house.server() as server:
        server.connect()
        assert server.helo("fail.test") == (b"c", b"")
        assert server.mail("<hang@b.test>") == (b"c", b"")
        assert server.rcpt("<fail@d.test>") == (b"c", b"")
        assert bare(server.message("fail")) == MARKED
        server.quit()
    house.told()


MARKED = ([(b"m", b"\0\0\0\x01X-Do\0\0"), (b"h", b"X-Mras-Reason\0partial\0")], b"c", b"")


def bare(
    said: tuple[list[tuple[bytes, bytes]], bytes, bytes],
) -> tuple[list[tuple[bytes, bytes]], bytes, bytes]:
    """Return an answer without the space before values, which one transport says and the other
    leaves to the mail server.
    """
    return [(letter, data.replace(b"\0 ", b"\0")) for letter, data in said[0]], said[1], said[2]


@pytest.mark.parametrize("order", ["fail", "hang"])
@pytest.mark.parametrize("on_failure", ["continue", "tempfail"])
def test_a_message_without_an_answer_never_passes_as_it_came(
    make: Callable[..., House], order: str, on_failure: str
) -> None:
    house = make(on_failure=on_failure)
    with house.server() as server:
        server.connect()
        server.helo()
        assert bare(server.message(order)) == MARKED
        server.quit()
    house.told()


@pytest.mark.parametrize(
    "broken",
    [
        b"\0\0\0\x01?",  # no such command
        b"\xff\xff\xff\xffL",  # 4 GiB
        b"\0\0\0\0Q",  # nothing at all
        b"\0\0\0\x05Lname",  # a header without its end
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_a_broken_packet_ends_its_connection_alone(silent: House, broken: bytes) -> None:
    with silent.server() as other, silent.server() as server:
        other.connect()
        server.connect()
        server.mail("<a@b.test>")
        server.rcpt("<c@d.test>")
        server.sock.sendall(broken)
        with pytest.raises((EOFError, ConnectionResetError)):
            server.read()
        silent.told()
        assert other.message()[1] == b"c"
        other.quit()
    silent.told()


@pytest.mark.parametrize("offer", [{"version": 1}, {"version": 0}])
def test_a_version_too_old_is_refused(silent: House, offer: dict[str, int]) -> None:
    server = silent.server(**offer)
    with pytest.raises((EOFError, ConnectionResetError)):
        server.negotiate()
    server.sock.close()


def test_mail_servers_at_once(silent: House) -> None:
    servers = [silent.server() for _ in range(20)]
    for server in servers:
        server.negotiate()
        server.connect()
    for number, server in enumerate(servers):
        server.mail(f"<sender{number}@b.test>")
        server.rcpt("<c@d.test>")
        server.content([(b"X-Number", b" %d" % number)], [b"x" * (number + 1)])
    for server in reversed(servers):
        assert server.end()[1] == b"c"
    for number, server in enumerate(servers):
        server.quit()
        steps = {record[0]: record[1:] for record in silent.told()}
        assert steps["mail"] == [f"sender{number}@b.test"]
        assert steps["end"][0] == f"X-Number: {number}\r\n\r\n" + "x" * (number + 1)
        server.sock.close()


def test_the_listening_socket_stays_the_callers(silent: House) -> None:
    if isinstance(silent.address, UnixAddress):
        assert Path(silent.address.path).is_socket()
