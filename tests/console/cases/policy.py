"""Pages of the policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from oborona.desk.acts.draft_forms import TestAdded
from oborona.desk.acts.drafts import DraftRebased
from oborona.desk.asks.drafts import DraftList, DraftShown, LintAnswer, TestsAnswer
from oborona.desk.asks.policy import ComparedPolicies, OriginList, VersionList
from oborona.desk.policy.difference import FileDifference, MeaningChange
from oborona.desk.policy.draft_change import DraftChanged
from oborona.desk.policy.draft_desk import DraftBrief, DraftFile
from oborona.desk.policy.draft_note import DraftDecline, DraftProposal
from oborona.desk.policy.lint import PolicyProblem
from oborona.desk.policy.origins import OriginRow
from oborona.desk.policy.preview import PolicyPreview, PreviewExample, RuleEffectChange
from oborona.desk.policy.publication import PolicyPublication
from oborona.desk.policy.rebase import DraftConflict
from oborona.desk.policy.rule_history import RuleHistory
from oborona.desk.policy.rule_table import RuleDetail, RuleHitMessage, RuleRow, ShownRules
from oborona.people.rights import Role
from oborona.policy.folders import FileOwner
from oborona.stores.policy_versions.store import PolicyVersion, VersionSort, VersionState
from tests.console.page_case import PageCase
from tests.console.stub_desk import NOW, DeskRefusalError, person

HOSTILE = "</textarea>\u202e<script>alert(1)</script>\"'{{7*7}}"
OVERLAY = "90-console.toml"
OWN = "/etc/oborona/policy.d/"
TEXT = '[[rule]]\nname = "LINKS"\nscore = 30\n'
MESSAGE = "06AVK2G6SXPQ8"


def told(answer: object) -> Any:
    """Return an answer as the desk's JSON has it."""
    return msgspec.to_builtins(answer)


def mode(value: str) -> Mapping[str, Any]:
    """Return what `console.policy` says."""
    row = OriginRow(name="console.policy", value=value, origin="default")
    return told(OriginList(settings=(row,), policy=()))  # type: ignore[no-any-return]


def rule(name: str, **more: Any) -> RuleRow:
    """Return a rule in a table."""
    fields: dict[str, Any] = {
        "mode": "live",
        "enabled": True,
        "score": 60.0,
        "say": "many links",
        "group": "links",
        "file": "20-links.toml",
        "line": 12,
        "whose": FileOwner.SHIPPED,
        "hits": 1234,
        "alone": 7,
    }
    return RuleRow(name=name, **{**fields, **more})


RULES = (
    rule("LINKS"),
    rule("TWO", score="links * 2", mode="shadow", hits=3, shadow=3),
    rule("OFF", enabled=False, hits=0, file=OWN + OVERLAY, whose=FileOwner.OWN),
    rule("NEVER", hits=0, alone=0, say=HOSTILE),
)


def rules(*, complete: bool = True, note: str = "", which: tuple[RuleRow, ...] = RULES) -> Any:
    """Return all rules."""
    return told(
        ShownRules(
            version="8121c0de",
            rules=which,
            messages=5000,
            verdicts={"accept": 4000},
            would={},
            complete=complete,
            note=note,
        )
    )


def detail(*messages: RuleHitMessage, note: str = "") -> Any:
    """Return one rule."""
    return told(
        RuleDetail(
            row=RULES[0],
            when="links > 1\nand not trusted",
            why=HOSTILE,
            stage="content",
            fields={"score": "20-links.toml:12", "when": "20-links.toml:11"},
            uses={"trusted": "spf.pass"},
            used_by=("MANY",),
            tests=(
                {"facts": {"links": 2}, "fired": [], "hit": True, "score": None, "place": "a:14"},
            ),
            messages=messages,
            note=note,
        )
    )


HIT = RuleHitMessage(
    id=MESSAGE, time=NOW, sender="ann@a.example", subject=HOSTILE, verdict="spam", score=120.0
)
BRIEF = DraftBrief(
    name="mine", owner="admin", made=NOW - 600, about="fewer links " + HOSTILE, base=3,
    changed=(OVERLAY,), previewed=True,
)  # fmt: skip


def waiting(by: str) -> DraftBrief:
    """Return a draft that somebody has proposed."""
    proposal = DraftProposal(by=by, at=NOW, reason=HOSTILE, digest="d", sure=True)
    return msgspec.structs.replace(BRIEF, proposal=proposal)


