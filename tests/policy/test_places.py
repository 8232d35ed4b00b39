"""Where a client is: facts and counts from connect on, the same in the scan.

How many senders, countries, addresses there are.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from oborona.counters.memory import MemoryCounters
from oborona.message.shingles import Hasher, envelope_shingles
from oborona.policy.accounting import record_verdict
from oborona.policy.envelope_stages import StageVerdict, check_envelope
from oborona.policy.evidence import NoInquiry
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.policy.local_clients import direction
from oborona.policy.scan import Scan, ScanSite, scan
from oborona.types import Action, Amounts, Client, Envelope, Location, Stage

NOW = 1_800_000_000.0
HASHER = Hasher(b"k" * 32)
PLACES = {
    "192.0.2.7": Location(country="DE", as_number=64496, as_name="Example Net"),
    "198.51.100.9": Location(country="US"),
}
RULES = """
[verdict]
reject_score = 200
[[rule]]
name = "FROM_NEW_PLACES"
when = "client.country in ['US', 'CA']"
score = 300
say = "{client.country}"
[[rule]]
name = "BAD_SYSTEM"
when = "client.as_number == 64496 and client.as_name == 'Example Net' and count[AsNumber].day.spam >= 3"
score = 300
[[rule]]
name = "BAD_COUNTRY"
when = "count[Country].day.spam >= 1000 or count[RdnsDomain].day.spam >= 3"
score = 300
[[rule]]
name = "EVERYWHERE"
when = "count[SenderCountries].day.seen >= 2"
score = 1
[[rule]]
name = "MANY_SENDERS"
when = "mass.senders >= 3"
score = 1
[[rule]]
name = "SHARED_ACCOUNT"
when = "count[AccountIps].day.seen >= 2"
score = 1
stage = "sender"
"""
TEXT = "Cheap watches and good pills at half the price for everybody who writes back to us today"


class Atlas:
    """Places that a test says."""

    def find(self, ip: str) -> Location:
        return PLACES.get(ip, Location())


class Post:
    """A site with the rules above."""

    def __init__(self, folder: Path) -> None:
        (folder / "10.toml").write_text(RULES)
        self.policy = load_policy(folder, SCHEMA)
        self.counters = MemoryCounters()
        self.site = ScanSite(name="mx.test", hasher=HASHER, counters=self.counters, places=Atlas())

    async def look(self, envelope: Envelope, stage: Stage = Stage.CONNECT) -> StageVerdict:
        return await check_envelope(envelope, stage, self.site, self.policy, NoInquiry(), now=NOW)

    async def take(self, envelope: Envelope, author: str, text: str = TEXT) -> Scan:
        raw = f"From: {author}\nSubject: hello to all\n\n{text}\n".encode()
        result = await scan(raw, envelope, self.site, self.policy, NoInquiry(), now=NOW)
        record_verdict(
            result.pieces, result.verdict, self.counters, now=NOW, prefix=direction(result.envelope)
        )
        return result


def client(ip: str, name: str = "", *, sender: str = "", login: str = "") -> Envelope:
    return Envelope(client=Client(ip=ip, name=name), sender=sender, login=login)


async def test_a_country_can_be_refused_at_connect(tmp_path: Path) -> None:
    post = Post(tmp_path)
    seen = await post.look(client("198.51.100.9"))
    assert seen.verdict.action is Action.REJECT
    assert [(hit.name, hit.say) for hit in seen.verdict.rules] == [("FROM_NEW_PLACES", "US")]
    assert (await post.look(client("192.0.2.7"))).verdict.action is Action.ACCEPT
    assert (await post.look(client("203.0.113.1"))).verdict.action is Action.ACCEPT


async def test_a_system_and_a_domain_of_hosts_are_remembered(tmp_path: Path) -> None:
    post = Post(tmp_path)
    elsewhere = client("192.0.2.7", "host1.pool.isp.example")
    post.counters.add(
        envelope_shingles(elsewhere, HASHER, PLACES["192.0.2.7"]), Amounts(seen=3, spam=3), NOW
    )
    seen = await post.look(client("192.0.2.7"))
    assert [hit.name for hit in seen.verdict.rules] == ["BAD_SYSTEM"]
    seen = await post.look(client("203.0.113.1", "host2.pool.isp.example"))
    assert [hit.name for hit in seen.verdict.rules] == ["BAD_COUNTRY"]
    seen = await post.look(client("203.0.113.1", "mx.other.example"))
    assert not seen.verdict.rules


async def test_the_scan_knows_the_place_and_the_journal_gets_it(tmp_path: Path) -> None:
    found = await Post(tmp_path).take(client("192.0.2.7"), "ann@a.example")
    facts = msgspec.structs.asdict(found.facts)
    assert (facts["client_country"], facts["client_as_number"], facts["client_as_name"]) == (
        "DE",
        64496,
        "Example Net",
    )
    nowhere = await Post(tmp_path).take(client("203.0.113.1"), "ann@a.example")
    assert (nowhere.facts.client_country, nowhere.facts.client_as_number) == (None, None)


async def test_an_author_who_writes_from_two_countries(tmp_path: Path) -> None:
    post = Post(tmp_path)
    for ip, fires in (
        ("192.0.2.7", False),
        ("192.0.2.7", False),
        ("198.51.100.9", False),
        ("192.0.2.7", True),
    ):
        found = await post.take(client(ip), "ann@a.example", text=f"a letter about {ip}")
        assert ("EVERYWHERE" in {hit.name for hit in found.verdict.rules}) == fires
    assert "EVERYWHERE" not in {
        hit.name for hit in (await post.take(client("192.0.2.7"), "eve@a.example")).verdict.rules
    }


async def test_senders_of_one_text_are_counted_once_each(tmp_path: Path) -> None:
    post = Post(tmp_path)
    for author, before in (("a@a.example", 0), ("b@a.example", 1), ("A@a.example", 2), ("c@c.example", 2), ("d@d.example", 3)):  # fmt: skip
        found = await post.take(client("203.0.113.1", sender="bounce@l.example"), author)
        assert found.facts.mass_senders == before
        assert ("MANY_SENDERS" in {hit.name for hit in found.verdict.rules}) == (before >= 3)
    other = await post.take(
        client("203.0.113.1"),
        "e@e.example",
        text="Our kettle sings below the bridge whenever it rains",
    )
    assert other.facts.mass_senders == 0


async def test_a_login_from_two_addresses_is_known_at_the_sender(tmp_path: Path) -> None:
    post = Post(tmp_path)
    for ip in ("203.0.113.1", "203.0.113.1", "2001:db8::1", "2001:db8::2"):
        await post.take(client(ip, login="ann", sender="ann@a.example"), "ann@a.example")
        fired = {
            hit.name
            for hit in (
                await post.look(client("203.0.113.1", login="ann"), Stage.SENDER)
            ).verdict.rules
        }
        assert ("SHARED_ACCOUNT" in fired) == (":" in ip)
    eve = await post.look(client("203.0.113.1", login="eve"), Stage.SENDER)
    assert not eve.verdict.rules
