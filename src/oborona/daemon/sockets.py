"""Sockets to listen on, opened once by the parent of the workers.

And why one can't be opened, in words for an admin.

A socket file is bound with all permissions off, given owner and mode, and only then listened on: at
no moment can anyone connect who may not later.  A file left by a dead process is removed; one that
a live process answers is an error naming that process; what is not a socket is never touched.

Source: unix(7) (path length, SO_PEERCRED), tcp(7): accepted sockets inherit TCP_NODELAY from the
listening one, which is how libmilter, whose answers are several small writes, is spared 40 ms of
Nagle's algorithm. Known limits: two processes that start on one stale file in the same millisecond
are kept apart by the caller's lock, not here.
"""

from __future__ import annotations

import errno
import grp
import os
import pwd
import socket
import stat
import struct
from contextlib import suppress
from pathlib import Path
from typing import Final

from oborona.config.address import MAX_SOCKET_PATH, InetAddress, UnixAddress
from oborona.errors import SocketError

# connections that wait while workers restart; the kernel cuts it to net.core.somaxconn
BACKLOG: Final = 1024
# what a group is to who is in a name space without it. Source: user_namespaces(7)
HIDDEN_GID: Final = 65534
_UNCHANGED: Final = -1  # os.chown's word for "leave as it is"


def listen(
    address: UnixAddress | InetAddress,
    *,
    owner: str = "",
    group: str = "",
    mode: int = 0o660,
    backlog: int = BACKLOG,
) -> socket.socket:
    """Return a listening, non-blocking socket.

    Args:
        address: a socket file or a TCP port.
        owner: user of the socket file by name or number; empty leaves what the process has.
        group: the same for its group.
        mode: permissions of the socket file; whoever may write to it may connect.
        backlog: connections that may wait to be accepted.

    Raises:
        SocketError: it can't be; nothing is left behind.
    """
    if isinstance(address, UnixAddress):
        return _listen_unix(Path(address.path), _user(owner), _group(group), mode, backlog)
    return _listen_inet(address.host, address.port, backlog)


