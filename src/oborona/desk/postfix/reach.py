"""What an address of a milter leads to for an smtpd: in its chroot, as its user.

Root tries it: a child takes Postfix's root folder and user, as smtpd does before it connects, and
hands the connected socket back.  Anybody else connects as who he is, which proves less;
`ListenerConnection.proved` tells.

Source: chroot_uid(3) of Postfix 3.7 (chroot, then the user with all its groups); postconf(5): a
socket's name counts from the queue directory, in a chroot absolute ones too.
Limits: a network namespace or an AppArmor profile of Postfix alone is not imitated.
"""

from __future__ import annotations

import os
import pwd
import re
import socket
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from oborona.config import Address, UnixAddress
from oborona.desk.postfix.instance import PostfixError, PostfixInstance, Smtpd

CONNECT_S: Final = 3.0
REASON_BYTES: Final = 1000

_INET: Final = re.compile(
    r"inet6?:(?:(?P<host>\[[^\]]+\]|[^:\s]+):)?(?P<port>\d{1,5})", re.IGNORECASE
)
_LOCAL: Final = {"localhost": "127.0.0.1", "": "127.0.0.1"}


class UnreachableError(PostfixError):
    """An smtpd gets nobody at an address; the text says why and what is in its way."""


class ListenerConnection(NamedTuple):
    """A connection to whoever listens at an address."""

    peer: socket.socket
    proved: bool  # made as smtpd makes it; else as who asks


def word_for(address: Address, queue: Path) -> str:
    """Return how main.cf names a listener of ours: a socket below the queue directory from there,
    which is right with a chroot and without.
    """
    if isinstance(address, UnixAddress):
        path = Path(address.path)
        return f"unix:{path.relative_to(queue)}" if path.is_relative_to(queue) else address.postfix
    return address.postfix


def place(word: str, smtpd: Smtpd, queue: Path) -> Path | tuple[str, int] | None:
    """Return what an address of main.cf means to an smtpd: a path as it is outside of any chroot,
    host and port, or None for neither.
    """
    scheme, _, rest = word.partition(":")
    if scheme.lower() in ("unix", "local") and rest:
        return Path(os.path.normpath(queue / rest.lstrip("/") if smtpd.chroot else queue / rest))
    match = _INET.fullmatch(word)
    if match is None:
        return None
    host = (match["host"] or "").strip("[]").lower()
    return _LOCAL.get(host, host), int(match["port"])


def leads_to(word: str, address: Address, smtpd: Smtpd, queue: Path) -> bool:
    """Tell whether an address of main.cf is our listener to an smtpd."""
    meant = place(word, smtpd, queue)
    if isinstance(address, UnixAddress):
        return isinstance(meant, Path) and meant == Path(os.path.normpath(address.path))
    return meant is not None and meant == place(address.postfix, smtpd, queue)


def means(word: str, address: Address) -> bool:
    """Tell whether an address of main.cf was written for a socket of ours, wherever it leads: the
    same path, or the end of it.
    """
    scheme, _, path = word.partition(":")
    if (
        not isinstance(address, UnixAddress)
        or scheme.lower() not in ("unix", "local")
        or not path.strip("/")
    ):
        return False
    return address.path.endswith(f"/{path.lstrip('/')}")


def reach(word: str, smtpd: Smtpd, postfix: PostfixInstance) -> ListenerConnection:
    """Connect to a milter's address as an smtpd does.

    Raises:
        UnreachedError: it can't be.
    """
    meant = place(word, smtpd, postfix.queue)
    if meant is None:
        raise UnreachableError(
            f"{word}: no address that Postfix takes; write inet:HOST:PORT or unix:PATH"
        )
    if os.geteuid():
        try:
            return ListenerConnection(_connected(meant), proved=False)
        except OSError as error:
            raise UnreachableError(f"{word}: {_why(meant, error)}") from None
    return ListenerConnection(_as_smtpd(word, meant, smtpd, postfix), proved=True)


def _as_smtpd(
    word: str, meant: Path | tuple[str, int], smtpd: Smtpd, postfix: PostfixInstance
) -> socket.socket:
    try:
        user = pwd.getpwnam(postfix.owner)
    except KeyError:
        raise UnreachableError(
            f"there is no user {postfix.owner!r} (mail_owner of {postfix.folder})"
        ) from None
    ours, childs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, childs:
        child = os.fork()
        if child == 0:
            _be_smtpd(childs, meant, smtpd.chroot, postfix.queue, user)
        try:
            ours.settimeout(CONNECT_S * 2)
            reason, sockets, _, _ = socket.recv_fds(ours, REASON_BYTES, 1)
        finally:
            os.waitpid(child, 0)
    if sockets:
        return socket.socket(fileno=sockets[0])
    why = reason.decode("utf-8", "replace") or "the process that tried it ended without an answer"
    where = f" in its chroot {postfix.queue}" if smtpd.chroot else ""
    raise UnreachableError(
        f"smtpd of {smtpd.name}, as user {user.pw_name}{where}, can't reach {word}: {why}"
    )


def _be_smtpd(
    channel: socket.socket,
    meant: Path | tuple[str, int],
    chroot: bool,
    queue: Path,
    user: pwd.struct_passwd,
) -> None:
    """Become what smtpd is, connect, hand the socket over, and end; in the child."""
    try:
        try:
            if chroot and isinstance(meant, Path):
                os.chroot(queue)
                os.chdir("/")
                meant = (
                    Path("/") / meant.relative_to(queue) if meant.is_relative_to(queue) else meant
                )
            os.setgid(user.pw_gid)
            os.initgroups(user.pw_name, user.pw_gid)
            os.setuid(user.pw_uid)
            with _connected(meant) as peer:
                socket.send_fds(channel, [b"+"], [peer.fileno()])
        except OSError as error:
            channel.send(_why(meant, error).encode("utf-8", "replace")[:REASON_BYTES])
    finally:
        os._exit(0)


def _connected(meant: Path | tuple[str, int]) -> socket.socket:
    if isinstance(meant, tuple):
        return socket.create_connection(meant, timeout=CONNECT_S)
    peer = socket.socket(socket.AF_UNIX)
    try:
        peer.settimeout(CONNECT_S)
        peer.connect(str(meant))
    except OSError:
        peer.close()
        raise
    return peer


def _why(meant: Path | tuple[str, int], error: OSError) -> str:
    """Return what is in the way, as who asks sees it: the first folder or the socket that stops
    him.
    """
    reason = str(error.strerror or error)
    if isinstance(meant, tuple) or isinstance(error, ConnectionRefusedError):
        return (
            f"{reason}: nobody listens there"
            if isinstance(error, ConnectionRefusedError)
            else reason
        )
    for folder in reversed(meant.parents):
        if not os.path.lexists(folder):
            return f"{reason}: there is no folder {folder}"
        if not os.access(folder, os.X_OK):
            return f"{reason}: folder {folder} is {_mode(folder)}"
    if not os.path.lexists(meant):
        return f"{reason}: there is no {meant}"
    return f"{reason}: {meant} is {_mode(meant)}"


def _mode(path: Path) -> str:
    with suppress(OSError):
        details = path.stat()
        return f"{stat.filemode(details.st_mode)} of user {details.st_uid}, group {details.st_gid}"
    return "closed"
