"""What another engine said when a message came, in replays and in the second look: the same
verdict, and never one without it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.doors.delivery.entry_lookup import ClaimedIdentity, delivered_by_entry
from oborona.journal import rows
from oborona.journal.entry import JournalEntry
from oborona.journal.evidence import VerdictEvidence, pack_evidence, unpack_evidence, without_counts
from oborona.policy.engines import EngineOpinion, OpinionClass
from oborona.policy.evidence import NoInquiry, SenderEvidence
from oborona.policy.load import Policy
from oborona.policy.models.ports import NoModels
from oborona.policy.personal_list_match import PERSONAL, reader_verdict
from oborona.policy.ports import PictureView
from oborona.policy.scan import Scan, ScanSite, rescan, scan
from oborona.recheck.engine.model import RecheckCandidate, RecheckCause
from oborona.recheck.facts_at_delivery import facts_then, why_not
from oborona.recheck.rejudgement import Rejudger
from oborona.recheck.rule_fingerprints import rule_fingerprints
from oborona.reputation.personal import NOBODY, EntryAction, PersonalEntryKind
from oborona.session.journal_entry import entry_of
from oborona.types import Action, RuleMode, Stage
from tests.policy.test_engines import (
    ENVELOPE,
    LETTER,
    NOW,
    OF,
    SPAMD,
    VIRUS,
    Fixed,
    person,
    policy,
    site,
)
from tests.policy.test_scan_evidence import CLEAN, Told
from tests.recheck.engine.scene import CAMPAIGN, COMPLAINED, Scene, letter, written

NAMED = """
[[rule]]
name = "THEY_SAY"
when = "rspamd.says == 'perhaps' and 'BAYES_SPAM' in rspamd.symbols and spamd.score >= 4"
score = 30
say = "{rspamd.score} {spamd.score}"
"""


async def journaled(by: Policy, *said: EngineOpinion) -> tuple[Scan, JournalEntry]:
    """Scan a message that others have an opinion of.

    Return that and what the journal gives back of it.
    """
    result = await scan(
        LETTER, ENVELOPE, site(*said), by, Told(SenderEvidence(identity=CLEAN)), now=NOW
    )
    row = rows.pack(entry_of(1 << 40, NOW, by, ENVELOPE, len(LETTER), result.verdict, result))
    return result, rows.unpack(row.verdict, row.evidence, rows.names_json(row.names))


@pytest.mark.parametrize(
    "said",
    [
        (OF[OpinionClass.PERHAPS], SPAMD[OpinionClass.GOOD]),
        (OF[OpinionClass.CERTAIN],),
        (SPAMD[OpinionClass.CERTAIN], VIRUS),
        (OF[OpinionClass.UNKNOWN], SPAMD[OpinionClass.PERHAPS]),
        (OF[OpinionClass.GOOD],),
        (),
    ],
)
async def test_a_replay_under_the_same_policy_gives_the_same_verdict(
    tmp_path: Path, said: tuple[EngineOpinion, ...]
) -> None:
    by = policy(tmp_path, NAMED)
    result, entry = await journaled(by, *said)
    assert entry.kept is not None
    assert entry.kept.engines == said
    again_ = Rejudger(by, NoModels()).judge(entry, rule_fingerprints(by))
    assert again_ is not None
    assert again_.unjudged == {}
    assert again_.verdict == result.verdict
    assert again_.mildest is again_.severest is result.verdict.action
    for name in (
        "rspamd_says",
        "rspamd_score",
        "rspamd_symbols",
        "spamd_says",
        "clamd_says",
        "clamd_virus",
    ):
        assert getattr(again_.facts, name) == getattr(result.facts, name), name
    then = facts_then(entry)
    assert then is not None
    assert then.rspamd_symbols == result.facts.rspamd_symbols


async def test_another_table_judges_the_words_of_then(tmp_path: Path) -> None:
    by = policy(tmp_path / "then")
    _, perhaps = await journaled(by, OF[OpinionClass.PERHAPS])
    _, virus = await journaled(by, VIRUS)
    assert (perhaps.verdict, virus.verdict) == (Action.SPAM, Action.REJECT)
    for number, (text, entry, wanted) in enumerate(
        [
            ('[engines]\nrspamd_perhaps = ["greylist"]', perhaps, Action.ACCEPT),
            ('[engines]\nrspamd_certain = ["add header"]', perhaps, Action.REJECT),
            ('[engines]\nshadow = ["rspamd"]', perhaps, Action.ACCEPT),
            ('[engines]\nours_good = ["accept", "accept", "reject"]', perhaps, Action.ACCEPT),
            ('[engines]\nnever_refuse = ["clamd"]', virus, Action.SPAM),
            ('[engines]\nclamd_perhaps = ["Win."]', virus, Action.SPAM),
            ('[engines]\nshadow = ["clamd"]', virus, Action.ACCEPT),
        ]
    ):
        found = Rejudger(policy(tmp_path / str(number), text), NoModels()).judge(entry, None)
        assert found is not None
        assert found.verdict.action is found.mildest is found.severest is wanted, text
        finding = {one.name for one in found.verdict.findings}
        assert (
            ("virus" in finding) is ("virus" in found.facts.findings) is ("never_refuse" in text)
        ), text


async def test_a_rule_that_can_t_be_judged_is_held_to_the_table_too(tmp_path: Path) -> None:
    """What an unjudged rule could make of a message never gets milder than what others said."""
    _, entry = await journaled(policy(tmp_path / "then"), OF[OpinionClass.PERHAPS])
    unknown = '[[rule]]\nname = "TEXT"\nwhen = "\'noon\' in text"\nscore = {score}\n'
    worse = Rejudger(policy(tmp_path / "worse", unknown.format(score=250)), NoModels()).judge(
        entry, None
    )
    better = Rejudger(policy(tmp_path / "better", unknown.format(score=-50)), NoModels()).judge(
        entry, None
    )
    assert worse is not None
    assert better is not None
    assert list(worse.unjudged) == ["TEXT"]
    assert (worse.mildest, worse.severest) == (Action.SPAM, Action.REJECT)
    assert (better.mildest, better.severest) == (Action.SPAM, Action.SPAM)


async def test_an_entry_of_before_there_were_engines_says_that_nobody_was_asked(
    tmp_path: Path,
) -> None:
    by = policy(tmp_path, '[[rule]]\nname = "ALONE"\nwhen = "rspamd.says == none"\nscore = 5')
    result, entry = await journaled(by)
    older = {
        name: value
        for name, value in entry.facts.items()
        if name.partition("_")[0] not in ("rspamd", "spamd", "clamd")
    }
    assert older.keys() != entry.facts.keys()
    found = Rejudger(by, NoModels()).judge(msgspec.structs.replace(entry, facts=older), None)
    assert found is not None
    assert found.unjudged == {}
    assert found.verdict == result.verdict


def test_an_entry_without_evidence_is_not_judged(tmp_path: Path) -> None:
    entry = JournalEntry(
        id=1, time=NOW, verdict=Action.SPAM, score=1, line=100, decided_by="ENGINE_RSPAMD"
    )
    assert Rejudger(policy(tmp_path), NoModels()).judge(entry, None) is None
    assert why_not(entry)


words = st.text(max_size=20)
engine_words = st.builds(
    EngineOpinion,
    engine=st.sampled_from(["rspamd", "spamd", "clamd"]),
    action=words,
    score=st.none() | st.floats(-1e6, 1e6),
    line=st.none() | st.floats(-1e6, 1e6),
    symbols=st.lists(words, max_size=5).map(tuple),
    virus=words,
    unknown=words,
    ms=st.floats(0, 1e6),
)


@given(st.lists(engine_words, max_size=3).map(tuple))
def test_words_of_engines_come_back_from_the_journal_as_they_were(
    said: tuple[EngineOpinion, ...],
) -> None:
    """Also where the counts, which are most of a row, are left in it."""
    kept = VerdictEvidence(engines=said)
    assert unpack_evidence(pack_evidence(kept)) == kept
    assert without_counts(pack_evidence(kept)).engines == said


async def test_what_is_seen_late_is_judged_with_the_words_of_before(tmp_path: Path) -> None:
    by = policy(tmp_path, NAMED)
    here = site(OF[OpinionClass.PERHAPS], SPAMD[OpinionClass.GOOD])
    first = await scan(LETTER, ENVELOPE, here, by, Told(SenderEvidence(identity=CLEAN)), now=NOW)
    engines = here.engines
    assert isinstance(engines, Fixed)
    late = await rescan(
        first,
        PictureView(pictures=first.message.pictures),
        here,
        NoInquiry(),
        now=NOW + 60,
        stage=Stage.RECHECK,
    )
    assert engines.asked == 1
    assert late.engines == first.engines
    assert late.verdict == first.verdict
    assert {hit.name for hit in late.verdict.rules if hit.mode is RuleMode.LIVE} >= {
        "THEY_SAY",
        "ENGINE_RSPAMD",
    }


class Site(Scene):
    """A site that has another engine beside ours."""

    beside: tuple[EngineOpinion, ...] = ()

    @property
    def site(self) -> ScanSite:
        """As scans have it; the second look asks nobody again, and fails where it does."""
        return msgspec.structs.replace(super().site, engines=Fixed(*self.beside))


async def test_the_second_look_leaves_what_another_engine_had_filed(tmp_path: Path) -> None:
    """Pardons, time and a changed policy bring nothing back that rspamd put into the spam folder.

    Without its word it would come back.
    """
    by = written(tmp_path / "policy", COMPLAINED)
    async with Site(tmp_path, by, looks_s=(60.0,)) as found:
        found.beside = (OF[OpinionClass.PERHAPS],)
        filed = await found.deliver(letter(1, CAMPAIGN))
        assert (filed.verdict, filed.decided_by) == (Action.SPAM, "ENGINE_RSPAMD")
        found.beside = ()  # it is away by now
        found.now += 61
        found.policy = written(tmp_path / "policy", COMPLAINED, "[repip]\nbad = 'none'\n")
        found.say(filed, 3, pardon=True)
        await found.look()
        assert found.made(filed) == []
        second = (
            await found.rescorer().again(
                [RecheckCandidate(filed, None, (), None)], RecheckCause.PARDON, found.now
            )
        )[0]
        assert second.again is not None
        assert second.again.verdict.action is second.again.mildest is Action.SPAM
        assert second.again.verdict.decided_by == "ENGINE_RSPAMD"
        assert filed.kept is not None
        deaf = msgspec.structs.replace(filed, kept=msgspec.structs.replace(filed.kept, engines=()))
        without = (
            await found.rescorer().again(
                [RecheckCandidate(deaf, None, (), None)], RecheckCause.PARDON, found.now
            )
        )[0]
        assert [one.target for one in without.moves] == ["INBOX"]


async def test_the_second_look_moves_what_another_engine_had_called_good(tmp_path: Path) -> None:
    async with Site(tmp_path, written(tmp_path / "policy", COMPLAINED)) as found:
        found.beside = (OF[OpinionClass.GOOD],)
        passed = await found.deliver(letter(1, CAMPAIGN))
        assert passed.verdict is Action.ACCEPT
        found.say(passed, 3)
        await found.look()
        (move,) = found.made(passed)
        assert move.why.startswith("COMPLAINED")


async def test_a_message_that_a_reader_let_in_is_the_site_s_again_for_others(
    tmp_path: Path,
) -> None:
    """At the delivery door each copy has one reader: where one lets in what an engine filed, the
    other still has it in the spam folder.
    """
    by = policy(tmp_path)
    friend = person(PersonalEntryKind.ADDRESS, "ann@a.example", EntryAction.ALLOW)
    here = site(OF[OpinionClass.PERHAPS], person=friend)
    result = await scan(LETTER, ENVELOPE, here, by, Told(SenderEvidence(identity=CLEAN)), now=NOW)
    assert (result.verdict.action, result.verdict.decided_by) == (Action.ACCEPT, PERSONAL)
    entry = entry_of(1 << 40, NOW, by, ENVELOPE, len(LETTER), result.verdict, result)
    letter_ = delivered_by_entry(entry, ClaimedIdentity(message_id="<1@a.example>"), by)
    assert reader_verdict(letter_, NOBODY, NOW).action is Action.SPAM
    assert reader_verdict(letter_, friend, NOW).action is Action.ACCEPT
