"""The page of a sender whose mail was refused."""

from typing import Any

import msgspec

from oborona.console.reason_texts import REASONS
from oborona.desk.senders.sender_desk import SenderAnswer, SenderTerms
from oborona.feedback.cases.appeals import AppealState, RefusalReason
from tests.console.page_case import PageCase
from tests.console.stub_desk import NOW, DeskRefusalError

assert set(REASONS) == {str(kind) for kind in RefusalReason}
TERMS = {"senders.terms": msgspec.to_builtins(SenderTerms())}
SENT = {"reference": "0SAH375J007Q5", "address": '"><b>@bank.example'}
STORE = DeskRefusalError(503, "/var/lib/oborona/journal.db: can't be read")


def told(**changes: Any) -> dict[str, object]:
    """Return what the desk answers of a refusal."""
    usual: dict[str, Any] = {
        "known": True, "reference": "0SAH375J007Q5", "time": NOW - 60, "may_appeal": True,
        "reasons": (RefusalReason.CONTENT, RefusalReason.SENDER),
    }  # fmt: skip
    answer = msgspec.to_builtins(SenderAnswer(**usual | changes))
    return {**TERMS, "senders.look": answer, "senders.appeal": answer}


def case(name: str, *texts: str, path: str = "/senders", **more: Any) -> PageCase:
    """Return a case of somebody who is not signed in."""
    return PageCase(name=f"senders-{name}", path=path, role=None, texts=texts, **more)


CASES = [
    case(
        "form",
        "Why was my mail refused?",
        "You may ask 30 times an hour.",
        path="/senders?reference=%220SAH%3C",
        answers=TERMS,
    ),
    case("off", "None found", status=404),
    case("unknown", "Nothing is known under this", form=SENT, answers=told(known=False)),
    case(
        "refused",
        "Your mail was refused",
        "looks like unwanted mail",
        "SPF record",
        "Appeal",
        form=SENT,
        answers=told(),
    ),
    case(
        "put-off",
        "Your mail was put off",
        "tries again by itself",
        form=SENT,
        answers=told(put_off=True, may_appeal=False, reasons=(RefusalReason.GREYLISTED,)),
    ),
    case(
        "all-reasons",
        "reverse DNS, PTR",
        "Send less at a time",
        form=SENT,
        answers=told(reasons=tuple(RefusalReason)),
    ),
    case(
        "appealed",
        "Your appeal waits for an answer",
        path="/senders/appeal",
        form={**SENT, "text": "why?"},
        answers=told(may_appeal=False, appeal=AppealState.WAITING),
    ),
    case(
        "pardoned",
        "The refusal was a mistake.",
        "Sorry, U+202E<b>",
        form=SENT,
        answers=told(may_appeal=False, appeal=AppealState.PARDONED, words="Sorry,\n\u202e<b>"),
    ),
    case(
        "declined",
        "The refusal stands.",
        "You wrote to traps <script>",
        form=SENT,
        answers=told(
            may_appeal=False, appeal=AppealState.DECLINED, words="You wrote to traps <script>"
        ),
    ),
    case(
        "too-often",
        "Too many questions came.",
        form=SENT,
        answers={**TERMS, "senders.look": DeskRefusalError(429, "too many", wait_s=60.0)},
        status=429,
    ),
    case(
        "no-text",
        "Something is missing",
        path="/senders/appeal",
        form=SENT,
        answers={**TERMS, "senders.appeal": DeskRefusalError(422, "an appeal needs a text")},
        status=422,
    ),
    case(
        "away",
        "Not available now",
        form=SENT,
        answers={**TERMS, "senders.look": STORE},
        status=503,
    ),
]
