"""A message that is judged, journaled and judged again by the same policy, counts and time gets the
same verdict.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.authentication.model import AuthIdentity
from oborona.counters.memory import MemoryCounters
from oborona.message.shingles import Hasher
from oborona.policy.engines import EngineOpinion
from oborona.policy.evidence import NoInquiry, SenderEvidence
from oborona.policy.fact_table import SCHEMA
from oborona.policy.facts import Facts
from oborona.policy.final_table import FinalTable
from oborona.policy.groups import RuleGroups
from oborona.policy.load import Policy, load_policy
from oborona.policy.models.final.features import NAME as FINAL_MODEL
from oborona.policy.models.final.model import decides
from oborona.policy.models.ports import NoModels
from oborona.policy.ports import PictureView
from oborona.policy.rules import VerdictLines
from oborona.policy.scan import Scan, ScanSite, rescan, scan
from oborona.recheck.rejudgement import Rejudger
from oborona.recheck.rule_fingerprints import rule_fingerprints
from oborona.reputation.dnsbl import DnsblListing
from oborona.reputation.subject import ListSubject
from oborona.session.journal_entry import entry_of
from oborona.types import Amounts, Finding, RuleHit, RuleMode, Stage, Verdict
from tests.event_loop import finished
from tests.policy.test_engines import CLEAN, OF, SPAMD, VIRUS, Fixed
from tests.policy.test_scan_evidence import Told
from tests.recheck.test_rejudgement import ANN, ENVELOPE, GOOD, LETTER, NOW, dns_list, stored

LISTING = DnsblListing(
    name="ZEN",
    of=ListSubject.CLIENT,
    asked="9.10.11.12",
    codes=("127.0.0.2",),
    score=40.0,
    say="9.10.11.12 (127.0.0.2)",
)
SPAM = Amounts(seen=60, spam=50, complaints=6)
KEPT = ("links > 1", "links > 9", "karma > 10", "rspamd.says == 'perhaps'", "'ZEN' in lists.client")
"""Conditions on facts that the journal keeps."""
TEXT = (
    "contains(text, 'noon')",
    "contains(text, 'nothing')",
    "contains(text.raw, 'At noon')",
    "links > 9 and contains(text, 'noon')",
)
HANGING = (
    "fired(R0)",
    "not fired(R0)",
    "fired(LUA_0)",
    "fired(TRIED)",
    "found('lua-0')",
    "found('virus')",
)
LUA = (
    "facts.links > 1",
    "facts.links / 7",
    'contains(facts.text, "noon")',
    'found("lua-0")',
    'facts.links > 1 and error("broken")',
    '#facts.text > 9 and error("broken")',
)
MODES = st.sampled_from(["live", "live", "shadow"])
GROUPS = st.sampled_from(["", "G0", "G1"])
SCORES = st.integers(-90, 130) | st.sampled_from(["links * 11.5", "len(recipient) * 4.0"])


class Case(NamedTuple):
    """A site and a message that comes to it."""

    toml: str
    lua: str
    said: tuple[EngineOpinion, ...]
    identity: AuthIdentity
    listed: bool
    past: Amounts
    weight: float  # that the final model gives


class Final(NoModels):
    """A final model whose word hangs on all that it sees."""

    def __init__(self, weight: float) -> None:
        self._weight = weight

    def weigh(
        self,
        facts: Facts,
        hits: Sequence[RuleHit],
        table: FinalTable,
        lines: VerdictLines,
        groups: RuleGroups,
    ) -> tuple[RuleHit, ...]:
        seen = sorted(f"{hit.name}={hit.score:g}" for hit in hits)
        score = round(self._weight * len(seen) + facts.links, 2)
        return (
            RuleHit(
                name=FINAL_MODEL,
                score=score,
                say=" ".join(seen)[:200],
                mode=RuleMode.LIVE if decides(table, better=True) else RuleMode.SHADOW,
            ),
        )


@st.composite
def rules(draw: st.DrawFn) -> str:
    """A [[rule]] each, and the groups that they are in."""
    written = [
        f'[[group]]\nname = "{name}"\ncap = {draw(st.integers(0, 120))}\n' for name in ("G0", "G1")
    ]
    for number in range(draw(st.integers(1, 6))):
        late = draw(st.integers(0, 4)) == 0  # of the recheck: nothing of then stands in for these
        whens = KEPT if late else KEPT + TEXT + (HANGING if number else ())
        score = draw(SCORES)
        written.append(
            f'[[rule]]\nname = "R{number}"\nwhen = """{draw(st.sampled_from(whens))}"""\n'
            f"score = {score if isinstance(score, int) else repr(score)}\n"
            f'mode = "{draw(MODES)}"\ngroup = "{draw(GROUPS)}"\nsay = '
            f'"{draw(st.sampled_from(["", "word"]))}"\n' + ('stage = "recheck"\n' if late else "")
        )
    return "".join(written)


@st.composite
def scripts(draw: st.DrawFn) -> str:
    """Checks and rules of a script."""
    written = [
        f'oborona.check {{ name = "lua-{number}", run = function() return '
        f"{draw(st.sampled_from(LUA[:3]))}"
        " and 'so' end }\n"
        for number in range(2)
    ]
    for number in range(draw(st.integers(1, 3))):
        late = draw(st.integers(0, 3)) == 0
        when = draw(st.sampled_from(LUA[:2] if late else LUA))
        group = draw(GROUPS)
        written.append(
            (
                f'oborona.rule {{ name = "LUA_{number}", score = '
                f'{draw(st.integers(-90, 130))}, mode = "{draw(MODES)}",'
            )
            + (f' group = "{group}",' if group else "")
            + (' stage = "recheck",' if late else "")
            + f" when = function() return {when} end }}\n"
        )
    return "".join(written)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw one."""
    lists = "".join(
        f'[[local_list]]\nname = "{name}"\naction = "{draw(st.sampled_from(["allow", "deny"]))}"\n'
        f'of = ["client", "{draw(st.sampled_from(["sender", "from"]))}"]\nmode = "{mode}"\n'
        f"entries = {draw(st.sampled_from([['9.10.11.0/24'], ['a.example'], ['other.example']]))}\n"
        for name, mode in (("LISTED", "live"), ("TRIED", "shadow"))
        if name == "TRIED" or draw(st.booleans())
    )
    tables = (
        (
            f"[verdict]\nspam_score = {draw(st.integers(20, 120))}\nreject_score = "
            f"{draw(st.integers(120, 250))}\n"
        )
        + (f"shadow_spam_score = {draw(st.integers(10, 100))}\n" if draw(st.booleans()) else "")
        + f"[karma]\nbest = {draw(st.integers(-100, 0))}\nworst = {draw(st.integers(0, 100))}\n"
        f'mode = "{draw(MODES)}"\nnever_helps = {draw(st.sampled_from([[], ["R0"], ["LUA_0"]]))}\n'
        f'group = "{draw(GROUPS)}"\n'
        f'[final]\nmode = "{draw(MODES)}"\n[repip]\nbad = '
        f'"{draw(st.sampled_from(["none", "reject"]))}"\n'
        f"[engines]\nshadow = {draw(st.sampled_from([[], ['rspamd'], ['clamd']]))}\n"
    )
    said = [
        draw(st.sampled_from([None, *of]))
        for of in (list(OF.values()), list(SPAMD.values()), [CLEAN, VIRUS])
    ]
    return Case(
        toml=tables + draw(rules()) + lists + dns_list('{"127.0.0.2" = 40}'),
        lua=draw(scripts()),
        said=tuple(one for one in said if one is not None),
        identity=draw(st.sampled_from([ANN, AuthIdentity()])),
        listed=draw(st.booleans()),
        past=draw(st.sampled_from([GOOD, SPAM])),
        weight=draw(st.sampled_from([-7.5, 0.0, 12.25])),
    )


