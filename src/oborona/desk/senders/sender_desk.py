"""Calls of a sender whose mail was refused: why, and an appeal; they need no session.

senders.terms    that there are such calls, and how often they may be made
senders.look     reference, address → why, and what his appeal was answered
senders.appeal   reference, address, text → the same, once a refusal

An appeal is an act, with its rows in the audit log; its text stands with the appeal alone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from oborona import state_files
from oborona.desk.call import ActOrder, Call, CallError
from oborona.desk.call_runner import CallRunner
from oborona.desk.open_call import OpenCall
from oborona.desk.senders.call_rate import CallLimitError, CallRate
from oborona.desk.senders.refused_mail import (
    RefusedMail,
    domain_of,
    read_reference,
    refused_mail,
)
from oborona.desk.site import Site
from oborona.feedback.cases.appeals import (
    MOST_TEXT,
    PERIOD_S,
    Appeal,
    AppealBook,
    AppealState,
    RefusalReason,
)
from oborona.ident import to_text
from oborona.people.caller import Caller, CallWay, Scope
from oborona.people.rights import Right

LOOKS_OF_NETWORK: Final = 30  # an hour
LOOKS_OF_SITE: Final = 600
APPEALS_OF_NETWORK: Final = 5
APPEALS_OF_SITE: Final = 60
NAME: Final = "a sender"  # in the audit log: no person can be called that
BY_ITSELF: Final = frozenset({RefusalReason.GREYLISTED, RefusalReason.BUSY})
"""What is over when the mail comes again: there is nothing to decide."""

_Pasted = Annotated[str, Meta(max_length=1_000)]
_Address = Annotated[str, Meta(max_length=320)]


class SenderQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What a sender names: the reference, or the answer that has it, and his address."""

    reference: _Pasted
    address: _Address


class SenderAppeal(SenderQuestion, kw_only=True, forbid_unknown_fields=True):
    """What he writes against it."""

    text: Annotated[str, Meta(max_length=MOST_TEXT)]


class SenderTermsQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Nothing."""


class SenderTerms(msgspec.Struct, frozen=True, kw_only=True):
    """How much a sender may ask."""

    most_text: int = MOST_TEXT
    looks: int = LOOKS_OF_NETWORK
    appeals: int = APPEALS_OF_NETWORK


class SenderAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a sender is told.

    Args:
        known: there is such a refusal of his domain; if not, nothing else is told.
        reference: in its usual form.
        time: of the refusal, Unix seconds.
        put_off: refused for a while: his mail server tries again.
        reasons: why, by kinds.
        may_appeal: he has not yet, and there is something to decide.
        appeal: what became of his appeal; None = there is none.
        words: of who answered it.
    """

    known: bool = False
    reference: str = ""
    time: float = 0.0
    put_off: bool = False
    reasons: tuple[RefusalReason, ...] = ()
    may_appeal: bool = False
    appeal: AppealState | None = None
    words: str = ""


class AppealOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """What the audit log has of an appeal."""

    reference: str
    address: str


class SenderDesk:
    """The senders' calls of a site.

    Args:
        site: whose; its settings say whether there are any.
        runner: writes acts into the audit log.
    """

    def __init__(self, site: Site, runner: CallRunner) -> None:
        self._site = site
        self._runner = runner
        self._looks = CallRate(LOOKS_OF_NETWORK, LOOKS_OF_SITE)
        self._appeals = CallRate(APPEALS_OF_NETWORK, APPEALS_OF_SITE)
        calls = {
            "senders.terms": OpenCall(SenderTermsQuestion, lambda *_: SenderTerms()),
            "senders.look": OpenCall(SenderQuestion, self._look),
            "senders.appeal": OpenCall(SenderAppeal, self._appeal),
        }
        self.open_calls: Mapping[str, OpenCall] = (
            calls if site.loaded.settings.console.senders else {}
        )

    def _look(self, asked: SenderQuestion, _token: str, place: str, _agent: str) -> SenderAnswer:
        self._looks.charge(place, time.monotonic())
        return self._answer(*self._find(asked))

    def _appeal(
        self, asked: SenderAppeal, _token: str, place: str, _agent: str
    ) -> SenderAnswer | msgspec.Raw:
        text = asked.text.strip()
        if not text:
            raise CallError("an appeal needs a text")
        self._appeals.charge(place, time.monotonic())
        refused, appeal = self._find(asked)
        before = self._answer(refused, appeal)
        if refused is None or not before.may_appeal:
            return before
        caller = Caller(
            name=NAME,
            rights=frozenset({Right.OWN}),
            scope=Scope(domains=frozenset()),
            way=CallWay.PAGE,
            source=asked.address.strip(),
            place=place,
        )

        def send(site: Site, _caller: Caller, order: AppealOrder) -> SenderAnswer:
            return self._keep(site, refused, order.address, text)

        call = Call(
            "appeals.send", send, AppealOrder, SenderAnswer, (Right.OWN,),
            scoped=True, acts=True, about=("reference",),
        )  # fmt: skip
        order = AppealOrder(reference=before.reference, address=asked.address.strip())
        return msgspec.Raw(self._runner.run(call, caller, msgspec.json.encode(order)))

    def _keep(self, site: Site, refused: RefusedMail, address: str, text: str) -> SenderAnswer:
        appeal = Appeal(
            id=0, reference=refused.reference, address=address, domain=refused.domain,
            refused=refused.time, put_off=refused.put_off, reasons=refused.reasons,
            at=time.time(), text=text,
        )  # fmt: skip
        with site.as_owner(), AppealBook(site.state / state_files.CASES) as book:
            if not book.take(appeal):
                raise CallLimitError(PERIOD_S)
            kept = book.of(refused.reference)
        return self._answer(refused, kept)

    def _find(self, asked: SenderQuestion) -> tuple[RefusedMail | None, Appeal | None]:
        """Return what a sender names, and his appeal, where the domain fits.

        An appeal has what he may know of the refusal when the journal has it no more.
        """
        reference, domain = read_reference(asked.reference), domain_of(asked.address)
        if reference is None or not domain:
            return None, None
        appeal = self._appeal_of(reference)
        refused = asyncio.run(refused_mail(self._site, reference))
        if appeal is not None:
            refused = RefusedMail(
                reference=reference, domain=appeal.domain, time=appeal.refused,
                put_off=appeal.put_off, reasons=appeal.reasons,
            )  # fmt: skip
        if refused is None or refused.domain != domain:
            return None, None
        return refused, appeal

    def _appeal_of(self, reference: int) -> Appeal | None:
        path = self._site.state / state_files.CASES
        if not path.exists():
            return None
        with self._site.as_owner(), AppealBook(path, make=False) as book:
            return book.of(reference)

    @staticmethod
    def _answer(refused: RefusedMail | None, appeal: Appeal | None) -> SenderAnswer:
        if refused is None:
            return SenderAnswer()
        return SenderAnswer(
            known=True,
            reference=to_text(refused.reference),
            time=refused.time,
            put_off=refused.put_off,
            reasons=refused.reasons,
            may_appeal=appeal is None and BY_ITSELF.isdisjoint(refused.reasons),
            appeal=None if appeal is None else appeal.state,
            words="" if appeal is None else appeal.words,
        )
