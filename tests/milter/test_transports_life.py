"""Starts, limits, signals and stops of both transports, with several processes on one socket."""

from __future__ import annotations

import fcntl
import os
import pwd
import signal
import socket
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from oborona.config.address import InetAddress, UnixAddress
from oborona.daemon import sockets
from tests.peers.doorman import NAP_S, Doorman, listen
from tests.peers.mail_server import MailServer

PROMPT_S = 8.0  # against hangs alone

Start = Callable[..., Doorman]


@pytest.fixture(params=["native", "libmilter"])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def place(open_folder: Path) -> Iterator[tuple[socket.socket, UnixAddress | InetAddress]]:
    sock, address = listen("unix", open_folder)
    yield sock, address
    sock.close()


@pytest.fixture
def start(
    transport: str, open_folder: Path, place: tuple[socket.socket, UnixAddress | InetAddress]
) -> Iterator[Start]:
    """Starts doormen on one socket, each with its own journal."""
    with ExitStack() as stack:

        def one(name: str = "journal", **settings: object) -> Doorman:
            return stack.enter_context(
                Doorman(place[0], open_folder / name, transport=transport, **settings)
            )

        yield one


@pytest.fixture
def server(place: tuple[socket.socket, UnixAddress | InetAddress]) -> Callable[[], MailServer]:
    return lambda: MailServer(place[1])


def test_sigterm_waits_for_the_message_at_hand(
    start: Start, server: Callable[[], MailServer]
) -> None:
    doorman = start(guard_s=5.0)
    with server() as client:
        client.connect()
        client.mail("<a@b.test>")
        client.rcpt("<c@d.test>")
        client.content([(b"X-Do", b" nap")], [b"x\r\n"])
        client.write(b"E")
        time.sleep(NAP_S / 2)
        doorman.ask_to_stop()
        assert client.read() == (b"c", b"")
    doorman.stop(PROMPT_S)
    assert doorman.process.returncode == 0


def test_sigterm_waits_for_a_session_before_its_first_message(
    start: Start, server: Callable[[], MailServer]
) -> None:
    doorman = start(waits=["recipient"])
    with server() as client:
        client.connect()
        client.mail("<a@b.test>")
        assert client.rcpt("<c@d.test>") == (b"c", b"")
        doorman.ask_to_stop()
        time.sleep(0.2)
        client.content([(b"Subject", b" x")], [b"x\r\n"])
        assert client.end()[1] == b"c"
    doorman.stop(PROMPT_S)
    assert doorman.process.returncode == 0


def test_sigterm_does_not_wait_for_a_session_between_messages(
    start: Start, server: Callable[[], MailServer]
) -> None:
    doorman = start(grace_s=60.0)
    with server() as client:
        client.connect()
        assert client.message()[1] == b"c"
        doorman.stop(PROMPT_S)
        with pytest.raises((EOFError, ConnectionError)):
            client.read()


def test_sessions_are_cut_after_the_grace(start: Start, server: Callable[[], MailServer]) -> None:
    doorman = start(grace_s=0.3, waits=["recipient"])
    with server() as client:
        client.connect()
        client.mail("<a@b.test>")
        client.rcpt("<c@d.test>")
        said = doorman.stop(PROMPT_S)
        with pytest.raises((EOFError, ConnectionError)):
            client.read()
    assert "1 sessions cut" in said


def test_sighup_is_the_loops_and_ends_nothing(
    start: Start, server: Callable[[], MailServer]
) -> None:
    doorman = start()
    with server() as client:
        client.connect()
        doorman.process.send_signal(signal.SIGHUP)
        doorman.wait(["hup"])
        doorman.process.send_signal(signal.SIGHUP)
        assert client.message()[1] == b"c"
        client.quit()
    with server() as client:
        client.connect()
        assert client.message()[1] == b"c"
        client.quit()


def test_connections_wait_while_a_worker_restarts(
    start: Start,
    server: Callable[[], MailServer],
    place: tuple[socket.socket, UnixAddress | InetAddress],
) -> None:
    start("first").stop(PROMPT_S)
    early = server()
    early.write(b"O", early.offer)  # nobody serves yet
    start("second")
    assert early.read()[0] == b"O"
    early.sock.close()
    assert isinstance(place[1], UnixAddress)
    assert Path(place[1].path).is_socket()


