"""Signatures in their states, and changes of them."""

import msgspec

from oborona.desk.acts.signature_files import ImportedSignatures
from oborona.desk.acts.signature_terms import EndedSignature, ModeOfSignature
from oborona.desk.acts.signatures import AddedSignature, ChangedSignatures
from oborona.desk.asks.signature_views import (
    PardonedSignatures,
    SignaturePage,
    SignatureRow,
)
from oborona.desk.asks.signatures import ProposalList, ShownProposal
from oborona.desk.call import UndoCall
from oborona.desk.signatures.first_trial import FirstTrial, TrialExample
from oborona.desk.signatures.pardons import PardonedSignature
from oborona.desk.signatures.store import ShownHits, ShownSignature
from oborona.people.rights import Role
from oborona.policy.signatures import Signature, SignatureFlag, SignatureKind, SignatureScope
from oborona.stores.signatures.rows import SignatureState
from oborona.types import Action, RuleMode
from tests.console.page_case import PageCase
from tests.console.stub_desk import NOW, DeskRefusalError

PARROT = Signature(
    id="s42", flag=SignatureFlag.SPAM, kind=SignatureKind.PHRASE, value="golden \u202eparrot <b>",
    where=SignatureScope.SUBJECT, inside=True, owner="anna <script>", reason="a campaign\u0007",
    author="anna", created=NOW - 86_400 * 40, expires=NOW + 86_400, score=45.5,
    mode=RuleMode.SHADOW,
)  # fmt: skip
FILED = Signature(
    id="PHARMA:3fa2c19d01ab", flag=SignatureFlag.HAM, kind=SignatureKind.DOMAIN,
    value="news.example",
)  # fmt: skip
ROW = SignatureRow(
    signature=PARROT, state="active", expired=False, today=3, fortnight=1204, total=5000,
    last=NOW - 60, stale=False,
)  # fmt: skip
STALE = SignatureRow(
    signature=FILED, state="file", expired=True, today=0, fortnight=0, total=0, last=0.0, stale=True
)


def page(*rows: SignatureRow, number: int | None = None) -> dict[str, object]:
    """Return the desk's answer for a page of signatures."""
    found = SignaturePage(
        now=NOW, number=len(rows) if number is None else number, signatures=list(rows)
    )
    return {"signatures.find": msgspec.to_builtins(found)}


def shown(signature: Signature, state: str, **evidence: object) -> dict[str, object]:
    """Return the desk's answer for one signature."""
    one = ShownSignature(
        signature=signature, state=state, expired=False,
        hits=ShownHits(total=5, today=2, last=NOW), decided=NOW, decided_by="kim",
        evidence=evidence,
    )  # fmt: skip
    return {"signatures.show": msgspec.to_builtins(one)}


EVIDENCE = {"support": 12, "of": 15, "fresh": 3, "good_mail": "0 of 3000 good messages <i>"}
WAITING = ProposalList(proposals=[ShownProposal(id="s7", signature=PARROT, evidence=EVIDENCE)])
PARDONED = PardonedSignatures(
    signatures=[PardonedSignature(id="s42", messages=4, examples=("06AV3K9W2M4QE",))],
    pardons=300, complete=False,
)  # fmt: skip
UNDO = UndoCall(call="signatures.remove", asked={"names": ["s42"]})
TRIED = AddedSignature(
    dry=True, id="-", new=True, signature=PARROT,
    trial=FirstTrial(
        kept=48, kept_having=2, newest=2000, having=7, accepted=1, words_only=True, complete=False,
        examples=(
            TrialExample(
                id="06AV3K9W2M4QE", sender="joe@\u202ea.example", subject="<b>", verdict=Action.ACCEPT
            ),
        ),
    ),
)  # fmt: skip
ADDED = AddedSignature(id="s42", new=True, signature=PARROT, undo=UNDO)
IMPORTED = ImportedSignatures(
    dry=True, added=2, same=0, passed_over=["line:3: too short \u202e <b>"], undo=None
)
CHANGED = ChangedSignatures(names=["s42"], state=SignatureState.ACTIVE, undo=UNDO)
BACK = UndoCall(call="signatures.mode", asked={"name": "s42", "mode": "shadow"})
FORM = {
    "value": "golden parrot", "kind": "phrase", "flag": "spam", "where": "subject", "days": "30",
    "mode": "shadow", "score": "45,5", "owner": "",
}  # fmt: skip
DO = {"step": "do", "reason": "a campaign", "key": "k1"}

