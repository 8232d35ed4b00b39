"""The exported tables as a real Exim looks things up in them, hostile keys included, and its ACLs
that refuse by them without any daemon.
"""

from __future__ import annotations

import base64
import shutil
import tempfile
import time
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path

import pytest

from oborona.config import ExportSettings
from oborona.daemon.exporter.files import ExportFiles, export_tables
from oborona.daemon.exporter.row import ALLOW, ExportRow, deny_row
from tests.cli.remembered import run
from tests.exim.site import Site, letter
from tests.peers.dns import Zones
from tests.peers.exim import Exim, available
from tests.whole.gate import eventually

pytestmark = pytest.mark.skipif(not available(), reason="needs Exim and root")

WHY = 'LIST "quoted" \\ $sender_host_address ${run{/bin/id}} }{'
DENY, LET_IN = deny_row("Client", WHY), ExportRow(ALLOW, "IN")
CLIENTS = {
    "192.0.2.7": DENY,
    "192.0.2.0/24": LET_IN,
    "198.51.100.0/24": DENY,
    "198.51.100.128/25": LET_IN,
    "198.51.100.1": deny_row("Client", "over", until=1),
    "198.51.100.200": deny_row("Client", "not over", until=int(time.time()) + 3600),
    "2001:db8::/32": DENY,
    "2001:db8:1::/48": LET_IN,
    "2001:db8:1::7": DENY,
}
SENDERS = {
    "ann@a.example": deny_row("Sender", WHY),
    "*@a.example": LET_IN,
    ".a.example": deny_row("Sender", WHY),
    "*@b.example": deny_row("Sender", WHY),
    "boss@b.example": LET_IN,
    "o'hara@c.example": deny_row("Sender", WHY),
}
HOSTILE = [
    "' or '1'='1",
    "x'; drop table client; --",
    '"',
    "}{",
    "${run{/bin/id}}",
    "\\",
    "a b",
    "x" * 320,
    "юля",
    "%",
    "192.0.2.7'",
    "",
]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with (
        Zones() as dns,
        Site(dns.setting, settings={"export.interval_s": 1}, exported=True) as running,
    ):
        yield running


@pytest.fixture(scope="module")
def exim() -> Iterator[Exim]:
    """An Exim that has tables, and no daemon."""
    folder = tempfile.mkdtemp(prefix="oborona-tables-", dir="/tmp")
    Path(folder).chmod(0o755)
    ExportFiles(ExportSettings(folder=folder)).write(
        export_tables({ip_network(key): row for key, row in CLIENTS.items()}, SENDERS)
    )
    macros = {
        "OBORONA_SOCKET": "/nowhere",
        "OBORONA_SPAMD": "/nowhere",
        "OBORONA_TABLES": folder,
        "OBORONA_AWAY": "accept",
    }
    with Exim(macros) as running:
        yield running
    shutil.rmtree(folder)


def in_table(exim: Exim, what: str) -> str:
    return exim.expand(what.replace("TABLES", exim.macros["OBORONA_TABLES"]))


@pytest.mark.parametrize("address", ["192.0.2.7", "2001:db8:1::7", "192.0.2.8"])
def test_a_table_says_the_same_in_each_form(exim: Exim, address: str) -> None:
    wanted = CLIENTS.get(address)
    line = in_table(exim, f"${{lookup{{{address}}}cdb{{TABLES/clients.cdb}}{{$value}}{{none}}}}")
    assert line == (wanted.line if wanted else "none")
    query = (
        f"select verdict||' '||code||' '||text||' '||why from client where "
        f"address='${{quote_sqlite:{address}}}'"
    )
    found = in_table(
        exim, f"${{lookup sqlite,file=TABLES/oborona.sqlite{{{query}}}{{$value}}{{none}}}}"
    )
    assert found == (f"deny 554 5.7.1 Client refused {WHY}" if wanted else "none")


def test_what_is_in_a_row_is_taken_for_words_and_nothing_else(exim: Exim) -> None:
    row = "${lookup{192.0.2.7}cdb{TABLES/clients.cdb}}"
    assert in_table(exim, f"${{extract{{why}}{{{row}}}}}") == WHY
    assert in_table(exim, f"${{extract{{code}}{{{row}}}}}") == "554"