def test_workers_share_a_socket_and_one_stops_without_the_other(
    start: Start, server: Callable[[], MailServer]
) -> None:
    first, second = start("first"), start("second")
    for _ in range(40):  # each wakes both: one of them comes too late for accept()
        with server() as client:
            client.connect()
            assert client.message()[1] == b"c"
            client.quit()
    first.stop(PROMPT_S)  # and with no traffic that could free a blocked accept()
    with server() as client:
        client.connect()
        assert client.message()[1] == b"c"
        client.quit()
    second.stop(PROMPT_S)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_worker_without_rights_leaves_the_socket_file(
    start: Start,
    server: Callable[[], MailServer],
    place: tuple[socket.socket, UnixAddress | InetAddress],
) -> None:
    assert isinstance(place[1], UnixAddress)
    nobody = pwd.getpwnam("nobody").pw_uid
    os.chown(place[1].path, nobody, -1)
    first, _ = start("first", user=nobody), start("second", user=nobody)
    first.stop(PROMPT_S)
    with server() as client:
        client.connect()
        assert client.message()[1] == b"c"
        client.quit()


def test_killed_in_a_session_only_that_session_is_lost(
    start: Start, server: Callable[[], MailServer]
) -> None:
    doomed = start("doomed", guard_s=5.0, waits=["recipient"])
    with server() as client:
        client.connect()
        client.mail("<a@b.test>")
        assert client.rcpt("<c@d.test>") == (b"c", b"")
        start("other")
        doomed.process.kill()
        with pytest.raises((EOFError, ConnectionError)):
            client.read()
    with server() as client:
        client.connect()
        assert client.message()[1] == b"c"
        client.quit()


def test_connections_over_the_limit_wait_for_their_turn(
    start: Start, server: Callable[[], MailServer]
) -> None:
    start(max_sessions=2, waits=["recipient"])
    with server() as one, server() as two:
        for client in (one, two):
            client.connect()
            client.mail("<a@b.test>")
            client.rcpt("<c@d.test>")
        waiting = server()
        waiting.write(b"O", waiting.offer)
        waiting.sock.settimeout(0.3)
        with pytest.raises(TimeoutError):
            waiting.read()
        one.abort()
        one.quit()
        waiting.sock.settimeout(PROMPT_S)
        assert waiting.read()[0] == b"O"
        waiting.sock.close()
        two.content([(b"Subject", b" x")], [])
        assert two.end()[1] == b"c"


def test_many_clients_at_once(start: Start, server: Callable[[], MailServer]) -> None:
    doorman = start()
    failed: list[BaseException] = []

    def client(number: int) -> None:
        try:
            for _ in range(5):
                with server() as mail_server:
                    mail_server.connect(ip=f"192.0.2.{number}")
                    for _ in range(3):
                        assert mail_server.message(body=b"x" * 3000)[1] == b"c"
                    mail_server.quit()
        except BaseException as error:  # noqa: BLE001 - told by the test's own thread
            failed.append(error)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(1, 17)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert failed == []
    assert "Traceback" not in doorman.stop(PROMPT_S)


def test_the_last_piece_of_a_body_may_come_with_the_end(
    open_folder: Path, place: tuple[socket.socket, UnixAddress | InetAddress]
) -> None:
    with Doorman(place[0], open_folder / "journal", transport="native") as doorman:
        with MailServer(place[1]) as client:
            client.connect()
            client.mail("<a@b.test>")
            client.rcpt("<c@d.test>")
            client.content([(b"Subject", b" x")], [b"one\r\n"])
            assert client.end(b"two\r\n")[1] == b"c"
            client.quit()
        assert doorman.told()[-2][1] == "Subject: x\r\n\r\none\r\ntwo\r\n"


