"""What a site has learned, as other programs read it: a real rbldnsd asked by our own DNS lists,
real tables of Postfix, and another site.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import cdbx
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from oborona.cli import main
from oborona.desk.reputation.entity import EntityName
from oborona.desk.reputation.flagged_entities import FlaggedEntity
from oborona.desk.reputation.formats import as_cdb, as_cidr, as_json, as_rbldnsd
from oborona.dns import DnsType
from oborona.message.shingles import ShingleType
from oborona.reputation.dnsbl import DnsblInputs, DnsblListing, DnsList, parse, questions, read
from oborona.reputation.dnsbl.probe_points import probes
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.networks import NOWHERE
from oborona.reputation.subject import ListSubject
from oborona.resolver import Resolver, ResolverAddress
from oborona.types import Amounts, Shingle
from tests.cli.remembered import Happened, journal, remember, run
from tests.peers.dns_servers import Rbldnsd

BAD = Amounts(seen=60, spam=60, traps=3)
GOOD = Amounts(seen=400, reads=90)
POSTMAP = "/usr/sbin/postmap"


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two bad addresses of one network, one of another beside a good one, a bad IPv6 address and a
    bad domain.
    """
    folder = tmp_path_factory.mktemp("site") / "state"
    bad = [
        "9.10.11.12",
        "9.10.11.13",
        "9.10.11.0/24",
        "9.20.0.1",
        "9.20.0.0/24",
        "2001:470:1::1",
        "2001:470:1::/64",
    ]
    links = ["link:shop.example", "link:short.example", "link:9.40.0.1"]
    happened = [Happened(entity, BAD) for entity in (*bad, "spam.example", "203.0.113.9", *links)]
    happened += [Happened("9.20.0.2", GOOD, day * 86_400.0 + 600) for day in range(13)]
    remember(folder, happened)
    clients = ("9.10.11.12", "9.10.11.13", "9.20.0.1", "9.20.0.2", "2001:470:1::1")
    facts: dict[str, object] = {
        "author_domain": "spam.example",
        "links_domains": ["shop.example", "short.example", "9.40.0.1"],
        "repentity_shared": ["short.example"],
    }
    journal(folder, [{"client_ip": ip, "facts": facts} for ip in clients])
    run(folder, "set", "9.30.0.1", "poor", "--reason", "they know", "--for", "3d")
    return folder


def test_what_is_listed_has_a_flag_and_a_name(state: Path) -> None:
    def listed(*words: str) -> list[str]:
        return [
            one["entity"]
            for one in json.loads(run(state, "export", "--json", *words).stdout)["entities"]
        ]

    assert listed() == ["2001:470:1::1", "9.10.11.12", "9.10.11.13", "9.20.0.1"]
    assert listed("--kind", "network") == ["9.10.11.0/24"], (
        "of the others one address alone is bad, or a good one is there"
    )
    assert listed("--kind", "domain") == ["spam.example"]
    assert listed("--kind", "link") == ["link:9.40.0.1", "link:shop.example"], (
        "the third is everybody's"
    )
    tables = run(state, "export", "--rbldnsd", "--kind", "link").stdout
    assert "shop.example" in tables
    assert "9.40.0.1" not in tables, "a link to an address says nothing of mail from it"
    assert set(listed("--flag", "poor")) == {*listed(), "9.30.0.1"}
    assert listed("--flag", "good") == ["9.20.0.2"]
    assert "203.0.113.9" not in run(state, "export", "--json").stdout, "nobody knows its name"


def test_an_address_has_the_flag_that_its_networks_pin_gives_it_at_connect(state: Path) -> None:
    run(state, "set", "9.20.0.0/24", "unknown", "--reason", "judge each message")
    try:
        text = run(state, "export", "--json").stdout
        assert [one["entity"] for one in json.loads(text)["entities"]] == [
            "2001:470:1::1",
            "9.10.11.12",
            "9.10.11.13",
        ]
    finally:
        run(state, "clear", "9.20.0.0/24", "--reason", "x")