@pytest.mark.parametrize("key", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_key_finds_nothing_and_breaks_nothing(exim: Exim, key: str) -> None:
    """As a variable that a stranger has set holds it: it is not expanded again."""
    held = f"${{base64d:{_base64(key)}}}"
    assert (
        in_table(exim, f"${{lookup{{{held}}}cdb{{TABLES/clients.cdb}}{{$value}}{{none}}}}")
        == "none"
    )
    assert (
        in_table(exim, f"${{lookup{{{held}}}cdb{{TABLES/senders.cdb}}{{$value}}{{none}}}}")
        == "none"
    )
    query = f"select verdict from sender where address='${{quote_sqlite:{held}}}'"
    assert (
        in_table(
            exim, f"${{lookup sqlite,file=TABLES/oborona.sqlite{{{query}}}{{$value}}{{none}}}}"
        )
        == "none"
    )
    count = "${lookup sqlite,file=TABLES/oborona.sqlite{select count(*) from client}}"
    assert in_table(exim, count) == str(sum("/" not in one for one in CLIENTS))


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("ip", "wanted"),
    [
        ("192.0.2.7", True),
        ("192.0.2.8", False),
        ("198.51.100.5", True),
        # the row of the address is over, and stands before that of its network
        ("198.51.100.1", False),
        ("198.51.100.130", False),
        ("198.51.100.200", True),
        ("203.0.113.1", False),
        ("2001:db8::1", True),
        ("2001:db8:1::8", False),
        ("2001:db8:1::7", True),
        ("2001:db9::1", False),
    ],
)
def test_a_client_is_refused_by_the_table_without_a_daemon(
    exim: Exim, ip: str, wanted: bool
) -> None:
    replies = exim.send(letter(), ip=ip, sender="carl@d.example")
    if wanted:
        assert replies == ["554 5.7.1 Client refused"]
        line = f'[{ip}] rejected connection in "connect" ACL: oborona table: '
        eventually(lambda: line in exim.log())  # written after the reply
    else:
        assert replies[-1].startswith("250 OK")


@pytest.mark.parametrize(
    ("sender", "wanted"),
    [
        ("ann@a.example", True),
        ("Ann@A.Example", True),
        ("bob@a.example", False),
        ("bob@x.a.example", True),
        ("bob@y.x.a.example", True),
        ("bob@b.example", True),
        ("boss@b.example", False),
        ("bob@x.b.example", False),
        ("o'hara@c.example", True),
        ("", False),
    ],
)
def test_a_sender_is_refused_by_the_table_without_a_daemon(
    exim: Exim, sender: str, wanted: bool
) -> None:
    replies = exim.send(letter(), ip="203.0.113.1", sender=sender)
    assert replies[-1].startswith("550 5.7.1 Sender refused" if wanted else "250 OK")


def test_tables_that_are_not_there_refuse_nobody(exim: Exim) -> None:
    macros = dict(exim.macros) | {"OBORONA_TABLES": "/nowhere"}
    with Exim(macros) as other:
        assert other.send(letter())[-1].startswith("250 OK")


def test_the_daemon_keeps_its_tables_up_to_date(site: Site) -> None:
    ip = "192.0.2.99"
    macros = {
        "OBORONA_TABLES": str(site.tables),
        "OBORONA_SOCKET": "/nowhere",
        "OBORONA_AWAY": "accept",
    }
    with site.exim("light", macros) as exim:
        eventually((site.tables / "clients.cdb").exists)
        assert exim.send(letter(), ip=ip)[-1].startswith("250 OK")
        run(site.oborona.state, "set", ip, "bad", "--reason", "said so")
        eventually(lambda: ip.encode() in (site.tables / "clients.cdb").read_bytes())
        assert exim.send(letter(), ip=ip) == ["554 5.7.1 Client refused"]
        run(site.oborona.state, "clear", ip, "--reason", "said so")
        eventually(lambda: ip.encode() not in (site.tables / "clients.cdb").read_bytes())
        assert exim.send(letter(), ip=ip)[-1].startswith("250 OK")
        (site.folder / "policy.d" / "91.toml").write_text(
            f'[[local_list]]\nname = "OUT"\naction = "deny"\nof = ["client"]\nentries = ["{ip}"]\n'
        )
        eventually(lambda: ip.encode() in (site.tables / "clients.cdb").read_bytes())
        assert exim.send(letter(), ip=ip) == ["554 5.7.1 Client refused"]
    assert '"process":"exporter"' in site.oborona.log().replace(" ", "")