def test_a_silent_connection_is_closed(
    open_folder: Path, place: tuple[socket.socket, UnixAddress | InetAddress]
) -> None:
    with Doorman(place[0], open_folder / "journal", transport="native", idle_s=0.4) as doorman:
        with MailServer(place[1]) as client:
            client.connect()
            time.sleep(0.2)
            assert client.message()[1] == b"c"
            with pytest.raises(EOFError):
                client.read()
        assert doorman.told()[-1] == ["close"]


@pytest.mark.parametrize(
    "early",
    [
        lambda client: client.write(b"L", b"Subject\0 x\0"),
        lambda client: client.write(b"B", b"x"),
        lambda client: client.write(b"E"),
        lambda client: client.rcpt("<c@d.test>"),
        lambda client: client.connect(),
        lambda client: client.negotiate(),
    ],
    ids=["header", "body", "end", "rcpt", "second-connect", "second-negotiation"],
)
def test_a_command_out_of_turn_ends_the_connection(
    open_folder: Path,
    place: tuple[socket.socket, UnixAddress | InetAddress],
    early: Callable[[MailServer], object],
) -> None:
    with (
        Doorman(place[0], open_folder / "journal", transport="native"),
        MailServer(place[1]) as client,
    ):
        client.connect()
        with pytest.raises((EOFError, ConnectionError)):  # noqa: PT012 - some of them read the answer themselves
            early(client)
            client.read()


def test_a_burst_of_bytes_waits_while_the_door_thinks(
    open_folder: Path, place: tuple[socket.socket, UnixAddress | InetAddress]
) -> None:
    """Backpressure: a mail server that does not wait for answers is not read faster than it is
    served.
    """
    with Doorman(place[0], open_folder / "journal", transport="native", guard_s=5.0) as doorman:
        with MailServer(place[1]) as client:
            client.connect()
            client.mail("<nap@b.test>")
            client.rcpt("<c@d.test>")
            client.content([(b"Subject", b" x")], [b"x" * 60_000] * 30)  # 1.8 MB
            assert client.end()[1] == b"c"
            client.quit()
        assert doorman.told()[-2][2] == len("Subject: x\r\n\r\n") + 1_800_000


def test_the_socket_is_the_callers_to_remove(
    start: Start, place: tuple[socket.socket, UnixAddress | InetAddress]
) -> None:
    start().stop(PROMPT_S)
    sock, address = place
    assert isinstance(address, UnixAddress)
    assert Path(address.path).is_socket()
    sockets.close_and_unlink(sock)
    assert not Path(address.path).exists()


def heard(server: MailServer) -> None:
    """Wait until the filter has read all that was said to it."""
    until = time.monotonic() + PROMPT_S
    while any(fcntl.ioctl(server.sock, termios.TIOCOUTQ, bytes(4))):
        assert time.monotonic() < until, "nobody reads"
        time.sleep(0.01)


@pytest.mark.parametrize("transport", ["native", "libmilter"])
def test_without_room_a_message_is_put_off_and_the_room_comes_back(
    open_folder: Path, place: tuple[socket.socket, UnixAddress | InetAddress], transport: str
) -> None:
    """What does not fit beside the others is let go as it comes, whatever the number of
    connections.
    """
    with Doorman(place[0], open_folder / "journal", transport=transport, room=400_000) as doorman:
        with MailServer(place[1]) as holder, MailServer(place[1]) as client:
            for one in (holder, client):
                one.connect()
                one.mail("<a@b.test>")
                one.rcpt("<c@d.test>")
            holder.content([(b"Subject", b" held")], [b"x" * 60_000] * 5)
            heard(holder)  # else either of them may be the one that does not fit
            client.content([(b"Subject", b" x")], [b"x" * 60_000] * 3)
            _, letter, words = client.end()
            assert (letter, words.rstrip(b"\0")) == (b"y", b"451 4.3.2 Too busy, try again later")
            assert holder.end()[1] == b"c"
            for _ in range(3):
                assert client.message(body=b"x" * 60_000)[1] == b"c"
            for one in (holder, client):
                one.quit()
        records = [*doorman.told(), *doorman.told()]
        ends = [record[0] for record in records if record[0] in {"end", "abort"}]
        assert (ends.count("abort"), ends.count("end")) == (1, 4)
