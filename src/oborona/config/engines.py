"""Settings of the engines that look at the same messages side by side with ours
(docs/mail-servers/engines.md).
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from oborona.config.address import Address, parse_address
from oborona.config.doors import check_optional_address

MIB: Final = 1024 * 1024
ADDRESS: Final = "unix:PATH or inet:HOST:PORT"
MAX_BYTES: Final = 1024 * MIB


def check_engine_address(value: str) -> None:
    if value and value.partition(":")[0] not in ("unix", "local", "inet", "inet6"):
        raise ValueError(f"no address; write {ADDRESS}")
    check_optional_address(value)


class EngineSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is set of each engine."""

    ask: str = ""
    deadline_s: Annotated[
        float,
        Meta(
            ge=0.05,
            le=60,
            description=(
                "It answers within this, or its opinion is unknown; less than `deadline_s` of "
                "[worker]."
            ),
        ),
    ] = 5.0
    max_bytes: int = MIB
    max_questions: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description=(
                "Messages that one worker asks it about at a time; of further ones its "
                "opinion is unknown."
            ),
        ),
    ] = 32

    @property
    def address(self) -> Address:
        """`ask`, parsed."""
        return parse_address(self.ask)


class RspamdSettings(EngineSettings, frozen=True, kw_only=True):
    """rspamd, asked over HTTP (its normal worker, or a proxy that scans itself)."""

    ask: Annotated[
        str,
        Meta(
            max_length=300,
            description=(
                "Where it is: the whole message goes there, and who it is from and for. "
                "Empty: it is not asked."
            ),
            extra={
                "allowed": f'{ADDRESS}, such as inet:127.0.0.1:11333, or ""',
                "check": check_engine_address,
            },
        ),
    ] = ""
    max_bytes: Annotated[
        int,
        Meta(
            ge=1024,
            le=MAX_BYTES,
            description=(
                "It is not asked about larger messages, for a head alone would break their "
                "signatures."
            ),
        ),
    ] = 10 * MIB
    password_file: Annotated[
        str,
        Meta(
            max_length=4096,
            pattern=r"\A(/[^\x00-\x1f\x7f]+)?\Z",
            description="File that holds its password and nothing else. Empty: none is sent.",
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""


class SpamAssassinSettings(EngineSettings, frozen=True, kw_only=True):
    """SpamAssassin's spamd, asked in the protocol of spamc."""

    ask: Annotated[
        str,
        Meta(
            max_length=300,
            description=(
                "Where it is: the whole message goes there, and who it is from and for. "
                "Empty: it is not asked."
            ),
            extra={
                "allowed": f'{ADDRESS}, such as inet:127.0.0.1:783, or ""',
                "check": check_engine_address,
            },
        ),
    ] = ""
    max_bytes: Annotated[
        int,
        Meta(
            ge=1024,
            le=MAX_BYTES,
            description="It is not asked about larger messages; spamc has 512,000.",
        ),
    ] = 512_000
    user: Annotated[
        str,
        Meta(
            pattern=r"\A[A-Za-z0-9_.@-]*\Z",
            max_length=64,
            description="Whose settings it is asked to judge by. Empty: it is not told.",
            extra={"allowed": 'a user name, or ""'},
        ),
    ] = ""


class ClamdSettings(EngineSettings, frozen=True, kw_only=True):
    """ClamAV's clamd, asked about the message as a stream."""

    ask: Annotated[
        str,
        Meta(
            max_length=300,
            description="Where it is: the message goes there. Empty: it is not asked.",
            extra={
                "allowed": f'{ADDRESS}, such as unix:/run/clamav/clamd.ctl, or ""',
                "check": check_engine_address,
            },
        ),
    ] = ""
    max_bytes: Annotated[
        int,
        Meta(
            ge=1024,
            le=MAX_BYTES,
            description="Of a larger message it gets the head: what it finds there counts, and "
            "where it finds nothing its opinion is unknown."
            " No more than its own StreamMaxLength.",
        ),
    ] = 10 * MIB


class EnginesSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Every engine that may be asked beside ours; what is done with what they say is policy."""

    rspamd: RspamdSettings = RspamdSettings()
    spamd: SpamAssassinSettings = SpamAssassinSettings()
    clamd: ClamdSettings = ClamdSettings()
