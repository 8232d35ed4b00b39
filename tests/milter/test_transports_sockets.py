"""Listening sockets: who may connect, what is in the way, and errors that say what to mend."""

from __future__ import annotations

import errno
import grp
import os
import pwd
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from oborona.config.address import InetAddress, UnixAddress
from oborona.daemon import sockets
from oborona.errors import SocketError

root_only = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can give files away or lack no permission"
)


@pytest.fixture
def path(open_folder: Path) -> Path:
    return open_folder / "milter.sock"


def test_a_socket_file_has_its_owner_and_mode(path: Path) -> None:
    umask = os.umask(0o077)
    try:
        sock = sockets.listen(UnixAddress(str(path)), mode=0o660)
        assert os.umask(0o077) == 0o077  # left as it was
    finally:
        os.umask(umask)
    with sock:
        assert stat.S_IMODE(path.stat().st_mode) == 0o660
        assert sock.getblocking() is False
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            peer, _ = sock.accept()
            peer.close()


@root_only
@pytest.mark.parametrize("by", ["name", "number"])
def test_a_socket_file_can_be_given_away(path: Path, by: str) -> None:
    user, group = pwd.getpwnam("nobody"), grp.getgrnam("mail")
    owner = user.pw_name if by == "name" else str(user.pw_uid)
    members = group.gr_name if by == "name" else str(group.gr_gid)
    with sockets.listen(UnixAddress(str(path)), owner=owner, group=members, mode=0o600):
        found = path.stat()
        assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (
            user.pw_uid,
            group.gr_gid,
            0o600,
        )


def test_nobody_can_connect_before_owner_and_mode_are_right(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int]] = []
    chmod = Path.chmod

    def look(self: Path, mode: int, **options: bool) -> None:
        with socket.socket(socket.AF_UNIX) as early:
            seen.append((stat.S_IMODE(self.stat().st_mode), early.connect_ex(str(self))))
        chmod(self, mode, **options)

    monkeypatch.setattr(Path, "chmod", look)
    with sockets.listen(UnixAddress(str(path)), mode=0o666):
        assert len(seen) == 1
        mode, error = seen[0]
        assert mode == 0
        assert error in (errno.ECONNREFUSED, errno.EACCES)


def test_the_file_of_a_dead_process_is_removed(path: Path) -> None:
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(path))
    dead.listen()
    dead.close()
    with sockets.listen(UnixAddress(str(path))):
        assert path.is_socket()


def test_a_live_socket_is_an_error_that_names_its_process(path: Path) -> None:
    program = (
        "import socket,sys; s=socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); "
        "print('up', flush=True); input()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "up\n"
        with pytest.raises(SocketError, match=f"{path}.* in use by process {other.pid}"):
            sockets.listen(UnixAddress(str(path)))
        assert path.is_socket()
    finally:
        other.communicate("")


def test_a_live_socket_whose_queue_is_full_is_live(path: Path) -> None:
    busy = socket.socket(socket.AF_UNIX)
    busy.bind(str(path))
    busy.listen(0)
    waiting = socket.socket(socket.AF_UNIX)
    waiting.connect(str(path))
    with busy, waiting, pytest.raises(SocketError, match="in use"):
        sockets.listen(UnixAddress(str(path)))


@pytest.mark.parametrize("kind", ["file", "folder", "link", "pipe"])
def test_what_is_no_socket_is_never_removed(path: Path, kind: str) -> None:
    match kind:
        case "file":
            path.write_text("precious")
        case "folder":
            path.mkdir()
        case "link":
            path.with_name("target").write_text("precious")
            path.symlink_to("target")
        case "pipe":
            os.mkfifo(path)
    before = path.lstat()
    with pytest.raises(SocketError, match="no socket"):
        sockets.listen(UnixAddress(str(path)))
    assert path.lstat().st_ino == before.st_ino


def test_a_link_to_a_socket_is_no_socket(path: Path) -> None:
    with sockets.listen(UnixAddress(str(path))):
        link = path.with_name("link")
        link.symlink_to(path)
        with pytest.raises(SocketError, match="no socket"):
            sockets.listen(UnixAddress(str(link)))


def test_the_folder_must_be_there(path: Path) -> None:
    with pytest.raises(SocketError, match=f"no folder {path.parent}/missing"):
        sockets.listen(UnixAddress(f"{path.parent}/missing/milter.sock"))
    path.write_text("a file where a folder should be")
    with pytest.raises(SocketError, match="no folder"):
        sockets.listen(UnixAddress(f"{path}/milter.sock"))


@pytest.mark.parametrize("length", [107, 108])
def test_the_systems_limit_of_a_path(open_folder: Path, length: int) -> None:
    path = f"{open_folder}/" + "x" * (length - len(str(open_folder)) - 1)
    if length == 107:
        sockets.listen(UnixAddress(path)).close()
    else:
        with pytest.raises(SocketError, match="108 bytes; the system allows 107"):
            sockets.listen(UnixAddress(path))


@pytest.mark.parametrize(("owner", "group"), [("no-such-user", ""), ("", "no-such-group")])
def test_names_that_do_not_exist(path: Path, owner: str, group: str) -> None:
    with pytest.raises(SocketError, match="no-such"):
        sockets.listen(UnixAddress(str(path)), owner=owner, group=group)
    assert not path.exists()


@root_only
def test_without_permission(path: Path) -> None:
    path.parent.chmod(0o755)
    nobody = pwd.getpwnam("nobody").pw_uid
    os.seteuid(nobody)
    try:
        with pytest.raises(SocketError, match=f"no permission to make a socket in {path.parent}"):
            sockets.listen(UnixAddress(str(path)))
    finally:
        os.seteuid(0)
    path.parent.chmod(0o777)
    os.seteuid(nobody)
    try:
        with pytest.raises(SocketError, match="no permission to give"):
            sockets.listen(UnixAddress(str(path)), owner="root")
        assert not path.exists()  # nothing is left behind
    finally:
        os.seteuid(0)


@root_only
def test_the_socket_of_another_user_that_we_may_not_ask(path: Path) -> None:
    path.parent.chmod(0o777)
    with sockets.listen(UnixAddress(str(path)), mode=0o600):
        os.seteuid(pwd.getpwnam("nobody").pw_uid)
        try:
            with pytest.raises(SocketError, match="no permission"):
                sockets.listen(UnixAddress(str(path)))
        finally:
            os.seteuid(0)
        assert path.is_socket()


def test_closing_removes_the_file(path: Path) -> None:
    sock = sockets.listen(UnixAddress(str(path)))
    sockets.close_and_unlink(sock)
    assert sock.fileno() == -1
    assert not path.exists()
    sockets.close_and_unlink(sock)  # nothing is left to do


def test_closing_removes_the_file_while_children_have_copies(path: Path) -> None:
    sock = sockets.listen(UnixAddress(str(path)))
    with sock.dup():
        sockets.close_and_unlink(sock)
        assert not path.exists()


def test_closing_leaves_the_file_of_one_who_came_after(path: Path) -> None:
    first = sockets.listen(UnixAddress(str(path)))
    path.unlink()
    script = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); "
        "s.listen(); print(); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        sockets.close_and_unlink(first)
        assert path.is_socket()
        other.communicate(b"\n", timeout=20)


