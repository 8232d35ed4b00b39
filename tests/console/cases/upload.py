"""Messages that somebody hands in."""

from __future__ import annotations

from typing import Any

import msgspec

from oborona.desk.asks.uploads import TriedScan
from oborona.desk.messages.authentication_report import (
    AuthMethod,
    AuthOutcome,
    AuthReport,
    AuthStep,
)
from oborona.desk.messages.explanation import VerdictExplanation, VerdictSide
from oborona.desk.messages.scan_verdict import ScannedMessage
from oborona.message.dissection import (
    DissectedAttachment,
    DissectedEntity,
    DissectedFile,
    DissectedFinding,
    DissectedPart,
    Dissection,
    RemovedText,
)
from oborona.message.respelling import Respelling
from oborona.people.rights import Role
from oborona.types import Action, RuleHit, RuleMode, ShadowVerdict
from tests.console.page_case import PageCase
from tests.console.stub_desk import DeskRefusalError

RULES = (
    RuleHit(name="HIDDEN_TEXT", score=60, say="half of it is hidden"),
    RuleHit(name="LINK_NEW", score=30, say="of 2 h", mode=RuleMode.SHADOW),
)
SIDE = VerdictSide(
    verdict=Action.SPAM,
    score=130.0,
    line=100.0,
    decided_by="HIDDEN_TEXT",
    would=ShadowVerdict(action=Action.REJECT, score=160, line=140, decided_by="LINK_NEW"),
    policy="8121c0de",
    lines=None,
    rules=RULES,
    findings=(),
    facts={"from.domain": "bank.example", "size": 800},
    model={},
)


def tried(**changes: Any) -> dict[str, Any]:
    """Return what `scan.try` answers."""
    scan = TriedScan(
        verdict=ScannedMessage(
            file="upload",
            verdict=SIDE.verdict,
            score=SIDE.score,
            line=SIDE.line,
            decided_by=SIDE.decided_by,
            findings=(),
            rules=RULES,
            shingles=(),
        ),
        explanation=VerdictExplanation(
            file="upload",
            subject="Your card <b>",
            now=SIDE,
            content_model={
                "margin": 1.0,
                "parts": [{"view": "text", "what": "card", "part": 0.7}],
                "rest": 0.3,
                "views": {"text": 1.0},
            },
        ),
        proof=None,
    )
    answer: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(scan, **changes))
    return answer


def part(path: str, kind: str, *children: DissectedPart, name: str = "") -> DissectedPart:
    """Return a part of a message."""
    return DissectedPart(
        path=path,
        type=kind,
        charset="utf-8",
        encoding="8bit",
        disposition="",
        name=name,
        size=400,
        children=list(children),
    )


def dissected(**changes: Any) -> dict[str, Any]:
    """Return what `messages.dissect` answers."""
    fields: dict[str, Any] = {
        "file": "upload",
        "keyed": False,
        "size": 800,
        "tree": part(
            "",
            "multipart/mixed",
            part("1", "text/html"),
            part("2", "application/zip", name="card.zip"),
        ),
        "shown": "Your card was\n\tstopped. <script>alert(1)</script>",
        "text": "your card was stopped",
        "hidden": "dear friend <b>",
        "removed": RemovedText(
            hidden_share=0.5, not_own=(), respelled=(Respelling(written="c4rd", read="card"),)
        ),
        "entities": [
            DissectedEntity(
                kind="link",
                value="parcel-x.example",
                raw="https://parcel-x.example/a",
                place="html",
                shown="bank.example",
            )
        ],
        "attachments": [
            DissectedAttachment(
                name="card.zip",
                type="application/zip",
                kind="zip",
                size=400,
                sha256="00",
                picture=False,
                encrypted=True,
                macros=True,
                files=[
                    DissectedFile(
                        name="card.exe", kind="exe", size=300, crc="", encrypted=True, depth=1
                    )
                ],
            )
        ],
        "pictures": [],
        "shingles": [],
        "pairs": [],
        "findings": [
            DissectedFinding(name="hidden-text", evidence="dear", meaning="text nobody sees")
        ],
        "signatures": [],
    }
    answer: dict[str, Any] = msgspec.to_builtins(Dissection(**{**fields, **changes}))
    return answer


CHECKED = AuthReport(
    client="203.0.113.9",
    methods=(
        AuthMethod(
            method="SPF of MAIL FROM",
            question="may 203.0.113.9 send for <a@bank.example>?",
            steps=(
                AuthStep(
                    kind="TXT",
                    name="bank.example",
                    took_s=0.02,
                    records=("v=spf1 -all",),
                    outcome="found",
                    why="",
                ),
            ),
            outcomes=(AuthOutcome(result="fail", words="bank.example -all"),),
            notes=("one note",),
        ),
    ),
    results="mx; spf=fail",
)
ANSWERS = {
    "scan.try": tried(),
    "messages.dissect": dissected(),
    "messages.authenticate": msgspec.to_builtins(CHECKED),
}
FORM = {
    "text": "From: a@bank.example\r\nSubject: Your card\r\n\r\nYour card\r\n",
    "ip": "203.0.113.9",
    "sender": "a@bank.example",
    "recipients": "joe@shop.example, ann@shop.example",
    "dns": "1",
    "reason": "the reader called",
}

CASES = [
    PageCase(
        name="try",
        path="/try",
        role=Role.SUPPORT,
        texts=("Nothing of it is counted", "23 MiB at most", "for a reason alone"),
    ),
    PageCase(name="try-analyst", path="/try", role=Role.ANALYST, texts=("Try it",)),
    PageCase(
        name="tried",
        path="/try",
        form=FORM,
        answers=ANSWERS,
        texts=(
            "Junk 130 / 100 · decided by HIDDEN_TEXT",
            "With what is on trial it would have been: refused 160 / 140",
            "half of it is hidden",
            "Your card was stopped. <script>alert(1)</script>",
            "Hidden from the reader hidden 50 % of its words dear friend <b>",
            "c4rd → card",
            "https://parcel-x.example/a",
            "encrypted with macros card.exe",
            "text nobody sees",
            "v=spf1 -all",
            "fail bank.example -all",
            "from.domain",
        ),
    ),
    PageCase(
        name="tried-parts-away",
        path="/try",
        role=Role.ANALYST,
        form={**FORM, "reason": ""},
        answers={"scan.try": tried()},
        texts=("It can't be taken apart now.", "It can't be checked now.", "Junk 130 / 100"),
    ),
    PageCase(
        name="tried-no-dns",
        path="/try",
        form={**FORM, "dns": ""},
        answers={**ANSWERS, "messages.dissect": dissected(shown="", hidden="")},
        texts=("The DNS was not asked", "It shows no text."),
    ),
    PageCase(
        name="try-nothing",
        path="/try",
        form={"text": " \r\n", "reason": "r"},
        status=422,
        texts=("Choose a file, or paste a message.",),
    ),
    PageCase(
        name="try-no-reason",
        path="/try",
        role=Role.SUPPORT,
        form={"text": "Subject: x\r\n\r\nx"},
        status=422,
        texts=("Say why: whoever looks at content must.",),
    ),
    PageCase(
        name="try-bad",
        path="/try",
        role=Role.ANALYST,
        form={**FORM, "ip": "<b>"},
        answers={"scan.try": DeskRefusalError(422, "'<b>' is no address")},
        status=422,
        texts=("'<b>' is no address",),
    ),
    PageCase(
        name="try-away",
        path="/try",
        form=FORM,
        answers={"scan.try": DeskRefusalError(503, "away")},
        status=503,
        texts=("Not available now",),
    ),
]
