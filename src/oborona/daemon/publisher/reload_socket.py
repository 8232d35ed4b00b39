"""The protocol of `oborona policy reload` and the publisher: a line as the request and a JSON
object as the answer, over a socket in the state folder.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.config import UnixAddress
from oborona.daemon import sockets
from oborona.errors import StoreError
from oborona.telemetry.status import PolicyRefusal

RELOAD: Final = b"reload\n"
WORD_S: Final = 1.0  # who has connected may take to say its word: nothing else is done meanwhile
_ANSWER_BYTES: Final = 1 << 16


class ReloadOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a look at the policy files."""

    version: str  # in force now
    # the version that was in force before it; empty: there was none since the start
    before: str = ""
    rules: int = 0  # of the policy in force
    changed: bool = False  # another one than before
    reworded: bool = False  # the same one, and other files
    seconds: float = 0.0  # it took
    age_s: float = 0.0  # since it came into force
    workers: int = 0  # that judge by it
    late: tuple[int, ...] = ()  # that do not yet; they load it before their next message
    refused: PolicyRefusal | None = None  # the files are broken, the old policy stays
    trouble: str = ""  # the files are right, and the old policy stays all the same


def listen(state: Path) -> socket.socket:
    """Return the publisher's listening socket.

    Raises:
        SocketError: it can't be opened.
    """
    return sockets.listen(
        UnixAddress(str((state / state_files.POLICY_SOCKET).absolute())), mode=0o600
    )


def ask_reload(state: Path, patience_s: float) -> ReloadOutcome | None:
    """Have the policy files read now, and return what came of it.

    None when nobody publishes, or answers in time.

    Raises:
        StoreError: the socket is there, and is not for who asks.
    """
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(patience_s)
            line.connect(str(state / state_files.POLICY_SOCKET))
            line.sendall(RELOAD)
            with line.makefile("rb") as answer:
                return msgspec.json.decode(answer.read(_ANSWER_BYTES), type=ReloadOutcome)
    except PermissionError as error:
        raise StoreError(f"{state / state_files.POLICY_SOCKET}: {error.strerror}") from error
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def accept_reload(listener: socket.socket) -> socket.socket | None:
    """Take one connection; return it if it asks for a reload."""
    try:
        line, _ = listener.accept()
    except OSError:  # gone again, or no descriptor left
        return None
    line.settimeout(WORD_S)
    try:
        if line.recv(len(RELOAD), socket.MSG_WAITALL) == RELOAD:
            return line
    except OSError:
        pass
    line.close()
    return None


def answer_reload(line: socket.socket, outcome: ReloadOutcome) -> None:
    """Answer and hang up; who asked may be gone."""
    with line:
        try:
            line.sendall(msgspec.json.encode(outcome))
        except OSError:
            return
