"""The settings of etc/oborona.toml: one Struct per section, and the only list of them.

Name, type, range, default, unit (in the name) and meaning stand here once; the reader, the sample file
etc/oborona.toml and docs/settings.md come from it. Changing policy (scores, rules) needs no setting: see etc/policy.d.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from oborona.config.address import EXAMPLES, Address, parse_address
from oborona.errors import ConfigError

MIB: Final = 1024 * 1024


def _nodes(value: str) -> None:
    for one in value.split():
        try:
            parse_address(f"inet:{one}")
        except ConfigError:
            raise ValueError(f"{one!r} is no node; write HOST:PORT") from None


def _listens(value: str) -> None:
    try:
        parse_address(value)
    except ConfigError as fault:
        raise ValueError(fault.problem) from None


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """Who we are, as others see it."""

    name: Annotated[
        str,
        Meta(
            pattern=r"\A[A-Za-z0-9]?[A-Za-z0-9.-]*\Z",
            max_length=253,
            description="Names this site in Authentication-Results (its authserv-id). Empty: the host's own name.",
            extra={"allowed": 'a host name, or ""'},
        ),
    ] = ""
    contact: Annotated[
        str,
        Meta(
            pattern=r"\A[!-$&-~]*\Z",  # a percent sign means something to libmilter
            max_length=200,
            description="Where people whose mail was refused may ask: a URL or a mail address, shown in refusals.",
            extra={"allowed": 'a URL or mail address in ASCII without spaces and %, or ""'},
        ),
    ] = ""


class Paths(msgspec.Struct, frozen=True, kw_only=True):
    """Where things lie. Relative paths count from the folder of the settings file."""

    state: Annotated[
        str,
        Meta(
            pattern=r"\A[^\x00-\x1f\x7f]+\Z",
            max_length=4096,
            description="Folder of counters and journal.",
            extra={"allowed": "a path"},
        ),
    ] = "/var/lib/oborona"
    policy: Annotated[
        str,
        Meta(
            pattern=r"\A[^\x00-\x1f\x7f]+\Z",
            max_length=4096,
            description="Folder of policy files, *.toml.",
            extra={"allowed": "a path"},
        ),
    ] = "policy.d"


class Milter(msgspec.Struct, frozen=True, kw_only=True):
    """The door for Postfix and Sendmail, and the processes behind it."""

    listen: Annotated[
        str,
        Meta(
            max_length=300,
            description="Where mail servers reach us: unix:PATH, inet:PORT@HOST, inet:HOST:PORT or inet6:PORT@ADDRESS.",
            extra={"allowed": EXAMPLES, "check": _listens},
        ),
    ] = "unix:/run/oborona/milter.sock"
    socket_owner: Annotated[
        str,
        Meta(
            pattern=r"\A[A-Za-z0-9_.@$-]*\Z",
            max_length=64,
            description="User who owns the socket file. Empty: who starts us.",
            extra={"allowed": 'a user name, or ""'},
        ),
    ] = ""
    socket_group: Annotated[
        str,
        Meta(
            pattern=r"\A[A-Za-z0-9_.@$-]*\Z",
            max_length=64,
            description="Group of the socket file; the mail server must be in it. Empty: that of who starts us.",
            extra={"allowed": 'a group name, or ""'},
        ),
    ] = ""
    socket_mode: Annotated[
        str,
        Meta(
            pattern=r"\A0?[0-7]{3}\Z",
            description="Permissions of the socket file, octal.",
            extra={"allowed": 'three octal digits in quotes, such as "0660"'},
        ),
    ] = "0660"
    transport: Annotated[
        Literal["native", "libmilter"],
        Meta(description="What speaks the protocol: our own codec on the event loop, or Sendmail's library."),
    ] = "native"
    workers: Annotated[
        int, Meta(ge=0, le=256, description="Worker processes. 0: one per processor core.")
    ] = 0
    max_message_bytes: Annotated[
        int,
        Meta(
            ge=65_536, le=1024 * MIB, description="Of a message larger than this, the head alone is scanned."
        ),
    ] = 10 * MIB
    deadline_s: Annotated[
        float,
        Meta(
            ge=0.1,
            le=290,
            description="What a scan waits for (stores) must answer within this; its own work is bounded by limits. Postfix waits 300 s.",
        ),
    ] = 10.0
    command_deadline_s: Annotated[
        float,
        Meta(ge=0.1, le=29, description="The same for any earlier command; Postfix itself waits 30 s."),
    ] = 5.0
    on_failure: Annotated[
        Literal["accept", "tempfail"],
        Meta(
            description="The answer when a scan misses its deadline or fails: let it in, or ask to try again."
        ),
    ] = "accept"
    drain_s: Annotated[
        float,
        Meta(ge=0, le=3600, description="How long sessions in flight may go on after we were told to stop."),
    ] = 10.0
    idle_s: Annotated[
        float,
        Meta(
            ge=10, le=86_400, description="Close a connection on which the mail server is silent this long."
        ),
    ] = 1800.0
    max_sessions: Annotated[
        int, Meta(ge=1, le=100_000, description="Connections that one worker serves at a time; others wait.")
    ] = 1000

    @property
    def address(self) -> Address:
        """`listen`, parsed."""
        return parse_address(self.listen)

    @property
    def mode(self) -> int:
        """`socket_mode` as a number."""
        return int(self.socket_mode, 8)


class Counters(msgspec.Struct, frozen=True, kw_only=True):
    """Windowed counts of the pieces of messages."""

    store: Annotated[
        Literal["lmdb", "cluster"],
        Meta(
            description="Where they are kept: on this machine, or in a cluster of Redis, Valkey or Kvrocks that several share."
        ),
    ] = "lmdb"
    flush_s: Annotated[
        float, Meta(ge=0.01, le=10, description="Workers hand over what they counted this often.")
    ] = 0.1
    durability: Annotated[
        Literal["second", "commit", "none"],
        Meta(
            description="What a power failure leaves of what was counted: all but the last second; all that was"
            " handed over; or what the kernel happened to have written."
        ),
    ] = "second"
    doorkeeper_mib: Annotated[
        int,
        Meta(
            ge=0,
            le=16_384,
            description="Memory for shingles seen once, in MiB, rounded down to a power of two: they need no record. 16"
            " hold four million; 0: all get records. A cluster has room for them in its pages: there any other number is"
            " the same.",
        ),
    ] = 16
    map_mib: Annotated[
        int,
        Meta(ge=1, le=1_048_576, description="First size of the store's map, in MiB; it grows by itself."),
    ] = 64


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster of counters, if they are kept in one."""

    nodes: Annotated[
        str,
        Meta(
            max_length=4096,
            description="Some of its nodes, with spaces between; they name the others.",
            extra={"allowed": 'HOST:PORT, several with spaces between, or ""', "check": _nodes},
        ),
    ] = ""
    user: Annotated[
        str, Meta(max_length=256, description="Whom to log in as. Empty: the default user of the nodes.")
    ] = ""
    password_file: Annotated[
        str,
        Meta(
            max_length=4096,
            pattern=r"\A(/[^\x00-\x1f\x7f]+)?\Z",
            description="File that holds the password and nothing else. Empty: none is asked for.",
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
    certificates: Annotated[
        str,
        Meta(
            max_length=4096,
            pattern=r"\A(/[^\x00-\x1f\x7f]+)?\Z",
            description="File of the certificates that vouch for the nodes, for TLS. Empty: no TLS.",
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
    deadline_s: Annotated[
        float,
        Meta(ge=0.001, le=10, description="A scan waits so long for counts, then goes on with those it has."),
    ] = 0.05
    stale_s: Annotated[
        float,
        Meta(ge=0, le=60, description="A worker asks for the same counts again after this long."),
    ] = 0.2


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """The record of every verdict."""

    batch_s: Annotated[
        float, Meta(ge=0.01, le=60, description="Verdicts are written together this often.")
    ] = 0.25
    retention_hours: Annotated[
        float,
        Meta(ge=1, le=87_600, description="Verdicts older than this are dropped; 336 hours are two weeks."),
    ] = 336.0
    max_rows: Annotated[
        int, Meta(ge=1000, le=1_000_000_000, description="Beyond this many verdicts the oldest are dropped.")
    ] = 5_000_000


class Log(msgspec.Struct, frozen=True, kw_only=True):
    """What is logged, to standard error."""

    level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(description="The least important lines that are logged."),
    ] = "info"
    format: Annotated[
        Literal["text", "json"], Meta(description="One line of key=value pairs, or of JSON.")
    ] = "text"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All sections."""

    site: Site = Site()
    paths: Paths = Paths()
    milter: Milter = Milter()
    counters: Counters = Counters()
    cluster: Cluster = Cluster()
    journal: Journal = Journal()
    log: Log = Log()


SECTIONS: Final[dict[str, type[msgspec.Struct]]] = {
    "site": Site,
    "paths": Paths,
    "milter": Milter,
    "counters": Counters,
    "cluster": Cluster,
    "journal": Journal,
    "log": Log,
}
