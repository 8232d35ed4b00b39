"""Settings of the flows that network equipment tells of."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

PATH_OR_NONE = r"\A(/[^\x00-\x1f\x7f]+)?\Z"
MOST_SAMPLING = 1_000_000


def parse_sampling(text: str) -> dict[str, int]:
    """Return the rate of each exporter that is named.

    Raises:
        ValueError: what is wrong, in words for an admin.
    """
    rates: dict[str, int] = {}
    for part in text.split():
        address, equals, rate = part.partition("=")
        try:
            name = str(ip_address(address))
        except ValueError:
            raise ValueError(f"{address!r} is no address of an exporter") from None
        if not equals or not rate.isascii() or not rate.isdigit():
            raise ValueError(f"{part!r} names no rate; write ADDRESS=1000")
        if not 1 <= int(rate[:10]) <= MOST_SAMPLING:
            raise ValueError(f"{part!r}: a rate is 1 to {MOST_SAMPLING}")
        rates[name] = int(rate)
    return rates


def _sampling(value: str) -> None:
    parse_sampling(value)


def _exporters(value: str) -> None:
    for part in value.split():
        try:
            ip_address(part)
        except ValueError:
            raise ValueError(f"{part!r} is no address of an exporter") from None


def _url(value: str) -> None:
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        raise ValueError(f"{value!r} is no URL") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ValueError(f"{value!r}: a URL begins with http://HOST or https://HOST")
    if parts.username is not None or parts.password is not None:
        raise ValueError("the password stands in a file of its own, not in the URL")


class FlowSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Flows of SMTP from routers and switches: who of our machines sends how much, whether its mail
    passes through our mail servers or not (docs/operate/flows.md).
    """

    source: Annotated[
        Literal["off", "nfdump", "jsonl", "clickhouse"],
        Meta(
            description="Where flows come from: files of nfcapd or sfcapd; files of JSON lines, as "
            "goflow2 writes them; a table of ClickHouse; or nowhere."
        ),
    ] = "off"
    folder: Annotated[
        str,
        Meta(
            pattern=PATH_OR_NONE,
            max_length=4096,
            description="Where the files of nfdump or jsonl are put. Those of nfdump stay there; "
            "those of jsonl are moved to the folder taken within it.",
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
    rotation_s: Annotated[
        int,
        Meta(
            ge=60,
            le=3600,
            description="A file holds flows of so many seconds: -t of nfcapd. What is found is as "
            "late as that.",
        ),
    ] = 60
    active_timeout_s: Annotated[
        float,
        Meta(
            ge=10,
            le=86_400,
            description="The longest active timeout of the exporters. A time before that, counted "
            "from its receipt, can't be right.",
        ),
    ] = 1800.0
    exporters: Annotated[
        str,
        Meta(
            max_length=4096,
            description="Exporters whose flows are counted, by address; those of others are left out. "
            "Empty: all. Name them: UDP can be forged.",
            extra={"allowed": 'addresses with spaces between, or ""', "check": _exporters},
        ),
    ] = ""
    sampling: Annotated[
        str,
        Meta(
            max_length=4096,
            description="Exporters that look at one packet in so many and do not say so, or whose "
            "collector does not multiply.",
            extra={"allowed": 'such as "192.0.2.1=1000 192.0.2.2=512", or ""', "check": _sampling},
        ),
    ] = ""
    kept_from: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="Windows of a source with so many streams or more are kept for a day, with "
            "how many were open at once; `oborona flows status` shows them.",
        ),
    ] = 10
    look_s: Annotated[
        float, Meta(ge=0.1, le=60, description="How often it is looked for new files.")
    ] = 2.0
    nfdump: Annotated[
        str,
        Meta(
            pattern=r"\A[^\x00-\x1f\x7f]+\Z",
            max_length=4096,
            description="The program nfdump.",
            extra={"allowed": "a path, or a name on the PATH"},
        ),
    ] = "nfdump"
    file_s: Annotated[
        float,
        Meta(
            ge=1, le=3600, description="nfdump may take so long over one file; then it is killed."
        ),
    ] = 120.0
    file_mib: Annotated[
        int,
        Meta(ge=64, le=65_536, description="Memory that nfdump may take over one file, in MiB."),
    ] = 1024
    url: Annotated[
        str,
        Meta(
            max_length=1000,
            description="Where ClickHouse listens for HTTP, with ?database=NAME where the table is "
            "in another one than the user's own.",
            extra={"allowed": "a URL", "check": _url},
        ),
    ] = "http://127.0.0.1:8123"
    user: Annotated[
        str,
        Meta(
            pattern=r"\A[!-~]*\Z",
            max_length=100,
            description='As whom ClickHouse is asked. Empty: "default".',
            extra={"allowed": 'a user name, or ""'},
        ),
    ] = ""
    password_file: Annotated[
        str,
        Meta(
            max_length=4096,
            pattern=PATH_OR_NONE,
            description="File that holds the user's password and nothing else. Empty: none is sent.",
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
    records: Annotated[
        str,
        Meta(
            max_length=4096,
            pattern=r"\A(goflow2|akvorado|/[^\x00-\x1f\x7f]+)\Z",
            description="The SELECT that yields records of flows: of goflow2's table flows_raw, of "
            "Akvorado's table flows, or one of your own, in a file.",
            extra={"allowed": "goflow2, akvorado, or an absolute path"},
        ),
    ] = "goflow2"
    settle_s: Annotated[
        float,
        Meta(
            ge=0,
            le=3600,
            description="A window is asked for so long after its end: what comes into the table "
            "later is not counted.",
        ),
    ] = 20.0

    @property
    def rates(self) -> dict[str, int]:
        """`sampling`, parsed."""
        return parse_sampling(self.sampling)

    @property
    def believed(self) -> frozenset[str]:
        """`exporters`, in canonical form; empty: all."""
        return frozenset(str(ip_address(part)) for part in self.exporters.split())