def version(number: int, sort: VersionSort, **more: Any) -> PolicyVersion:
    """Return a version."""
    return PolicyVersion(
        number=number, at=NOW - 3600 * (9 - number), sort=sort, author="anna", **more
    )


VERSIONS = VersionList(
    versions=(
        version(5, VersionSort.BACK, of=3, comment="it lost invoices"),
        version(4, VersionSort.LIVE, state=VersionState.REFUSED, trouble="10-a.toml:3: no"),
        version(3, VersionSort.OUTSIDE),
        version(2, VersionSort.SHADOW, comment=HOSTILE),
        version(1, VersionSort.FIRST),
    ),
    current=5,
)
CHANGES = (
    MeaningChange(
        sort="rule", name="LINKS", state="changed", text="score 60 → 30", fields={"score": (60, 30)}
    ),
    MeaningChange(sort="verdict", name="", state="changed", text="spam_score 100 → 90"),
)
DIFFERENCE = ComparedPolicies(
    files=(
        FileDifference(
            file=OVERLAY,
            state="added",
            lines=("--- a", "+++ b", "@@ -0,0 +1 @@", "+x = 1" + HOSTILE, "-gone", ""),
            cut=True,
        ),
    ),
    changes=CHANGES,
)
WRONG = told(
    LintAnswer(
        right=False,
        problems=(
            PolicyProblem(
                file=OWN + OVERLAY, line=3, column=9, message=f"score: a number, not {HOSTILE}"
            ),
            PolicyProblem(file="/usr/share/oborona/20-links.toml", line=4, message="elsewhere"),
            PolicyProblem(message="never read", warning=True),
        ),
    )
)
RIGHT = told(LintAnswer(right=True, problems=(), meaning="8121c0de"))


def draft(
    text: str = TEXT, *, whole: bool = True, brief: DraftBrief = BRIEF, two_persons: bool = False
) -> Any:
    """Return what answers for a draft: the file that is asked for, or none."""

    def show(asked: Mapping[str, Any]) -> Any:
        name = asked.get("file", "")
        file = DraftFile(name=name, digest="d1", text=text, whole=whole) if name else None
        files = {"10-own.toml": "d0", OVERLAY: "d1"}
        shown = DraftShown(brief=brief, files=files, file=file, two_persons=two_persons)
        return told(shown)

    return show


def desk(policy: str = "overlay", **more: Any) -> dict[str, Any]:
    """Return what the desk answers about a draft; `policy` says what may be written."""
    return {
        "policy.settings": mode(policy),
        "policy.draft_show": draft(),
        "policy.lint": lambda _: RIGHT,
        "policy.test": told(TestsAnswer(tests=270, failed=())),
        **{f"policy.{name}": answer for name, answer in more.items()},
    }


PREVIEW = PolicyPreview(
    messages=2000,
    since=NOW - 86400,
    differing=12,
    changes={"accept → spam": 9, "spam → accept": 3},
    left_out={"facts not kept": 4},
    rules=(
        RuleEffectChange(
            rule="LINKS", gained=9, lost=0, decides=-2, before=100, after=109, unjudged=1
        ),
    ),
    examples=(
        PreviewExample(
            change="accept → spam", id=MESSAGE, sender="ann@a.example", subject=HOSTILE,
            before=(60.0, "score"), after=(120.0, "score"), gained=("LINKS",), lost=("TWO",),
            unjudged=("OLD",), said=("pardon",),
        ),
    ),
    good=1500, good_lost=9, to_spam=4, to_inbox=1,
    said={"accept → spam": {"pardon": 2}}, seconds=1.3,
)  # fmt: skip
PLANNED = PolicyPublication(
    meaning="9a", files=(OVERLAY,), changes=CHANGES, tried=("LINKS_TRIAL",), note="all is well"
)
DONE = msgspec.structs.replace(PLANNED, version=6, workers=4, late=(71,), undo=5)
REBASED = DraftRebased(
    draft="mine",
    done=False,
    base=5,
    taken=("10-own.toml",),
    conflicts=(
        DraftConflict(
            file=OVERLAY, base="a = 1\n", draft="a = 2\n" + HOSTILE, current="a = 3\nb = 1\n"
        ),
        DraftConflict(file="50-x.toml", base="a = 1\n", draft="a = 2\n", current=None),
    ),
)
THEIRS = {"file": OVERLAY, "text": "mine = 1\n", "before": "d0", "step": "save"}
STALE = msgspec.structs.replace(BRIEF, stale=True, previewed=False)
DRAFT = "/policy/draft/mine"

