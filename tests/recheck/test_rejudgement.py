"""A message judged again from the journal: the same policy gives the same verdict, and what is not
kept is never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.authentication.model import AuthIdentity, AuthResult, DkimSignature, Dmarc, Spf
from oborona.counters.memory import MemoryCounters
from oborona.journal import rows
from oborona.journal.entry import JournalEntry
from oborona.journal.evidence import VerdictEvidence, pack_evidence, unpack_evidence
from oborona.message.shingles import Hasher, ShingleType
from oborona.policy.counts import MessageCounts
from oborona.policy.evidence import SenderEvidence
from oborona.policy.fact_table import SCHEMA
from oborona.policy.facts import Facts
from oborona.policy.karma import KARMA
from oborona.policy.load import Policy, load_policy
from oborona.policy.memory_age import CounterMemoryAge, OldMemory
from oborona.policy.models.ports import NoModels
from oborona.policy.scan import Scan, ScanSite, scan
from oborona.policy.verdict import Evaluator, VerdictGrounds, judge
from oborona.recheck.facts_at_delivery import NotKept, facts_then, why_not
from oborona.recheck.rejudgement import Rejudger
from oborona.recheck.rule_fingerprints import rule_fingerprints
from oborona.reputation.dnsbl import DnsblListing
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.pins import Pin, PinTable
from oborona.reputation.subject import ListSubject
from oborona.session.journal_entry import entry_of
from oborona.types import Action, Amounts, Client, CountedPieces, Envelope, Shingle, Stage, Verdict
from tests.journal.entries import make_entry
from tests.policy.test_scan_evidence import Told

NOW = 1_795_170_000.0
ROOT = Path(__file__).resolve().parents[2]
ENVELOPE = Envelope(
    client=Client(ip="9.10.11.12", name="mail.a.example"),
    helo="mail.a.example",
    sender="ann@a.example",
    recipients=("bob@b.example",),
)
LETTER = (
    b"From: Ann <ann@a.example>\r\nTo: bob@b.example\r\nSubject: lunch\r\nMessage-ID: "
    b"<1@a.example>\r\n\r\n"
    b"At noon? See https://one.example/ and https://two.example/menu before you come, please.\r\n"
)
SHIPPED = load_policy(ROOT / "etc/policy.d", SCHEMA)
LINES = "[verdict]\nspam_score = 100\nreject_score = 200\n"


def rule(name: str, when: str, score: float | str = 10, **more: str) -> str:
    fields = "".join(f'{key} = "{value}"\n' for key, value in more.items())
    shown = f'"{score}"' if isinstance(score, str) else score
    return f'[[rule]]\nname = "{name}"\nwhen = """{when}"""\nscore = {shown}\n{fields}'


def policy(folder: Path, *pieces: str) -> Policy:
    folder.mkdir(exist_ok=True)
    (folder / "1.toml").write_text(LINES + "\n".join(pieces))
    return load_policy(folder, SCHEMA)


@pytest.mark.parametrize("memory", [OldMemory(), CounterMemoryAge()], ids=["old", "young"])
async def test_a_history_refuses_when_judged_again_as_it_did(
    memory: OldMemory | CounterMemoryAge, tmp_path: Path
) -> None:
    """A memory that is young refuses nobody.

    Nor does the recheck or a replay of what came meanwhile.
    """
    by = policy(tmp_path / "p", '[repip]\nbad = "reject"\n')
    counters, hasher = MemoryCounters(), Hasher(b"k" * 32)
    bad = CountedPieces(
        shingles=(hasher.shingle(ShingleType.CLIENT_IP, ENVELOPE.client.ip),), pairs=()
    )
    for _ in range(60):
        counters.add(bad, Amounts(seen=1, spam=1), NOW - 60)
    site = ScanSite(name="mx.b.example", hasher=hasher, counters=counters, memory=memory)
    result = await scan(LETTER, ENVELOPE, site, by, Told(SenderEvidence()), now=NOW)
    assert result.verdict.action is (Action.ACCEPT if memory.young else Action.REJECT)
    entry = stored(entry_of(1 << 40, NOW, by, ENVELOPE, len(LETTER), result.verdict, result))
    again = Rejudger(by, NoModels()).judge(entry, rule_fingerprints(by))
    assert again is not None
    assert again.verdict.action is result.verdict.action
    assert again.verdict.rules == result.verdict.rules
    now = Rejudger(by, NoModels()).judge(entry, rule_fingerprints(by), young=not memory.young)
    assert now is not None
    assert now.verdict.action is not result.verdict.action


async def journaled(
    by: Policy, evidence: SenderEvidence | None = None, raw: bytes = LETTER
) -> tuple[Scan, JournalEntry]:
    """Scan a message; return that and what the journal gives back of it."""
    site = ScanSite(name="mx.b.example", hasher=Hasher(b"k" * 32), counters=MemoryCounters())
    result = await scan(raw, ENVELOPE, site, by, Told(evidence or SenderEvidence()), now=NOW)
    entry = entry_of(1 << 40, NOW, by, ENVELOPE, len(raw), result.verdict, result)
    return result, stored(entry)


async def test_a_long_text_is_judged_again_by_all_but_the_text_itself(tmp_path: Path) -> None:
    """The journal keeps no form of the text: one would crowd all other facts out of the entry."""
    raw = LETTER + b"Bring Soup and Bread, please.\r\n" * 4_000
    rules_of = (
        rule("LINKED", "links > 1", 30),
        rule("SOUP", "contains(text.raw, 'Soup')", 50),
        rule("NO_SOUP", "not contains(text.raw, 'Soup')", 70),
    )
    by = policy(tmp_path / "p", *rules_of)
    result, entry = await journaled(by, raw=raw)
    assert {"text", "text_raw"} & entry.facts.keys() == set()
    same = Rejudger(by, NoModels()).judge(entry, rule_fingerprints(by))
    assert same is not None, why_not(entry)
    assert (same.verdict.score, same.verdict.rules) == (result.verdict.score, result.verdict.rules)
    assert (same.verdict.score, same.unjudged) == (80, {})
    others = policy(tmp_path / "o", rules_of[0], rule("SOUP", "contains(text.raw, 'Bread')", 50))
    other = Rejudger(others, NoModels()).judge(entry, rule_fingerprints(by))
    assert other is not None
    assert (other.verdict.score, other.unjudged) == (30, {"SOUP": "text.raw is not kept"})


def stored(entry: JournalEntry) -> JournalEntry:
    row = rows.pack(entry)
    return rows.unpack(row.verdict, row.evidence, rows.names_json(row.names))


# every fact by its type, so that a new one is covered the moment it is there
def _values(hint: Any) -> st.SearchStrategy[Any]:
    plain: dict[Any, st.SearchStrategy[Any]] = {
        str: st.text(max_size=8),
        bool: st.booleans(),
        int: st.integers(0, 2**40),
        float: st.floats(-1e6, 1e6),
        frozenset[str]: st.frozensets(st.text(max_size=5), max_size=3),
    }
    if hint in plain:
        return plain[hint]
    return st.none() | next(plain[one] for one in plain if hint == one | None)


HINTS = {name: hint for name, hint in get_type_hints(Facts).items() if name != "known"}
WORDS_OF_RESULTS = {
    name: st.sampled_from([one.value for one in AuthResult]) for name in ("spf_result", "spf_helo")
}
ROWS = st.lists(
    st.lists(st.lists(st.integers(0, 2**63 - 1), min_size=6, max_size=6), min_size=4, max_size=4),
    min_size=1,
    max_size=3,
)


@st.composite
def facts(draw: st.DrawFn) -> Facts:
    counts = draw(st.dictionaries(st.sampled_from(list(ShingleType)), ROWS, max_size=5))
    shingles = [Shingle(kind, 0) for kind, found in counts.items() for _ in found]
    known = MessageCounts(shingles, [row for found in counts.values() for row in found])
    values = {name: draw(WORDS_OF_RESULTS.get(name, _values(hint))) for name, hint in HINTS.items()}
    return Facts(known=known, **values)


@settings(deadline=None)
@given(seen=facts())
def test_random_facts_give_the_same_rules_and_score_again(seen: Facts) -> None:
    client = Client(ip="192.168.1.2", name=seen.client_name)
    grounds = VerdictGrounds(envelope=Envelope(client=client, own=seen.outgoing))
    verdict = judge(seen, grounds, Stage.CONTENT, Evaluator(SHIPPED)).verdict
    plain = {
        name: value
        for name, value in msgspec.structs.asdict(seen).items()
        if name not in ("known", "text")
    }
    entry = stored(
        make_entry(
            verdict=verdict.action,
            score=verdict.score,
            rules=verdict.rules,
            findings=verdict.findings,
            facts=plain,
            client_ip="192.168.1.2",
            kept=VerdictEvidence(counts=tuple(seen.known.rows.items())),
        )
    )
    again = Rejudger(SHIPPED, NoModels()).judge(entry, rule_fingerprints(SHIPPED))
    assert again is not None
    assert again.verdict == verdict
    assert not again.unjudged
    assert again.mildest is again.severest is verdict.action


ANN = AuthIdentity(
    spf=Spf(result=AuthResult.PASS, domain="a.example"),
    dmarc=Dmarc(result=AuthResult.PASS, domain="a.example", spf_aligned=True),
)
GOOD = Amounts(seen=60, reads=40)


async def with_a_past(by: Policy) -> tuple[Scan, JournalEntry]:
    """Return a message of somebody with two good weeks, as the journal gives it back."""
    hasher, counters = Hasher(b"k" * 32), MemoryCounters()
    site = ScanSite(name="mx.b.example", hasher=hasher, counters=counters)
    told = Told(SenderEvidence(identity=ANN))
    first = await scan(LETTER, ENVELOPE, site, by, told, now=NOW)
    for ago in range(2, 13):
        counters.add(first.pieces, GOOD, NOW - ago * 86_400)
    result = await scan(LETTER, ENVELOPE, site, by, told, now=NOW)
    return result, stored(entry_of(1 << 40, NOW, by, ENVELOPE, len(LETTER), result.verdict, result))


def karma_in(verdict: Verdict) -> float | None:
    return next((hit.score for hit in verdict.rules if hit.name == KARMA), None)


async def test_karma_is_told_again_and_weighed_by_the_other_policy(tmp_path: Path) -> None:
    table = "[karma]\nbest = {best}\nnever_helps = {bars}\n"
    then = policy(tmp_path / "then", table.format(best=-20, bars=[]))
    result, entry = await with_a_past(then)
    karma = result.facts.karma
    assert karma > 20
    assert karma_in(result.verdict) == round(-0.2 * karma, 2)
    again = Rejudger(then, NoModels()).judge(entry, rule_fingerprints(then))
    assert again is not None
    assert (again.verdict, again.unjudged) == (result.verdict, {})
    for name, best, bars, wanted in (
        ("more", -100, "[]", -karma),
        ("barred", -20, '["LUNCH"]', 0.0),
        ("nothing", 0, "[]", 0.0),
    ):
        now = policy(
            tmp_path / name, table.format(best=best, bars=bars), rule("LUNCH", "links > 0", 5)
        )
        again = Rejudger(now, NoModels()).judge(entry, rule_fingerprints(then))
        assert again is not None
        assert karma_in(again.verdict) == wanted
    again = Rejudger(SHIPPED, NoModels()).judge(entry, rule_fingerprints(SHIPPED))
    assert again is not None
    assert karma_in(again.verdict) is not None


async def test_of_a_message_without_karma_it_is_told_that_it_is_not_known() -> None:
    _, entry = await with_a_past(SHIPPED)
    older = msgspec.structs.replace(
        entry,
        facts={
            name: value for name, value in entry.facts.items() if name not in ("karma", "karma_why")
        },
    )
    again = Rejudger(SHIPPED, NoModels()).judge(older, rule_fingerprints(SHIPPED))
    assert again is not None
    assert again.unjudged == {KARMA: "karma is not kept"}
    assert karma_in(again.verdict) is None


async def test_an_analysts_word_on_an_address_is_kept(tmp_path: Path) -> None:
    by = policy(tmp_path / "then", "refuse = false\n")
    hasher = Hasher(b"k" * 32)
    type_, hash_ = hasher.shingle(ShingleType.CLIENT_IP, "9.10.11.12")
    bad = Pin(type_, hash_, "9.10.11.12", ReputationFlag.BAD, "an audit", "eve", NOW)
    site = ScanSite(
        name="mx.b.example", hasher=hasher, counters=MemoryCounters(), pins=PinTable([bad])
    )
    result = await scan(LETTER, ENVELOPE, site, by, Told(SenderEvidence()), now=NOW)
    assert "REPIP_BAD" in {hit.name for hit in result.verdict.rules}
    entry = stored(entry_of(1 << 40, NOW, by, ENVELOPE, len(LETTER), result.verdict, result))
    again = Rejudger(by, NoModels()).judge(entry, rule_fingerprints(by))
    assert again is not None
    assert again.verdict == result.verdict


async def test_a_rule_that_needs_the_text_is_taken_as_it_was_where_it_asked_the_same(
    tmp_path: Path,
) -> None:
    then = policy(
        tmp_path / "then",
        rule("NOON", "contains(text, 'noon')", 60),
        rule("NO", "contains(text, 'x9')"),
    )
    _, entry = await journaled(then)
    now = policy(
        tmp_path / "now",
        rule("NOON", "contains(text, 'noon')", 110),
        rule("NO", "contains(text, 'x9')"),
    )
    again = Rejudger(now, NoModels()).judge(entry, rule_fingerprints(then))
    assert again is not None
    assert (again.verdict.action, again.verdict.score) == (Action.SPAM, 110)
    assert not again.unjudged


@pytest.mark.parametrize("asked", [None, {}, {"NOON": "another"}])
async def test_a_rule_that_needs_the_text_is_not_judged_where_it_asked_another(
    tmp_path: Path, asked: dict[str, str] | None
) -> None:
    then = policy(tmp_path / "then", rule("LINKS", "links > 1", 50))
    _, entry = await journaled(then)
    now = policy(
        tmp_path / "now", rule("LINKS", "links > 1", 50), rule("NOON", "contains(text, 'noon')", 60)
    )
    again = Rejudger(now, NoModels()).judge(entry, asked)
    assert again is not None
    assert list(again.unjudged) == ["NOON"]
    assert again.verdict.score == 50
    assert (again.mildest, again.severest) == (Action.ACCEPT, Action.SPAM)


async def test_what_does_not_need_the_text_after_all_is_judged(tmp_path: Path) -> None:
    _, entry = await journaled(policy(tmp_path / "then"))
    now = policy(tmp_path / "now", rule("FEW", "links > 5 and contains(text, 'noon')", 60))
    again = Rejudger(now, NoModels()).judge(entry, None)
    assert again is not None
    assert not again.unjudged
    assert again.verdict.rules == ()


async def test_a_rule_that_hangs_on_one_that_is_not_judged_is_not_either(tmp_path: Path) -> None:
    _, entry = await journaled(policy(tmp_path / "then"))
    now = policy(
        tmp_path / "now",
        rule("NOON", "contains(text, 'noon')", 1),
        rule("ALONE", "not fired(NOON)", 300),
        rule("AFTER", "fired(ALONE) and links > 1", 300),
    )
    again = Rejudger(now, NoModels()).judge(entry, None)
    assert again is not None
    assert set(again.unjudged) == {"NOON", "ALONE", "AFTER"}
    assert again.verdict.score == 0
    assert (again.mildest, again.severest) == (Action.ACCEPT, Action.REJECT)


async def test_what_a_rule_asks_is_another_question_when_what_it_names_is(tmp_path: Path) -> None:
    one = policy(
        tmp_path / "1", rule("A", "links > 1"), rule("B", "fired(A)"), rule("C", "links > 2")
    )
    other = policy(
        tmp_path / "2", rule("A", "links > 7"), rule("B", "fired(A)"), rule("C", "links > 2", 99)
    )
    before, after = rule_fingerprints(one), rule_fingerprints(other)
    assert {name for name in before if before[name] != after[name]} == {"A", "B"}


SCRIPT = """
oborona.rule { name = "LUA_LINKS", score = 30, when = function() return facts.links > 1 end }
oborona.rule { name = "LUA_NOON", score = 70, when = function() return contains(facts.text, "noon") end }
oborona.check { name = "lua-many", run = function() return facts.links > 1 and tostring(facts.links) end }
oborona.check { name = "lua-noon", run = function() return contains(facts.text, "noon") end }
"""


async def test_scripts_are_run_again_but_for_what_asks_for_the_text(tmp_path: Path) -> None:
    (tmp_path / "then").mkdir()
    (tmp_path / "then/2.lua").write_text(SCRIPT)
    found = rule("FOUND", "found('lua-many') and found('lua-noon')", 1)
    then = policy(tmp_path / "then", found)
    result, entry = await journaled(then)
    assert result.verdict.score == 101
    again = Rejudger(then, NoModels()).judge(entry, rule_fingerprints(then))
    assert again is not None
    assert (again.verdict, again.unjudged) == (result.verdict, {})
    (tmp_path / "now").mkdir()
    (tmp_path / "now/2.lua").write_text(
        SCRIPT.replace("70", "80").replace("links > 1", "links > 7")
    )
    again = Rejudger(policy(tmp_path / "now", found), NoModels()).judge(
        entry, rule_fingerprints(then)
    )
    assert again is not None
    assert list(again.unjudged) == ["LUA_NOON"]
    assert [finding.name for finding in again.verdict.findings] == ["odd-headers", "lua-noon"]
    assert again.verdict.rules == ()
    assert (again.mildest, again.severest) == (Action.ACCEPT, Action.ACCEPT)


async def test_a_script_that_needs_the_text_is_not_switched_off_by_its_failures(
    tmp_path: Path,
) -> None:
    (tmp_path / "2.lua").write_text(SCRIPT)
    then = policy(tmp_path)
    _, entry = await journaled(then)
    judge = Rejudger(then, NoModels())
    for _ in range(30):
        again = judge.judge(entry, None)
        assert again is not None
        assert "LUA_NOON" in again.unjudged


async def test_the_cap_of_a_group_holds_for_rules_of_scripts_the_second_time_too(
    tmp_path: Path,
) -> None:
    (tmp_path / "2.lua").write_text(
        "".join(
            (
                f'oborona.rule {{ name = "{name}", score = 60, group = "G", when = function() '
                f"return true end }}\n"
            )
            for name in ("LUA_A", "LUA_B")
        )
    )
    by = policy(tmp_path, '[[group]]\nname = "G"\ncap = 50\n')
    result, entry = await journaled(by)
    assert (result.verdict.action, result.verdict.score) == (Action.ACCEPT, 50)
    again = Rejudger(by, NoModels()).judge(entry, rule_fingerprints(by), stage=Stage.RECHECK)
    assert again is not None
    assert again.verdict == result.verdict


async def test_scripts_of_the_recheck_run_there_and_nowhere_before(tmp_path: Path) -> None:
    (tmp_path / "2.lua").write_text(
        'oborona.rule { name = "LUA_LATE", score = 60, stage = "recheck",'
        " when = function() return facts.links > 1 end }\n"
        'oborona.rule { name = "LUA_LATE_TEXT", score = 5, stage = "recheck",'
        ' when = function() return contains(facts.text, "noon") end }\n'
    )
    by = policy(tmp_path, rule("LATE", "links > 1", 30, stage="recheck"))
    result, entry = await journaled(by)
    assert result.verdict.rules == ()
    judge = Rejudger(by, NoModels())
    at_delivery, later = judge.judge(entry, None), judge.judge(entry, None, stage=Stage.RECHECK)
    assert at_delivery is not None
    assert later is not None
    assert (at_delivery.verdict.rules, at_delivery.unjudged) == ((), {})
    assert [(hit.name, hit.score) for hit in later.verdict.rules] == [
        ("LUA_LATE", 60),
        ("LATE", 30),
    ]
    assert list(later.unjudged) == ["LUA_LATE_TEXT"]


LISTED = (
    DnsblListing(
        name="ZEN",
        of=ListSubject.CLIENT,
        asked="9.10.11.12",
        codes=("127.0.0.2", "127.0.0.9"),
        score=40.0,
        say="9.10.11.12 (127.0.0.2)",
    ),
)


def dns_list(scores: str, **more: str) -> str:
    fields = "".join(f"{key} = {value}\n" for key, value in more.items())
    return (
        f'[[dns_list]]\nname = "ZEN"\nzone = "zen.example"\nof = ["client"]\nscores = '
        f"{scores}\n{fields}"
    )


@pytest.mark.parametrize(
    ("there", "score"),
    [
        (dns_list('{"127.0.0.2" = 40}'), 45),
        (dns_list('{"127.0.0.2" = 70, "127.0.0.9" = 90}'), 95),
        (dns_list('{"127.0.0.4" = 70}'), 5),
        (dns_list('{"127.0.0.2" = 40}', mode='"shadow"'), 5),
        (dns_list('{"127.0.0.2" = 40}', enabled="false"), 0),
        ("", 0),
    ],
)
async def test_dns_lists_are_weighed_by_what_they_answered_then(
    tmp_path: Path, there: str, score: float
) -> None:
    both = rule("LISTED", "'ZEN' in lists.client", 5)
    _, entry = await journaled(
        policy(tmp_path / "then", both, dns_list('{"127.0.0.2" = 40}')),
        SenderEvidence(listings=LISTED),
    )
    again = Rejudger(policy(tmp_path / "now", both, there), NoModels()).judge(entry, None)
    assert again is not None
    assert again.verdict.score == score


PROVED = AuthIdentity(
    spf=Spf(result=AuthResult.PASS, domain="a.example"),
    dkim=(DkimSignature(result=AuthResult.PASS, domain="a.example", unsigned=7),),
    dmarc=Dmarc(result=AuthResult.PASS, domain="a.example", dkim_aligned=True),
)


@pytest.mark.parametrize(
    ("identity", "of", "entry", "action"),
    [
        (AuthIdentity(), "sender", "ann@a.example", Action.SPAM),  # anybody can write that
        (PROVED, "sender", "ann@a.example", Action.ACCEPT),
        # the signature leaves out a part of the text
        (PROVED, "from", "ann@a.example", Action.SPAM),
        (
            msgspec.structs.replace(PROVED, dmarc=Dmarc(domain="a.example", spf_aligned=True)),
            "from",
            "ann@a.example",
            Action.ACCEPT,
        ),
        (AuthIdentity(), "client", "9.10.11.0/24", Action.ACCEPT),
        (AuthIdentity(), "rdns", "mail.a.example", Action.ACCEPT),
        (AuthIdentity(), "recipient", "bob@b.example", Action.ACCEPT),
        (AuthIdentity(), "recipient", "eve@b.example", Action.SPAM),
    ],
)
async def test_local_lists_decide_as_they_would_have(
    tmp_path: Path, identity: AuthIdentity, of: str, entry: str, action: Action
) -> None:
    bad = rule("BAD", "links > 1", 150)
    _, there = await journaled(policy(tmp_path / "then", bad), SenderEvidence(identity=identity))
    friends = (
        f'[[local_list]]\nname = "FRIENDS"\naction = "allow"\nof = ["{of}"]\nentries = '
        f'["{entry}"]\n'
    )
    now = policy(tmp_path / "now", bad, friends)
    again = Rejudger(now, NoModels()).judge(there, None)
    assert again is not None
    assert again.verdict.action is action
    result, _ = await journaled(now, SenderEvidence(identity=identity))
    assert again.verdict == result.verdict


async def test_groups_shadow_rules_and_lines_are_those_of_the_other_policy(tmp_path: Path) -> None:
    pieces = (rule("A", "links > 1", 60), rule("B", "links > 0", 60))
    _, entry = await journaled(policy(tmp_path / "then", *pieces))
    assert entry.verdict is Action.SPAM
    grouped = [f'{one}group = "G"\n' for one in pieces]
    group = '[[group]]\nname = "G"\ncap = 70\n'
    again = Rejudger(policy(tmp_path / "1", *grouped, group), NoModels()).judge(entry, None)
    assert again is not None
    assert (again.verdict.action, again.verdict.score) == (Action.ACCEPT, 70)
    shadow = Rejudger(
        policy(tmp_path / "2", pieces[0], f'{pieces[1]}mode = "shadow"\n'), NoModels()
    ).judge(entry, None)
    assert shadow is not None
    assert (shadow.verdict.action, shadow.verdict.score) == (Action.ACCEPT, 60)
    assert shadow.verdict.would is not None
    assert (shadow.verdict.would.action, shadow.verdict.would.score) == (Action.SPAM, 120)


def test_an_entry_without_evidence_says_why_it_is_not_judged() -> None:
    for entry, why in (
        (make_entry(facts={}), "purged"),
        (make_entry(kept=None), "older"),
        (make_entry(kept=VerdictEvidence(), facts={"links": 3}), "too large"),
    ):
        assert Rejudger(SHIPPED, NoModels()).judge(entry, None) is None
        assert facts_then(entry) is None
        assert why in why_not(entry)


@given(
    junk=st.dictionaries(
        st.sampled_from(sorted(HINTS)),
        st.none()
        | st.booleans()
        | st.integers()
        | st.text(max_size=3)
        | st.lists(st.integers() | st.text(), max_size=2),
    )
)
@settings(deadline=None)
def test_values_of_another_type_are_as_if_they_were_not_kept(junk: dict[str, object]) -> None:
    plain = {
        name: value
        for name, value in msgspec.structs.asdict(EMPTY).items()
        if name not in ("known", "text")
    }
    entry = stored(make_entry(facts=plain | junk, kept=VerdictEvidence()))
    again = Rejudger(SHIPPED, NoModels()).judge(entry, None)
    assert (again is None) == bool(why_not(entry))


EMPTY = Facts(known=MessageCounts())


def test_nothing_can_be_asked_of_what_is_not_kept() -> None:
    entry = make_entry(
        facts={
            name: value
            for name, value in msgspec.structs.asdict(EMPTY).items()
            if name not in ("known", "text")
        },
        kept=VerdictEvidence(),
    )
    found = facts_then(stored(entry))
    assert found is not None
    text: Any = found.text
    asked = (
        lambda: text == "x",
        lambda: text != "x",
        lambda: text < "x",
        lambda: "x" in text,
        lambda: bool(text),
        lambda: len(text),
        lambda: list(text),
        lambda: text + 1,
        lambda: 1 - text,
        lambda: text.lower,
        lambda: {text},
        lambda: round(text),
    )
    for ask in asked:
        with pytest.raises(NotKept, match="text"):
            ask()
    assert f"{text}" == "(not kept)"


@given(counts=st.dictionaries(st.sampled_from(list(ShingleType)), ROWS, max_size=5))
def test_counts_come_back_as_they_were(counts: dict[int, list[list[list[int]]]]) -> None:
    kept = VerdictEvidence(counts=tuple(counts.items()), listings=LISTED, spf_aligned=True)
    assert unpack_evidence(pack_evidence(kept)) == kept


def test_a_listing_that_is_no_unicode_is_kept_all_the_same() -> None:
    odd = msgspec.structs.replace(LISTED[0], asked="a\ud800", say="\udfff")
    (listing,) = unpack_evidence(pack_evidence(VerdictEvidence(listings=(odd,)))).listings
    assert (listing.asked, listing.say, listing.codes) == ("a?", "?", odd.codes)


def broken() -> Iterator[bytes]:
    whole = pack_evidence(VerdictEvidence(counts=((1, [[[1] * 6] * 4]),)))
    yield b""
    yield whole[:-1]
    yield whole[: len(whole) // 2]
    yield b"\x00" + whole
    yield pack_evidence(VerdictEvidence())[::-1]


@pytest.mark.parametrize("octets", list(broken()))
def test_what_is_damaged_says_so(octets: bytes) -> None:
    with pytest.raises(ValueError, match=r"damaged|truncated|Expected|expected|malformed"):
        unpack_evidence(octets)