def test_closing_leaves_what_is_no_socket(path: Path) -> None:
    sock = sockets.listen(UnixAddress(str(path)))
    path.unlink()
    path.write_text("precious")
    sockets.close_and_unlink(sock)
    assert path.read_text() == "precious"


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_a_tcp_port(host: str) -> None:
    family = socket.AF_INET6 if host == "::1" else socket.AF_INET
    with socket.socket(family) as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            pytest.skip(f"no {host} here")
        port = probe.getsockname()[1]
    with sockets.listen(InetAddress(host, port)) as sock:
        assert sock.getblocking() is False
        with socket.create_connection(sock.getsockname()[:2]) as client:
            sock.setblocking(True)
            peer, _ = sock.accept()
            with peer:
                # libmilter never asks for it
                assert peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                client.sendall(b"x")
                assert peer.recv(1) == b"x"
        with pytest.raises(SocketError, match=f"{port}: is in use"):
            sockets.listen(InetAddress(host, port))
    sockets.close_and_unlink(sockets.listen(InetAddress(host, port)))


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("192.0.2.1", "no address of this machine"),
        ("no-such-host.invalid", "no-such-host.invalid:8890"),
    ],
)
def test_a_host_that_is_not_ours(host: str, why: str) -> None:
    with pytest.raises(SocketError, match=why):
        sockets.listen(InetAddress(host, 8890))


@root_only
def test_the_first_folder_that_is_closed_to_others_is_named(open_folder: Path) -> None:
    inner = open_folder / "outer/inner"
    inner.mkdir(parents=True)
    socket_file = inner / "milter.sock"
    assert sockets.closed_folder(socket_file) is None
    inner.chmod(0o750)
    assert sockets.closed_folder(socket_file) == inner
    (open_folder / "outer").chmod(0o700)
    assert sockets.closed_folder(socket_file) == open_folder / "outer"
    (open_folder / "outer").chmod(0o755)

    os.chown(inner, -1, sockets.HIDDEN_GID)
    assert sockets.closed_folder(socket_file) is None, "a unit's name space hides whose it is"
    mail = grp.getgrnam("mail").gr_gid
    os.chown(inner, -1, mail)
    with sockets.listen(UnixAddress(str(socket_file)), group="mail"):
        assert sockets.closed_folder(socket_file) is None, "whom the socket is for may enter"
        inner.chmod(0o740)
        assert sockets.closed_folder(socket_file) == inner

    (open_folder / "link").symlink_to(inner)
    assert sockets.closed_folder(open_folder / "link/milter.sock") == inner