def give_socket_file(path: Path, *, owner: str, group: str, of: int) -> None:
    """Give a socket file that a daemon made to whom the settings want, which the daemon itself may
    have no right to.

    Whatever the daemon may have put in its place, nothing but a socket of its own is given.

    Args:
        path: of the file.
        owner: user by name or number; empty leaves it.
        group: the same for its group.
        of: the daemon's user.

    Raises:
        SocketError: it is not there, not a socket, another one's, or can't be given.
    """
    uid, gid = _user(owner), _group(group)
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise SocketError(f"{path}: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISSOCK(status.st_mode) or status.st_uid not in (of, uid):
            raise SocketError(f"{path}: is no socket of the daemon's user")
        os.chown(
            f"/proc/self/fd/{descriptor}", uid, gid
        )  # what is held, whatever bears the name by now
    except OSError as error:
        raise SocketError(f"{path}: {_why(error, path)}") from error
    finally:
        os.close(descriptor)


def close_and_unlink(sock: socket.socket) -> None:
    """Close a listening socket and remove its file, unless another process's is there by now.

    A second call does nothing.

    To be called by the process that made it. Children may still listen on copies of it; who
    connects by name is refused.
    """
    if sock.fileno() < 0:
        return
    name = sock.getsockname()
    unix = sock.family == socket.AF_UNIX
    sock.close()
    if unix:
        path = Path(name)
        with suppress(OSError):
            if stat.S_ISSOCK(path.lstat().st_mode) and _listener(path) in {None, os.getpid()}:
                path.unlink()


def closed_folder(path: Path) -> Path | None:
    """Return the first folder on the way to a socket file that is closed to others.

    None = none, or it can't be told.

    A folder that lets in the socket's group is not closed: it is the mail server's, unless it is
    our own.  Whose group a name space of users hides (PrivateUsers= of a unit) can't be told, nor
    could the socket be given to it yet.
    """
    try:
        group = path.stat().st_gid
    except OSError:
        group = os.getegid()
    folder = path.parent.resolve()
    for parent in (*reversed(folder.parents), folder):
        try:
            status = parent.stat()
        except OSError:
            return None
        for_group = (
            status.st_gid in (group, HIDDEN_GID)
            and status.st_gid != os.getegid()
            and status.st_mode & stat.S_IXGRP
        )
        if not status.st_mode & stat.S_IXOTH and not for_group:
            return parent
    return None


# --- socket files ---------------------------------------------------------------------------------


def _listen_unix(path: Path, uid: int, gid: int, mode: int, backlog: int) -> socket.socket:
    length = len(os.fsencode(path))
    if length > MAX_SOCKET_PATH:
        raise SocketError(
            f"{path}: the path has {length} bytes; the system allows {MAX_SOCKET_PATH}"
        )
    _make_way(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    bound = False
    try:
        umask = os.umask(0o777)
        try:
            sock.bind(str(path))
        finally:
            os.umask(umask)
        bound = True
        status = path.lstat()
        if (
            uid not in (_UNCHANGED, status.st_uid) or gid not in (_UNCHANGED, status.st_gid)
        ) and _is_mapped(uid, gid):
            os.chown(path, uid, gid)
        path.chmod(mode)
        sock.listen(backlog)
        sock.setblocking(False)
    except OSError as error:
        sock.close()
        if bound:
            with suppress(OSError):
                path.unlink()
        raise SocketError(f"{path}: {_why(error, path)}") from error
    return sock


def _is_mapped(uid: int, gid: int) -> bool:
    """Whether this process's user name space has these.

    Where it does not, as in our units, who made it gives the file away (`give_socket_file`).

    Source: user_namespaces(7).
    """
    for file, number in (("uid_map", uid), ("gid_map", gid)):
        spans = [
            [int(word) for word in line.split()]
            for line in Path("/proc/self", file).read_text().splitlines()
        ]
        if number != _UNCHANGED and not any(
            first <= number < first + count for first, _, count in spans
        ):
            return False
    return True


def _make_way(path: Path) -> None:
    """Remove the socket file of a process that is gone.

    Raises:
        SocketError: it is not a socket, or somebody answers, or it can't be told.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise SocketError(f"{path}: {_why(error, path)}") from error
    if not stat.S_ISSOCK(status.st_mode):
        raise SocketError(f"{path}: is there and is no socket; remove it, or listen elsewhere")
    try:
        pid = _listener(path)
        if pid is None:
            path.unlink()
            return
    except OSError as error:
        raise SocketError(f"{path}: {_why(error, path)}") from error
    by = f" by process {pid}" if pid else ""
    raise SocketError(f"{path}: is in use{by}; stop it, or listen elsewhere")


def _listener(path: Path) -> int | None:
    """Return the process that listens on a socket file, 0 if it can't be told which, None if there
    is none.

    Raises:
        OSError: it can't be told whether anyone does.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return None
        except BlockingIOError:
            return 0  # its backlog is full: alive, and busy
        # a client sees the process that called listen()
        pid, _, _ = struct.unpack(
            "iII", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        )
        return int(pid)


def _user(name: str) -> int:
    if not name:
        return _UNCHANGED
    if name.isdecimal():
        return int(name)
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        raise SocketError(f"no user {name!r} to own the socket") from None


def _group(name: str) -> int:
    if not name:
        return _UNCHANGED
    if name.isdecimal():
        return int(name)
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        raise SocketError(f"no group {name!r} to own the socket") from None


# --- TCP ------------------------------------------------------------------------------------------


def _listen_inet(host: str, port: int, backlog: int) -> socket.socket:
    name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError) as error:
        raise SocketError(f"{name}: {error}") from error
    family, kind, protocol, _, where = addresses[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(where)
        sock.listen(backlog)
        sock.setblocking(False)
    except OSError as error:
        sock.close()
        raise SocketError(f"{name}: {_why(error)}") from error
    return sock


def _why(error: OSError, path: Path | None = None) -> str:
    """Return the reason in words that say what to mend."""
    folder = path.parent if path else ""
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR if path:
            return f"there is no folder {folder}"
        case errno.EACCES if path:
            return f"no permission to make a socket in {folder}, or to reach one there"
        case errno.EACCES:
            return "no permission to listen on this port"
        case errno.EPERM:
            return "no permission to give the socket its owner or group"
        case errno.EADDRINUSE:
            return "is in use by another process"
        case errno.EADDRNOTAVAIL:
            return "is no address of this machine"
    return error.strerror or str(error)