def test_a_real_server_of_dns_lists_serves_it_and_our_own_lists_ask_it(state: Path) -> None:
    zone = run(state, "export", "--rbldnsd", "--flag", "poor", "--kind", "address", "--kind", "network", "--kind", "domain").stdout  # fmt: skip
    codes = parse({"127.0.0.2": 150, "127.0.0.3": 60}, None)
    of_clients = DnsList(
        name="OURS", zone="rep.test", of=(ListSubject.CLIENT,), ipv6=True, codes=codes
    )
    of_domains = DnsList(
        name="OUR_DOMAINS", zone="rep.test", of=(ListSubject.FROM, ListSubject.LINKS), codes=codes
    )

    async def ask(port: int) -> None:
        async with Resolver([ResolverAddress("127.0.0.1", port)]) as resolver:

            async def listed(one: DnsList, asked: DnsblInputs) -> list[str]:
                found = [
                    read(question, await resolver.ask(question.name, DnsType.A))
                    for question in questions([one], asked, NOWHERE, lambda _: True)
                ]
                return [each.codes[0] for each in found if isinstance(each, DnsblListing)]

            for one in (of_clients, of_domains):
                for question in probes(one):
                    there = read(question, await resolver.ask(question.name, DnsType.A))
                    assert isinstance(there, DnsblListing) is question.probe, question.name
            assert await listed(of_clients, DnsblInputs(client="9.10.11.12")) == ["127.0.0.2"]
            assert await listed(of_clients, DnsblInputs(client="9.10.11.99")) == ["127.0.0.2"], (
                "its network"
            )
            assert await listed(of_clients, DnsblInputs(client="2001:470:1::1")) == ["127.0.0.2"]
            assert await listed(of_clients, DnsblInputs(client="9.30.0.1")) == ["127.0.0.3"]
            for other in ("9.20.0.2", "9.20.0.77", "2001:470:1::2"):
                assert await listed(of_clients, DnsblInputs(client=other)) == [], other
            assert await listed(of_domains, DnsblInputs(from_=("a@spam.example",))) == ["127.0.0.2"]
            assert await listed(
                of_domains, DnsblInputs(links=("www.spam.example", "ham.example"))
            ) == ["127.0.0.2"]

    with Rbldnsd({"rep.test:combined": zone}) as server:
        asyncio.run(ask(server.port))


def looked_up(kind: str, file: Path, key: str) -> str:
    command = [POSTMAP, "-q", key, f"{kind}:{file}"]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=20
    ).stdout.strip()


def test_postfix_reads_the_cidr_table(state: Path, tmp_path: Path) -> None:
    file = tmp_path / "reputation.cidr"
    done = run(state, "export", "--postfix-cidr", "--kind", "address", "--kind", "network", file)
    assert "5 bad entities written to" in done.stdout
    for key, said in {
        "9.10.11.12": "REJECT",
        "9.10.11.200": "REJECT",
        "9.20.0.1": "REJECT",
        "9.20.0.2": "",
        "2001:470:1::1": "REJECT",
        "2001:470:1::2": "",
    }.items():
        assert looked_up("cidr", file, key) == said, key
    run(state, "export", "--postfix-cidr", "--action", "REJECT ask postmaster", file)
    assert looked_up("cidr", file, "9.20.0.1") == "REJECT ask postmaster"
    assert looked_up("cidr", file, "9.10.11.200") == "", (
        "networks were not asked for: the file is a new one"
    )
    assert [one.name for one in tmp_path.iterdir()] == ["reputation.cidr"]


def test_a_constant_database_holds_the_keys_of_postfix_and_exim(
    state: Path, tmp_path: Path
) -> None:
    file = tmp_path / "reputation.cdb"
    run(
        state, "export", "--cdb", "--kind", "address", "--kind", "network", "--kind", "domain", file
    )
    with file.open("rb") as handle:
        table = cdbx.CDB(handle, mmap=False)
        for key in (
            b"9.10.11.12",
            b"9.10.11.0/24",  # net24-cdb of Exim
            b"9.10.11",  # access(5) of Postfix
            b"2001:470:1::1",
            b"2001.0470.0001.0000.0000.0000.0000.0001",  # net-cdb of Exim
            b"spam.example",
        ):
            assert table.get(key) == b"REJECT", key
        assert b"9.20.0.2" not in table
        assert len(table) == 8
        table.close()
    supported = subprocess.run(
        ["/usr/sbin/postconf", "-m"], capture_output=True, text=True, check=True
    ).stdout
    if "cdb" in supported.split():
        assert looked_up("cdb", file, "9.10.11.12") == "REJECT"


def test_nothing_is_written_but_what_was_asked_for(state: Path, tmp_path: Path) -> None:
    file = tmp_path / "out"
    assert (
        "4 bad entities would be written to"
        in run(state, "export", "--json", "--dry-run", file).stdout
    )
    assert not file.exists()
    assert "which form?" in run(state, "export", file, status=2).stderr
    assert (
        "printable"
        in run(state, "export", "--cdb", "--action", "two\nlines", file, status=2).stderr
    )
    file.write_text("what was there")
    missing = tmp_path / "nowhere" / "out"
    assert "No such file" in run(state, "export", "--json", missing, status=74).stderr
    assert file.read_text() == "what was there"