async def delivered(case: Case, by: Policy, site: ScanSite) -> Scan:
    """Judge a message of somebody with two weeks of the past that the case says."""
    inquiry = Told(
        SenderEvidence(identity=case.identity, listings=(LISTING,) if case.listed else ())
    )
    counters = site.counters
    assert isinstance(counters, MemoryCounters)
    first = await scan(LETTER, ENVELOPE, site, by, inquiry, now=NOW)
    for ago in range(2, 13):
        counters.add(first.pieces, case.past, NOW - ago * 86_400)
    return await scan(LETTER, ENVELOPE, site, by, inquiry, now=NOW)


def told(verdict: Verdict) -> Verdict:
    """Return a verdict without the words of findings: which scripts failed is told of those alone
    that ran.
    """
    names = tuple(Finding(finding.name) for finding in verdict.findings)
    return msgspec.structs.replace(verdict, findings=names)


@settings(max_examples=150)
@given(case=cases())
def test_whatever_is_journaled_is_judged_again_as_it_was(case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "1.toml").write_text(case.toml)
        Path(folder, "2.lua").write_text(case.lua)
        by = load_policy(Path(folder), SCHEMA)
    final = Final(case.weight)
    site = ScanSite(
        name="mx.b.example",
        hasher=Hasher(b"k" * 32),
        counters=MemoryCounters(),
        engines=Fixed(*case.said),
        final=final,
    )
    result = finished(delivered(case, by, site))
    entry = stored(entry_of(1 << 40, NOW, by, ENVELOPE, len(LETTER), result.verdict, result))
    judge = Rejudger(by, final)
    same = judge.judge(entry, rule_fingerprints(by))
    assert same is not None
    assert told(same.verdict) == told(result.verdict)
    assert (same.unjudged, same.mildest, same.severest) == (
        {},
        result.verdict.action,
        result.verdict.action,
    )
    unseen = PictureView(pictures=result.message.pictures)
    late = finished(rescan(result, unseen, site, NoInquiry(), now=NOW, stage=Stage.RECHECK))
    later = judge.judge(entry, rule_fingerprints(by), stage=Stage.RECHECK)
    assert later is not None
    assert told(later.verdict) == told(late.verdict)
    assert later.unjudged == {}