CASES = [
    PageCase(
        name="policy-rules",
        path="/policy",
        answers={"policy.rules": rules()},
        texts=("20-links.toml", OWN + OVERLAY, "links * 2", "in shadow mode: 3", "5000 messages"),
    ),
    PageCase(
        name="policy-rules-never",
        path="/policy?kind=never&q=never&days=14",
        role=Role.SUPPORT,
        answers={"policy.rules": rules(complete=False)},
        texts=("NEVER", "there was no time for older ones"),
    ),
    PageCase(
        name="policy-rules-none",
        path="/policy?q=nothing-like-that",
        answers={"policy.rules": rules(note="journal: away")},
        texts=("No rule is like that.", "the journal can't be read"),
    ),
    PageCase(
        name="policy-rule",
        path="/policy/rule/LINKS",
        answers={
            "policy.rule": detail(HIT),
            "policy.rule_history": told(
                RuleHistory(versions=VERSIONS.versions[3:], complete=False)
            ),
            **desk(),
        },
        texts=(
            "Versions that changed it",
            "Older versions were not",
            "links > 1",
            "spf.pass",
            "MANY",
            "it hits",
            "U+202E",
            "Change it in a draft",
        ),
    ),
    PageCase(
        name="policy-rule-quiet",
        path="/policy/rule/LINKS",
        answers={"policy.rule": detail(), **desk("read")},
        texts=(
            "Versions can't be read just now.",
            'console.policy = "read"',
            "No message of the journal",
        ),
    ),
    PageCase(
        name="policy-rule-gone",
        path="/policy/rule/NONE",
        answers={"policy.rule": DeskRefusalError(404, "there is no rule NONE"), **desk()},
        status=404,
        texts=("there is no rule NONE",),
    ),
    PageCase(
        name="policy-values",
        path="/policy/settings?name=rule",
        answers={
            "policy.settings": told(
                OriginList(
                    settings=(OriginRow(name="log.level", value="info", origin="default"),),
                    policy=(
                        OriginRow(
                            name="rule.LINKS.say",
                            value=HOSTILE * 9,
                            origin="20-links.toml:12",
                            whose=FileOwner.OWN,
                        ),
                    ),
                )
            )
        },
        texts=("log.level", "20-links.toml:12 (yours)"),
    ),
    PageCase(
        name="policy-values-none",
        path="/policy/settings?name=x",
        answers={"policy.settings": told(OriginList(settings=(), policy=()))},
        texts=("No name begins so.",),
    ),
    PageCase(
        name="policy-history",
        path="/policy/history",
        answers={"policy.history": told(VERSIONS)},
        texts=("it lost invoices", "edited outside", "version 3 again", "refused", "in force"),
    ),
    PageCase(
        name="policy-history-empty",
        path="/policy/history",
        role=Role.AUDITOR,
        answers={"policy.history": told(VersionList(versions=(), current=0))},
        texts=("None yet",),
    ),
    PageCase(
        name="policy-difference",
        path="/policy/difference?before=3&after=4",
        answers={"policy.diff": told(DIFFERENCE)},
        texts=("version 3 → version 4", "score 60 → 30", "+x = 1", "Roll back to version 4"),
    ),
    PageCase(
        name="policy-difference-broken",
        path="/policy/difference?before=3",
        role=Role.AUDITOR,
        answers={
            "policy.diff": told(
                ComparedPolicies(
                    files=DIFFERENCE.files,
                    problems=(PolicyProblem(file="a", line=1, message="no"),),
                )
            )
        },
        texts=("What it means can't be told", "Whoever may publish a policy can roll back"),
    ),
    PageCase(
        name="policy-roll-back",
        path="/policy/roll-back",
        form={"version": "3"},
        answers={"policy.roll_back": told(PLANNED)},
        texts=("Roll back to version 3", "score 60 → 30", "Reason"),
    ),
    PageCase(
        name="policy-roll-back-password",
        path="/policy/roll-back",
        form={"version": "3", "step": "do", "reason": "lost mail"},
        answers={
            "policy.roll_back": DeskRefusalError(403, "your password", needs="password"),
        },
        status=403,
        texts=("Your password once more", "Nothing was done."),
    ),
    PageCase(
        name="policy-drafts",
        path="/policy/drafts",
        answers={
            "policy.draft_list": told(
                DraftList(drafts=(BRIEF, STALE, DraftBrief(name="torn", trouble="is damaged")))
            ),
            **desk(),
        },
        texts=("1 file changed", "the policy was changed since", "is damaged", OVERLAY),
    ),
    PageCase(
        name="policy-drafts-read",
        path="/policy/drafts",
        role=Role.ANALYST,
        answers={"policy.draft_list": told(DraftList(drafts=())), **desk("read")},
        texts=("None yet", 'console.policy = "read"'),
    ),
    PageCase(
        name="policy-drafts-wrong",
        path="/policy/drafts",
        form={"name": "Über", "about": HOSTILE},
        answers={
            "policy.draft_list": told(DraftList(drafts=())),
            "policy.draft_new": DeskRefusalError(422, "'Über' is no name of a draft"),
            **desk(),
        },
        status=422,
        texts=("'Über' is no name of a draft",),
    ),
    PageCase(
        name="policy-draft-begun",
        path="/policy/drafts",
        form={"name": "mine"},
        answers={"policy.draft_new": told(DraftChanged(draft="mine"))},
        status=303,
    ),
    PageCase(
        name="policy-draft-drop",
        path=f"{DRAFT}/drop",
        form={"x": ""},
        answers={"policy.draft_drop": told(DraftChanged(draft="mine"))},
        texts=("Throw away a draft", "It can't be had back."),
    ),
    PageCase(
        name="policy-draft",
        path=f"{DRAFT}?saved=1",
        answers=desk(draft_show=draft(TEXT + "# " + HOSTILE)),
        texts=("Draft mine", "The loader takes it.", "Saved in the draft", "fewer links", "Check"),
    ),
    PageCase(
        name="policy-draft-wrong",
        path=DRAFT,
        answers=desk("write", lint=lambda _: WRONG),
        texts=(
            "does not take it: 3 problems",
            "90-console.toml, line 3, column 9",
            "Another file",
            "never read",
        ),
    ),
    PageCase(
        name="policy-draft-checked",
        path=f"{DRAFT}/check",
        form={"file": OVERLAY, "text": "\r\n\r\nnot saved" + HOSTILE, "before": "d1"},
        answers=desk(lint=lambda _: WRONG),
        texts=("not saved</textarea>", "Save"),
    ),
    PageCase(
        name="policy-draft-read-alone",
        path=f"{DRAFT}?file=10-own.toml",
        role=Role.ANALYST,
        answers=desk(draft_show=draft(whole=False, brief=STALE)),
        texts=("to read alone", "It is a draft of admin", "no UTF-8", "Bring it up to date"),
    ),
    PageCase(
        name="policy-draft-no-file",
        path=DRAFT,
        answers=desk("read", draft_show=told(DraftShown(brief=BRIEF, files={}))),
        texts=("holds no file", 'console.policy = "read"'),
    ),
    PageCase(
        name="policy-draft-gone",
        path=DRAFT,
        answers=desk(draft_show=DeskRefusalError(404, "there is no draft mine")),
        status=404,
        texts=("there is no draft mine",),
    ),
    PageCase(
        name="policy-draft-saved",
        path=DRAFT,
        form={"file": OVERLAY, "text": TEXT, "before": "d1", "step": "save"},
        answers=desk(draft_write=told(DraftChanged(draft="mine", file=OVERLAY))),
        status=303,
    ),
    PageCase(
        name="policy-draft-meanwhile",
        path=DRAFT,
        form=THEIRS,
        answers=desk(draft_write=DeskRefusalError(409, "was changed meanwhile")),
        status=409,
        texts=("Somebody else has written this file meanwhile", "mine = 1", "score = 30"),
    ),
    PageCase(
        name="policy-draft-refused",
        path=DRAFT,
        form={**THEIRS, "before": "d1"},
        answers=desk(draft_write=DeskRefusalError(409, "somebody publishes right now")),
        status=422,
        texts=("somebody publishes right now", "mine = 1"),
    ),
    PageCase(
        name="policy-draft-kept",
        path=DRAFT,
        form={**THEIRS, "text": "mine = 1" + HOSTILE},
        answers=desk(draft_write=DeskRefusalError(503, "the desk is away")),
        status=503,
        texts=("Not saved yet", "mine = 1</textarea>"),
    ),
    PageCase(
        name="policy-change",
        path=f"{DRAFT}/change",
        answers=desk(),
        texts=("Score of a rule", "A test made of a message"),
    ),
    PageCase(
        name="policy-change-read",
        path=f"{DRAFT}/change",
        role=Role.ANALYST,
        answers=desk("read"),
        texts=('console.policy = "read"', "It is a draft of admin"),
    ),
    PageCase(
        name="policy-change-wrong",
        path=f"{DRAFT}/change",
        form={"form": "score", "rule": "NONE", "score": "4"},
        answers=desk(draft_set=DeskRefusalError(404, "there is no rule NONE")),
        status=422,
        texts=("there is no rule NONE",),
    ),
    PageCase(
        name="policy-change-set",
        path=f"{DRAFT}/change",
        form={"form": "switch", "sort": "rule", "thing": "LINKS", "switch": "off"},
        answers=desk(draft_set=told(DraftChanged(draft="mine", file=OVERLAY))),
        status=303,
    ),
    PageCase(
        name="policy-change-test",
        path=f"{DRAFT}/change",
        form={"form": "test", "rule": "LINKS", "message": MESSAGE, "hit": "no"},
        answers=desk(
            draft_test=lambda _: told(
                TestAdded(
                    changed=DraftChanged(draft="mine", file=OVERLAY),
                    facts={"links": 2},
                    hit=False,
                    failed=(PolicyProblem(file=OWN + OVERLAY, line=5, message=HOSTILE),),
                )
            )
        ),
        texts=("The test is written", "These tests of the draft fail now", "line 5"),
    ),
    PageCase(
        name="policy-tests",
        path=f"{DRAFT}/test",
        answers=desk(),
        texts=("All 270 tests pass.",),
    ),
    PageCase(
        name="policy-tests-failed",
        path=f"{DRAFT}/test",
        answers=desk(
            test=lambda _: told(
                TestsAnswer(
                    tests=2, failed=(PolicyProblem(file=OWN + OVERLAY, line=7, message=HOSTILE),)
                )
            )
        ),
        texts=("Not all tests pass", "line 7"),
    ),
    PageCase(
        name="policy-preview",
        path=f"{DRAFT}/preview",
        answers=desk(preview=told(PREVIEW)),
        texts=("2000 messages were judged", "accept → spam: 9", "pardon 2", "-2", "9 / 1 500"),
    ),
    PageCase(
        name="policy-preview-slow",
        path=f"{DRAFT}/preview",
        answers=desk(preview=told(PolicyPreview(messages=70, complete=False, since=NOW))),
        texts=("This takes longer than usual", "Go on", "None."),
    ),
    PageCase(
        name="policy-preview-empty",
        path=f"{DRAFT}/preview?long=1",
        answers=desk(preview=told(PolicyPreview(complete=False))),
        texts=("in the longest time", "None yet"),
    ),
    PageCase(
        name="policy-preview-untried",
        path=f"{DRAFT}/preview",
        answers=desk(preview=DeskRefusalError(422, "the draft can't be used: a:1: no")),
        status=422,
        texts=("the draft can't be used: a:1: no", "Mend it"),
    ),
    PageCase(
        name="policy-draft-difference",
        path=f"{DRAFT}/diff",
        answers=desk(diff=told(DIFFERENCE)),
        texts=("By rule and list", "score 60 → 30", "+x = 1", "There is more"),
    ),
    PageCase(
        name="policy-draft-difference-none",
        path=f"{DRAFT}/diff",
        answers=desk(diff=told(ComparedPolicies(files=()))),
        texts=("Nothing differs.",),
    ),
    PageCase(
        name="policy-publish",
        path=f"{DRAFT}/publish?to=live&sure=1&reason=less",
        answers=desk(),
        texts=("all 270 tests pass", "yes", "To shadow", "Live: it decides"),
    ),
    PageCase(
        name="policy-publish-guarded",
        path=f"{DRAFT}/publish",
        answers={
            **desk(
                draft_show=draft(brief=STALE), lint=lambda _: WRONG, test=DeskRefusalError(504, "")
            ),
            "me.show": person(Role.ADMIN, fresh=False),
        },
        texts=("no nobody has changed", "not known all tests pass", "no you gave your password"),
    ),
    PageCase(
        name="policy-publish-duty",
        path=f"{DRAFT}/publish",
        role=Role.DUTY,
        answers={
            **desk(draft_show=draft(brief=msgspec.structs.replace(BRIEF, owner="duty"))),
            "me.show": person(Role.DUTY),
        },
        texts=("To shadow", "Live is published by whoever may publish a policy."),
    ),
    PageCase(
        name="policy-publish-analyst",
        path=f"{DRAFT}/publish",
        role=Role.ANALYST,
        answers=desk(),
        texts=("Your roles do not include publishing.",),
    ),
    PageCase(
        name="policy-publish-read",
        path=f"{DRAFT}/publish",
        answers=desk("read"),
        texts=('console.policy = "read"', "no it changes only files"),
    ),
    PageCase(
        name="policy-publish-preview",
        path=f"{DRAFT}/publish",
        form={"to": "shadow", "reason": ""},
        answers=desk(publish=told(PLANNED)),
        texts=("Publish to shadow", "What would be done", "LINKS_TRIAL", "Reason", "all is well"),
    ),
    PageCase(
        name="policy-publish-done",
        path=f"{DRAFT}/publish",
        form={"to": "live", "reason": "less", "step": "do", "key": "k"},
        answers=desk(publish=told(DONE)),
        texts=("It is version 6. 4 workers judge by it. 1 worker loads it", "Undo"),
    ),
    PageCase(
        name="policy-publish-unsure",
        path=f"{DRAFT}/publish",
        form={"to": "live", "reason": "less", "step": "do"},
        answers=desk(publish=DeskRefusalError(422, "9 would not be any more: say `sure`")),
        status=422,
        texts=("say `sure`", "Do it"),
    ),
    PageCase(
        name="policy-two-persons",
        path=f"{DRAFT}/publish",
        answers=desk(draft_show=draft(two_persons=True)),
        texts=("Live is published by two persons here", "Propose it to be live"),
    ),
    PageCase(
        name="policy-two-persons-own",
        path=f"{DRAFT}/publish",
        answers={
            **desk(draft_show=draft(brief=waiting("admin"), two_persons=True)),
            "me.show": lambda _: person(Role.ADMIN),
        },
        texts=("Waits for another person", "Take it back"),
    ),
    PageCase(
        name="policy-two-persons-others",
        path=f"{DRAFT}/publish",
        answers=desk(draft_show=draft(brief=waiting("boris"), two_persons=True)),
        texts=("Proposed to be live by boris", "Approve", "Decline"),
    ),
    PageCase(
        name="policy-two-persons-declined",
        path=f"{DRAFT}/publish",
        answers=desk(
            draft_show=draft(
                brief=msgspec.structs.replace(
                    BRIEF,
                    decline=DraftDecline(proposer="anna", by="boris", at=NOW, words=HOSTILE),
                )
            )
        ),
        texts=("Declined by boris",),
    ),
    PageCase(
        name="policy-propose",
        path=f"{DRAFT}/propose",
        form={"sure": "1"},
        answers=desk(propose=told(PLANNED)),
        texts=("Propose it to be live", "What would be done"),
    ),
    PageCase(
        name="policy-approve",
        path=f"{DRAFT}/approve",
        form={"proposer": "boris", "digest": "d", "reason": "x", "step": "do", "key": "k"},
        answers=desk(approve=told(DONE)),
        texts=("It is version 6.", "Undo"),
    ),
    PageCase(
        name="policy-approve-void",
        path=f"{DRAFT}/approve",
        form={"proposer": "boris", "digest": "d"},
        answers=desk(approve=DeskRefusalError(409, "nobody proposes this text")),
        status=422,
        texts=("nobody proposes this text",),
    ),
    PageCase(
        name="policy-decline",
        path=f"{DRAFT}/decline",
        form={"proposer": "boris", "reason": "no", "step": "do", "key": "k"},
        answers=desk(decline=told(DraftDecline(proposer="boris", by="a", at=NOW, words="no"))),
        texts=("The draft stays, and is no longer proposed.",),
    ),
    PageCase(
        name="policy-rebase",
        path=f"{DRAFT}/rebase",
        form={"keep-20-x.toml": "mine"},
        answers=desk(draft_rebase=told(REBASED)),
        texts=("Nothing is done yet", "+a = 2", "+a = 3", "They took the file away."),
    ),
    PageCase(
        name="policy-rebased",
        path=f"{DRAFT}/rebase",
        form={"x": ""},
        answers=desk(draft_rebase=told(msgspec.structs.replace(REBASED, done=True, conflicts=()))),
        texts=("It begins from version 5 now", "10-own.toml"),
    ),
]