CASES = [
    PageCase(
        name="signatures",
        path="/signatures",
        role=Role.ANALYST,
        answers=page(ROW, STALE, number=20_000),
        texts=(
            "20000 signatures",
            "today 3, 14 days 1 204, in all 5 000",
            "on trial",
            "stale",
            "in a policy file",
            "45.5 points",
            "U+202E",
            "Older",
            "Add",
            "inside words, too",
        ),
    ),
    PageCase(
        name="signatures-read-only",
        path="/signatures?view=stale&skip=x",
        role=Role.AUDITOR,
        answers=page(STALE),
        texts=("In force for 30 days or longer", "news.example"),
    ),
    PageCase(
        name="signatures-none",
        path="/signatures?text=%22%3Cscript%3E&view=found",
        role=Role.SUPPORT,
        answers=page(),
        texts=("No signature of the store or of policy files is so.",),
    ),
    PageCase(
        name="signatures-away",
        path="/signatures",
        role=Role.DUTY,
        answers={"signatures.find": DeskRefusalError(503, "signatures.db: is locked")},
        texts=("Not available now", "is locked"),
    ),
    PageCase(
        name="signatures-pardoned",
        path="/signatures/pardoned",
        role=Role.ANALYST,
        answers={"signatures.pardoned": msgspec.to_builtins(PARDONED)},
        texts=("300 pardoned messages were looked at.", "these are the newest", "06AV3K9W2M4QE"),
    ),
    PageCase(
        name="signatures-pardoned-none",
        path="/signatures/pardoned",
        role=Role.AUDITOR,
        answers={
            "signatures.pardoned": msgspec.to_builtins(
                PardonedSignatures(signatures=[], pardons=0, complete=True)
            )
        },
        texts=("No signature was found in mail that people pardoned.",),
    ),
    PageCase(
        name="proposals",
        path="/signatures/proposals",
        role=Role.ANALYST,
        answers={"signatures.proposals": msgspec.to_builtins(WAITING)},
        texts=(
            "in 12 of 15 messages of spam",
            "3 that no other proposal finds",
            "0 of 3000 good messages <i>",
            "Accept, live",
            "Decline",
        ),
    ),
    PageCase(
        name="proposals-read-only",
        path="/signatures/proposals",
        role=Role.SUPPORT,
        answers={"signatures.proposals": msgspec.to_builtins(WAITING)},
        texts=("in 12 of 15 messages of spam",),
    ),
    PageCase(
        name="proposals-none",
        path="/signatures/proposals",
        role=Role.ANALYST,
        answers={"signatures.proposals": {"proposals": []}},
        texts=("They come of campaigns",),
    ),
    PageCase(
        name="signature",
        path="/signature/s42",
        role=Role.ANALYST,
        answers=shown(PARROT, "active"),
        texts=("Let it count", "Take out of use", "Set when it ends", "kim", "a campaignU+0007"),
    ),
    PageCase(
        name="signature-proposed",
        path="/signature/s7",
        role=Role.DUTY,
        answers=shown(PARROT, "proposed", **EVIDENCE),
        texts=("Accept, on trial", "support: 12"),
    ),
    PageCase(
        name="signature-of-a-file",
        path="/signature/PHARMA%3A3fa2c19d01ab",
        role=Role.AUDITOR,
        answers=shown(FILED, "file"),
        texts=("It stands in a file of the policy",),
    ),
    PageCase(
        name="signature-new",
        path="/signatures/new",
        role=Role.ANALYST,
        texts=("Try it first", "Points of its own", "or lines, pasted"),
    ),
    PageCase(
        name="signature-tried",
        path="/signatures/add",
        role=Role.ANALYST,
        form=FORM,
        answers={"signatures.add": msgspec.to_builtins(TRIED)},
        texts=(
            "48 good messages are kept: 2 of them have it",
            "7 have it, 1 of these were let in",
            "looked for in subjects and names of senders alone",
            "joe@U+202Ea.example",
            "Do it",
        ),
    ),
    PageCase(
        name="signature-refused",
        path="/signatures/add",
        role=Role.ANALYST,
        form={**FORM, **DO},
        answers={"signatures.add": DeskRefusalError(409, "not added: 2 of 48 good messages")},
        status=422,
        texts=("not added: 2 of 48 good messages",),
    ),
    PageCase(
        name="signature-added",
        path="/signatures/add",
        role=Role.ANALYST,
        form={**FORM, **DO},
        answers={"signatures.add": msgspec.to_builtins(ADDED)},
        texts=("It is looked for now: s42", "Undo"),
    ),
    PageCase(
        name="signatures-to-import",
        path="/signatures/import",
        role=Role.ANALYST,
        form={"text": "blue parrot\r\ngreen parrot\r\nx", "kind": "phrase", "flag": "spam"},
        answers={"signatures.import": msgspec.to_builtins(IMPORTED)},
        texts=("2 lines can be added", "1 line can't be used:", "line:3: too short U+202E <b>"),
    ),
    PageCase(
        name="proposal-accepted",
        path="/signatures/accept",
        role=Role.ANALYST,
        form={"names": "s42", "mode": "live", **DO},
        answers={"signatures.accept": msgspec.to_builtins(CHANGED)},
        texts=("s42: active", "Undo"),
    ),
    PageCase(
        name="signature-ended",
        path="/signatures/expire",
        role=Role.ANALYST,
        form={"name": "s42", "days": "now"},
        answers={
            "signatures.expire": msgspec.to_builtins(
                EndedSignature(dry=True, name="s42", until=NOW, before=0.0)
            )
        },
        texts=("s42: ends", "until now: never"),
    ),
    PageCase(
        name="signature-mode",
        path="/signatures/mode",
        role=Role.ANALYST,
        form={"name": "s42", "mode": "live", **DO},
        answers={
            "signatures.mode": msgspec.to_builtins(
                ModeOfSignature(
                    name="s42",
                    mode=RuleMode.LIVE,
                    before=RuleMode.SHADOW,
                    undo=BACK,
                )
            )
        },
        texts=("s42: it counts", "Undo"),
    ),
    PageCase(
        name="signature-undone",
        path="/signatures/undo",
        role=Role.ANALYST,
        form={"call": "signatures.remove", "asked": '{"names":["s42"]}'},
        answers={"signatures.remove": msgspec.to_builtins(CHANGED)},
        texts=("Undo", "Do it"),
    ),
]