def test_another_site_takes_it_for_a_time_and_its_own_people_have_the_last_word(
    state: Path, tmp_path: Path
) -> None:
    other = tmp_path / "state"
    remember(other, [])
    file = tmp_path / "export.json"
    run(state, "export", "--json", "--flag", "poor", file)
    run(other, "set", "9.10.11.12", "good", "--reason", "ours")
    assert (
        "4 would be set as mx.test says; 1 keep" in run(other, "import", file, "--dry-run").stdout
    )
    assert run(other, "log").stdout.count("\n") == 1
    assert "4 are set as mx.test says; 1 keep" in run(other, "import", file, "--for", "2d").stdout

    def pin(entity: str) -> dict[str, object]:
        found: dict[str, object] = json.loads(run(other, "show", entity, "--json").stdout)["pin"]
        return found

    assert pin("9.10.11.12")["flag"] == "good"
    assert pin("9.30.0.1")["flag"] == "poor"
    assert str(pin("9.20.0.1")["reason"]).startswith("mx.test: 60 spam of 60")
    exported = json.loads(run(other, "export", "--json", "--flag", "poor").stdout)["entities"]
    assert exported == [], "what came from elsewhere is not told on: else it would never end"
    assert len(run(other, "export", "--postfix-cidr", "--flag", "poor").stdout.splitlines()) == 4
    assert "import" in run(other, "log", "--limit", "1").stdout
    assert "5 are set" in run(other, "import", file, "--over").stdout
    assert pin("9.10.11.12")["flag"] == "bad"


PLAIN = "# spammers\n9.1.1.1\n  spam.example  # of ours\nodd thing\n\n"


def test_a_plain_list_is_taken_whole_or_not_at_all(state: Path, tmp_path: Path) -> None:
    other = tmp_path / "state"
    remember(other, [])
    told = ("--flag", "bad", "--reason", "their list")
    assert "needs --flag and --reason" in run(other, "import", "-", stdin=PLAIN, status=2).stderr
    broken = run(other, "import", "-", *told, stdin=PLAIN, status=2)
    assert "4: 'odd thing'" in broken.stderr
    assert "nothing was imported" in broken.stderr
    assert run(other, "log").stdout == ""
    assert "2 are set" in run(other, "import", "-", *told, "--skip-broken", stdin=PLAIN).stdout
    shown = json.loads(run(other, "show", "spam.example", "--json").stdout)
    assert (shown["pin"]["flag"], shown["pin"]["reason"]) == ("bad", "-: their list")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "is no export"),
        ('{"oborona_reputation": 2, "site": "x", "time": 1, "entities": []}', "of format 2"),
        (('{"oborona_reputation": 1, "site": "x", "time": 1, "entities": [{"entity": '
            '"9.1.1.1", "flag": "odd"}]}'), "is no export"),
        (('{"oborona_reputation": 1, "site": "x", "time": 1, "entities": [{"entity": '
            '"co.uk", "flag": "bad"}]}'), "public suffix"),
        (('{"oborona_reputation": 1, "site": "x", "time": 1, "entities": [{"entity": '
            '"client_ip:00ff00ff00ff00ff", "flag": "bad"}]}'), "means nothing here"),
        (('{"oborona_reputation": 1, "site": "x", "time": 1, "entities": [{"entity": '
            '"9.1.1.1", "flag": "bad", "until": 1e999}]}'), ""),
        (b"\xff\xfe", "is no text"),
    ],
)  # fmt: skip
def test_a_broken_export_is_refused_in_one_line(
    tmp_path: Path, text: str | bytes, why: str
) -> None:
    other = tmp_path / "state"
    remember(other, [])
    told = () if not isinstance(text, bytes) else ("--flag", "bad", "--reason", "x")
    refused = run(other, "import", "-", *told, stdin=text, status=2)
    assert why in refused.stderr
    assert run(other, "log").stdout == ""


@pytest.mark.parametrize(
    "host", ["2001:db8::1%x\n.bank.example", "x.example\n.bank.example", "a b.example", "$SOA"]
)
def test_a_name_from_mail_is_no_line_of_a_zone(host: str) -> None:
    """Who links to an address with a zone in it could otherwise have anybody's domain listed."""
    one = FlaggedEntity(
        EntityName(ShingleType.LINK_DOMAIN, host, Shingle(ShingleType.LINK_DOMAIN, 1)),
        ReputationFlag.BAD,
        "spam",
    )
    assert as_rbldnsd([one], "mx", 1.0) == as_rbldnsd([], "mx", 1.0)
    assert as_cdb([one], "REJECT") == as_cdb([], "REJECT")


def test_what_has_no_entities_is_a_whole_file_of_each_form() -> None:
    assert b"$DATASET ip4trie" in as_rbldnsd([], "mx.test", 1.0)
    assert as_cidr([], "REJECT") == b""
    assert json.loads(as_json([], "mx.test", 1.0))["entities"] == []
    assert len(as_cdb([], "REJECT")) == 2048


@given(st.binary(max_size=300))
def test_whatever_is_imported_ends_in_words(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes
) -> None:
    """No input raises anything but what the command line tells in a line."""

    folder = tmp_path_factory.getbasetemp() / "hostile"
    folder.mkdir(exist_ok=True)
    told = ["--state", str(folder), "reputation", "import", "-", "--dry-run"]
    result = CliRunner().invoke(main, told, input=raw)
    assert result.exit_code in (0, 2), result.exception
