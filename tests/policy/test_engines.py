"""Other engines' opinions: what they stand for, what the table makes of them, and who stands above
it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.counters.memory import MemoryCounters
from oborona.errors import PolicyError
from oborona.message.shingles import Hasher
from oborona.policy.engine_table import EngineName, EnginesTable
from oborona.policy.engines import (
    EngineOpinion,
    OpinionClass,
    PendingOpinions,
    classify_opinion,
    joint_verdict,
    opinion_line,
)
from oborona.policy.evidence import SenderEvidence
from oborona.policy.fact_table import SCHEMA
from oborona.policy.headers import HeaderDetail, our_headers
from oborona.policy.load import Policy, load_policy
from oborona.policy.personal_list_match import PERSONAL
from oborona.policy.rules import VerdictLines
from oborona.policy.scan import Scan, ScanSite, scan
from oborona.reputation.personal import (
    NOBODY,
    EntryAction,
    PersonalEntryKind,
    PersonalProfile,
    entry,
)
from oborona.types import Action, Client, Envelope, RuleHit, RuleMode, ShadowVerdict, Verdict
from tests.policy.test_scan_evidence import CLEAN as PROVED
from tests.policy.test_scan_evidence import Told

NOW = 1_795_170_000.0
ROOT = Path(__file__).resolve().parents[2]
SHIPPED = load_policy(ROOT / "etc/policy.d", SCHEMA)
TABLE = EnginesTable()
LINES = VerdictLines()
ANN = "ann@a.example"
ENVELOPE = Envelope(
    client=Client(ip="9.10.11.12"), helo="mail.a.example", sender=ANN, recipients=("bob@b.example",)
)
LETTER = (
    b"From: Ann <ann@a.example>\r\nTo: bob@b.example\r\nSubject: lunch\r\nMessage-ID: "
    b"<1@a.example>\r\n\r\nAt noon?\r\n"
)
OF = {
    OpinionClass.GOOD: EngineOpinion(engine="rspamd", action="no action", score=0.1, line=15.0),
    OpinionClass.PERHAPS: EngineOpinion(
        engine="rspamd",
        action="add header",
        score=7.5,
        line=15.0,
        symbols=("BAYES_SPAM", "R_SPF_ALLOW"),
    ),
    OpinionClass.CERTAIN: EngineOpinion(
        engine="rspamd", action="reject", score=15.2, line=15.0, symbols=("SYM_A", "SYM_B")
    ),
    OpinionClass.UNKNOWN: EngineOpinion(engine="rspamd", unknown="timeout"),
}
SPAMD = {
    OpinionClass.GOOD: EngineOpinion(engine="spamd", action="ham", score=4.9, line=5.0),
    OpinionClass.PERHAPS: EngineOpinion(
        engine="spamd", action="spam", score=5.0, line=5.0, symbols=("HTML_MESSAGE",)
    ),
    OpinionClass.CERTAIN: EngineOpinion(engine="spamd", action="spam", score=15.0, line=5.0),
    OpinionClass.UNKNOWN: EngineOpinion(engine="spamd", unknown="away"),
}
CLEAN = EngineOpinion(engine="clamd", action="ok")
VIRUS = EngineOpinion(engine="clamd", action="found", virus="Win.Test.EICAR_HDB-1")
ORDER = (Action.ACCEPT, Action.SPAM, Action.REJECT)
DESIGN = {  # ours, the other's: section 3 of the design
    (Action.ACCEPT, OpinionClass.GOOD): Action.ACCEPT,
    (Action.ACCEPT, OpinionClass.PERHAPS): Action.SPAM,
    (Action.ACCEPT, OpinionClass.CERTAIN): Action.REJECT,
    (Action.SPAM, OpinionClass.GOOD): Action.SPAM,
    (Action.SPAM, OpinionClass.PERHAPS): Action.SPAM,
    (Action.SPAM, OpinionClass.CERTAIN): Action.REJECT,
    (Action.REJECT, OpinionClass.GOOD): Action.REJECT,
    (Action.REJECT, OpinionClass.PERHAPS): Action.REJECT,
    (Action.REJECT, OpinionClass.CERTAIN): Action.REJECT,
    (Action.ACCEPT, OpinionClass.UNKNOWN): Action.ACCEPT,
    (Action.SPAM, OpinionClass.UNKNOWN): Action.SPAM,
    (Action.REJECT, OpinionClass.UNKNOWN): Action.REJECT,
}


class Fixed:
    """Engines that say what a test says, about every message.

    It counts who was asked and who was let go.
    """

    def __init__(self, *said: EngineOpinion) -> None:
        self.given = said
        self.asked = self.left = 0

    def ask(
        self, raw: bytes, envelope: Envelope, size: int, policy: Policy
    ) -> PendingOpinions | None:
        self.asked += 1
        return self if self.given else None

    async def said(self) -> tuple[EngineOpinion, ...]:
        return self.given

    def cancel(self) -> None:
        self.left += 1


class Readers:
    def __init__(self, person: PersonalProfile) -> None:
        self._person = person

    async def of(self, address: str) -> PersonalProfile:
        return self._person


def site(*said: EngineOpinion, person: PersonalProfile = NOBODY) -> ScanSite:
    return ScanSite(
        name="mx.b.example",
        hasher=Hasher(b"k" * 32),
        counters=MemoryCounters(),
        engines=Fixed(*said),
        persons=Readers(person),
    )


def policy(folder: Path, text: str = "") -> Policy:
    folder.mkdir(exist_ok=True)
    (folder / "1.toml").write_text(f"[verdict]\nspam_score = 100\nreject_score = 200\n{text}\n")
    return load_policy(folder, SCHEMA)


async def scanned(by: Policy, *said: EngineOpinion, person: PersonalProfile = NOBODY) -> Scan:
    evidence = Told(SenderEvidence(identity=PROVED))
    return await scan(LETTER, ENVELOPE, site(*said, person=person), by, evidence, now=NOW)


def verdict(action: Action, would: ShadowVerdict | None = None) -> Verdict:
    score = {Action.ACCEPT: 10.0, Action.SPAM: 120.0, Action.REJECT: 250.0}[action]
    line = 200.0 if action is Action.REJECT else 100.0
    return Verdict(
        action=action,
        score=score,
        line=line,
        decided_by="MASS_TEXT",
        rules=(
            RuleHit(name="MASS_TEXT", score=score),
            RuleHit(name="ON_TRIAL", score=5, mode=RuleMode.SHADOW),
        ),
        would=would,
    )


@pytest.mark.parametrize(("ours", "theirs"), DESIGN)
def test_two_engines_together_give_the_verdict_of_the_design(
    ours: Action, theirs: OpinionClass
) -> None:
    found = joint_verdict(verdict(ours), [OF[theirs]], TABLE, LINES)
    wanted = DESIGN[ours, theirs]
    assert found.action is wanted
    assert found.score == verdict(ours).score
    if wanted is ours:
        assert (found.decided_by, found.line) == ("MASS_TEXT", verdict(ours).line)
    else:
        assert found.decided_by == "ENGINE_RSPAMD"
        assert found.line == (200.0 if wanted is Action.REJECT else 100.0)
    shown = theirs in (OpinionClass.PERHAPS, OpinionClass.CERTAIN)
    assert ("ENGINE_RSPAMD" in {hit.name for hit in found.rules}) is shown
    assert found.rules[-1].mode is RuleMode.SHADOW


@pytest.mark.parametrize("ours", ORDER)
@pytest.mark.parametrize("one", OpinionClass)
@pytest.mark.parametrize("other", OpinionClass)
def test_of_several_others_the_severest_counts_in_whatever_order(
    ours: Action, one: OpinionClass, other: OpinionClass
) -> None:
    alone = [DESIGN[ours, one], DESIGN[ours, other]]
    wanted = max(alone, key=ORDER.index)
    for said in ([OF[one], SPAMD[other]], [SPAMD[other], OF[one]], [CLEAN, OF[one], SPAMD[other]]):
        assert joint_verdict(verdict(ours), said, TABLE, LINES).action is wanted


def test_nobody_else_changes_nothing() -> None:
    given = verdict(Action.SPAM)
    assert joint_verdict(given, (), TABLE, LINES) is given


def test_who_decided_says_why_in_the_header() -> None:
    found = joint_verdict(
        verdict(Action.ACCEPT),
        [SPAMD[OpinionClass.PERHAPS], OF[OpinionClass.CERTAIN]],
        TABLE,
        LINES,
    )
    assert found.decided_by == "ENGINE_RSPAMD"
    headers = dict(our_headers(found, "id", HeaderDetail.FULL))
    reason = headers["X-Mras-Reason"].replace("\n\t", " ")
    assert reason.startswith(
        "ENGINE_RSPAMD=0.0(reject 15.2 / 15: SYM_A, SYM_B) ENGINE_SPAMD=0.0(spam 5.0 / 5: "
        "HTML_MESSAGE) MASS_TEXT"
    )
    assert (headers["X-Mras"], headers["X-Mras-Score"]) == ("Spam", "10.0 / 200")


@pytest.mark.parametrize(
    ("one", "table", "wanted"),
    [
        *((said, TABLE, meaning) for meaning, said in OF.items()),
        *((said, TABLE, meaning) for meaning, said in SPAMD.items()),
        *(
            (EngineOpinion(engine="rspamd", action=action, score=9.0), TABLE, meaning)
            for action, meaning in {
                "greylist": OpinionClass.GOOD,
                "soft reject": OpinionClass.GOOD,
                "rewrite subject": OpinionClass.PERHAPS,
                "quarantine": OpinionClass.PERHAPS,
                "discard": OpinionClass.CERTAIN,
                "a site's own": OpinionClass.GOOD,
            }.items()
        ),
        (
            EngineOpinion(engine="rspamd", action="greylist"),
            EnginesTable(rspamd_perhaps=("greylist",)),
            OpinionClass.PERHAPS,
        ),
        (SPAMD[OpinionClass.PERHAPS], EnginesTable(spamd_certain=5.0), OpinionClass.CERTAIN),
        (SPAMD[OpinionClass.GOOD], EnginesTable(spamd_certain=1.0), OpinionClass.GOOD),
        (CLEAN, TABLE, OpinionClass.GOOD),
        (VIRUS, TABLE, OpinionClass.CERTAIN),
        (
            EngineOpinion(engine="clamd", action="found", virus="Heuristics.Phishing"),
            TABLE,
            OpinionClass.PERHAPS,
        ),
        (
            EngineOpinion(engine="clamd", action="found", virus="PUA.Win.Packer"),
            TABLE,
            OpinionClass.PERHAPS,
        ),
        (VIRUS, EnginesTable(clamd_perhaps=("Win.Test.",)), OpinionClass.PERHAPS),
        (EngineOpinion(engine="clamd", unknown="too-large"), TABLE, OpinionClass.UNKNOWN),
    ],
)
def test_what_an_engine_s_words_stand_for_is_policy(
    one: EngineOpinion, table: EnginesTable, wanted: OpinionClass
) -> None:
    assert classify_opinion(one, table) is wanted


def test_one_that_never_refuses_is_perhaps_at_most() -> None:
    table = EnginesTable(never_refuse=("rspamd",))
    assert (
        joint_verdict(verdict(Action.ACCEPT), [OF[OpinionClass.CERTAIN]], table, LINES).action
        is Action.SPAM
    )
    both = joint_verdict(
        verdict(Action.ACCEPT),
        [OF[OpinionClass.CERTAIN], SPAMD[OpinionClass.CERTAIN]],
        table,
        LINES,
    )
    assert (both.action, both.decided_by) == (Action.REJECT, "ENGINE_SPAMD")


def test_one_on_trial_is_told_and_decides_nothing() -> None:
    table = EnginesTable(shadow=("rspamd",))
    found = joint_verdict(
        verdict(Action.ACCEPT),
        [OF[OpinionClass.CERTAIN], SPAMD[OpinionClass.PERHAPS]],
        table,
        LINES,
    )
    assert (found.action, found.decided_by) == (Action.SPAM, "ENGINE_SPAMD")
    assert found.would == ShadowVerdict(
        action=Action.REJECT, score=10.0, line=200.0, decided_by="ENGINE_RSPAMD"
    )
    assert found.rules[-1].name == "ENGINE_RSPAMD"
    assert found.rules[-1].mode is RuleMode.SHADOW


def test_what_rules_on_trial_would_have_done_is_told_beside_what_engines_did() -> None:
    would = ShadowVerdict(action=Action.SPAM, score=130.0, line=100.0, decided_by="ON_TRIAL")
    same = joint_verdict(verdict(Action.ACCEPT, would), [OF[OpinionClass.PERHAPS]], TABLE, LINES)
    assert (same.action, same.would) == (Action.SPAM, None)
    other = joint_verdict(verdict(Action.ACCEPT, would), [OF[OpinionClass.GOOD]], TABLE, LINES)
    assert (other.action, other.would) == (Action.ACCEPT, would)


def test_another_table_is_followed_cell_by_cell() -> None:
    table = EnginesTable(
        ours_good=("accept", "accept", "spam"),
        ours_perhaps=("accept", "spam", "spam"),
        ours_certain=("spam", "reject", "reject"),
    )
    wanted = {
        Action.ACCEPT: ["accept", "accept", "spam"],
        Action.SPAM: ["accept", "spam", "spam"],
        Action.REJECT: ["spam", "reject", "reject"],
    }
    for ours_, row in wanted.items():
        for theirs, cell in zip(
            (OpinionClass.GOOD, OpinionClass.PERHAPS, OpinionClass.CERTAIN), row, strict=True
        ):
            found = joint_verdict(
                verdict(ours_), [OF[theirs], OF[OpinionClass.UNKNOWN]], table, LINES
            )
            assert found.action == cell
            assert (found.decided_by == "ENGINE_RSPAMD") is (cell != ours_.value)


opinions = st.lists(
    st.one_of(
        st.sampled_from(list(OF.values())),
        st.sampled_from(list(SPAMD.values())),
        st.sampled_from([CLEAN, VIRUS]),
    ),
    max_size=3,
)


@given(st.sampled_from(ORDER), opinions, st.sets(st.sampled_from(["rspamd", "spamd", "clamd"])))
def test_whatever_others_say_nothing_gets_milder_and_unknown_is_as_if_not_asked(
    action: Action, said: list[EngineOpinion], shadow: set[EngineName]
) -> None:
    """The shipped table: no verdict milder than ours, nor than without any one of them.

    The score is ours.
    """
    table = EnginesTable(shadow=tuple(shadow))
    given_ = verdict(action)
    found = joint_verdict(given_, said, table, LINES)
    assert ORDER.index(found.action) >= ORDER.index(action)
    assert found.score == given_.score
    for place, one in enumerate(said):
        fewer = joint_verdict(given_, [*said[:place], *said[place + 1 :]], table, LINES)
        assert ORDER.index(fewer.action) <= ORDER.index(found.action)
        if classify_opinion(one, table) is OpinionClass.UNKNOWN:
            assert fewer.action is found.action
            assert fewer.would == found.would
    assert found.action is action or found.decided_by.startswith("ENGINE_")


@pytest.mark.parametrize(
    ("text", "where", "why"),
    [
        (
            'ours_good = ["spam", "accept", "reject"]',
            "1.toml:5:13",
            "gets worse from left to right",
        ),
        (
            'ours_perhaps = ["accept", "accept", "reject"]',
            "1.toml:5:16",
            "in place 2 ours_good is more severe",
        ),
        (
            'ours_good = ["reject", "reject", "reject"]',
            "1.toml:5:13",
            "more severe than ours_perhaps",
        ),
        ('ours_good = ["accept", "spam"]', "1.toml:5:13", "not allowed"),
        ('ours_good = ["accept", "spam", "drop"]', "1.toml:5:13", "not allowed"),
        ('shadow = ["razor"]', "1.toml:5:10", "not allowed"),
        ("spamd_certain = -1", "1.toml:5:17", "not allowed"),
        ("spamd_sure = 5", "1.toml:5:1", "unknown key"),
        ('clamd_perhaps = [""]', "1.toml:5:17", "not allowed"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused_with_its_place(
    tmp_path: Path, text: str, where: str, why: str
) -> None:
    with pytest.raises(PolicyError, match=why) as caught:
        policy(tmp_path, f"[engines]\n{text}")
    assert where in str(caught.value)


def test_the_shipped_file_says_what_holds_without_it() -> None:
    assert SHIPPED.engines == EnginesTable()


async def test_a_scan_asks_and_lets_go_and_without_engines_is_what_it_was() -> None:
    alone = await scanned(SHIPPED)
    engines = Fixed(OF[OpinionClass.PERHAPS])
    beside = msgspec.structs.replace(site(), engines=engines)
    found = await scan(
        LETTER, ENVELOPE, beside, SHIPPED, Told(SenderEvidence(identity=PROVED)), now=NOW
    )
    assert (engines.asked, engines.left) == (1, 1)
    assert alone.verdict.action is Action.ACCEPT
    assert alone.facts.rspamd_says is None
    assert (found.verdict.action, found.verdict.decided_by) == (Action.SPAM, "ENGINE_RSPAMD")
    assert found.verdict.score == alone.verdict.score
    assert found.engines == (OF[OpinionClass.PERHAPS],)
    assert (found.facts.rspamd_says, found.facts.rspamd_score) == ("perhaps", 7.5)
    assert found.facts.rspamd_symbols == {"BAYES_SPAM", "R_SPF_ALLOW"}


async def test_a_scan_that_fails_lets_go_of_the_engines() -> None:
    class Broken(Told):
        async def whole(self, *_args: object, **_more: object) -> SenderEvidence:
            raise RuntimeError("no")

    engines = Fixed(OF[OpinionClass.GOOD])
    beside = msgspec.structs.replace(site(), engines=engines)
    with pytest.raises(RuntimeError):
        await scan(LETTER, ENVELOPE, beside, SHIPPED, Broken(SenderEvidence()), now=NOW)
    assert engines.left == 1


async def test_rules_can_name_what_engines_say(tmp_path: Path) -> None:
    by = policy(
        tmp_path,
        """
        [engines]
        shadow = ["rspamd", "spamd", "clamd"]
        [[rule]]
        name = "BOTH"
        when = "rspamd.says == 'perhaps' and spamd.says == 'perhaps'"
        score = 210
        [[rule]]
        name = "THEIR_BAYES"
        when = "'BAYES_SPAM' in rspamd.symbols and rspamd.score > 7"
        score = 1
        [[rule]]
        name = "WITHOUT"
        when = "spamd.says == 'unknown' or spamd.says == none"
        score = 2
        [[rule]]
        name = "MACRO"
        when = "startswith(clamd.virus, 'Win.')"
        score = 4
        """,
    )
    found = await scanned(by, OF[OpinionClass.PERHAPS], SPAMD[OpinionClass.PERHAPS], VIRUS)
    live = {hit.name for hit in found.verdict.rules if hit.mode is RuleMode.LIVE}
    assert live == {"BOTH", "THEIR_BAYES", "MACRO"}
    assert (found.verdict.action, found.verdict.decided_by) == (Action.REJECT, "BOTH")
    for said in ([], [SPAMD[OpinionClass.UNKNOWN]]):
        assert {hit.name for hit in (await scanned(by, *said)).verdict.rules} == {"WITHOUT"}


async def test_enforced_lists_of_the_site_stand_above_every_engine(tmp_path: Path) -> None:
    by = policy(
        tmp_path,
        (
            '[[local_list]]\nname = "FRIENDS"\naction = "allow"\nof = ["from"]\nentries = '
            '["ann@a.example"]\n'
        ),
    )
    found = await scanned(by, OF[OpinionClass.CERTAIN], VIRUS)
    assert (found.verdict.action, found.verdict.decided_by) == (Action.ACCEPT, "FRIENDS")
    assert {"ENGINE_RSPAMD", "ENGINE_CLAMD"} <= {hit.name for hit in found.verdict.rules}


def person(kind: PersonalEntryKind, value: str, side: EntryAction) -> PersonalProfile:
    return PersonalProfile(address="bob@b.example", entries=(entry(side, kind, value),))


async def test_a_reader_s_list_stands_above_engines_but_not_above_a_virus() -> None:
    friend = person(PersonalEntryKind.ADDRESS, ANN, EntryAction.ALLOW)
    let_in = await scanned(SHIPPED, OF[OpinionClass.CERTAIN], person=friend)
    assert (let_in.verdict.action, let_in.verdict.decided_by) == (Action.ACCEPT, PERSONAL)
    assert let_in.site_verdict is not None
    assert let_in.site_verdict.action is Action.REJECT
    virus = await scanned(SHIPPED, VIRUS, person=friend)
    assert (virus.verdict.action, virus.verdict.decided_by) == (Action.REJECT, "ENGINE_CLAMD")
    assert virus.facts.found("virus")
    assert {one.name: one.evidence for one in virus.verdict.findings}[
        "virus"
    ] == "clamd: Win.Test.EICAR_HDB-1"


async def test_a_guess_of_clamd_is_no_virus(tmp_path: Path) -> None:
    guess = EngineOpinion(engine="clamd", action="found", virus="Heuristics.Phishing.Email")
    found = await scanned(SHIPPED, guess)
    assert (found.verdict.action, found.facts.found("virus")) == (Action.SPAM, False)
    on_trial = await scanned(policy(tmp_path, '[engines]\nshadow = ["clamd"]'), VIRUS)
    assert (on_trial.verdict.action, on_trial.facts.found("virus")) == (Action.ACCEPT, False)


def test_words_of_an_engine_are_one_short_line() -> None:
    many = msgspec.structs.replace(
        OF[OpinionClass.CERTAIN], symbols=tuple(f"S{number}" for number in range(20))
    )
    assert opinion_line(many) == "reject 15.2 / 15: S0, S1, S2, S3, S4, S5, S6, S7 and 12 more"
    assert opinion_line(VIRUS) == "Win.Test.EICAR_HDB-1"
    assert opinion_line(SPAMD[OpinionClass.UNKNOWN]) == "unknown: away"
    assert (
        opinion_line(EngineOpinion(engine="rspamd", action="greylist", score=4.0)) == "greylist 4.0"
    )
