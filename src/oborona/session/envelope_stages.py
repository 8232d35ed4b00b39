"""Verdicts before the content, on a client and its envelopes, and the stage at which each is told.

    judged   at connect: the client      at MAIL FROM: the sender      at RCPT TO: each recipient
    said     there, but no earlier than `[verdict] clients_at`: where a mail server shows our words,
             and the log knows whose mail it is

What is said later is judged meanwhile: the mail server waits for an answer at the place alone where
it may be a refusal.  Who logs in before MAIL FROM is not refused for the address that the login
came from.

A message that is refused is one line in the log, however many recipients it named: when it ends, or
`LOGGED_AFTER_S` after the refusal.  A client that went away before it could be told is one line at
the end of its connection.  Every judgement has a deadline and a crash barrier: past either it
refuses nobody.

Of an account that is blocked nothing is judged (`oborona.session.account_refusal`).
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

import msgspec

from oborona.doors.reply import CONTINUE, SessionReply
from oborona.ident import to_text
from oborona.journal.refusal import Told
from oborona.policy.envelope_stages import check_envelope
from oborona.policy.load import Policy
from oborona.policy.local_list_match import match_local_lists
from oborona.reputation.locallists import ListAction
from oborona.reputation.subject import ListSubject
from oborona.session.account_refusal import account_refusal, is_blocked
from oborona.session.early_refusal import (
    EarlyRefusal,
    EarlyVerdict,
    count_refusal,
    early_refusal_reply,
    log_refusal,
    record_refusal,
)
from oborona.session.inquiry import Inquirer
from oborona.session.judged_message import log_fault
from oborona.session.replies import verdict_details
from oborona.session.services import SessionServices
from oborona.session.verdict_metrics import count_stage
from oborona.telemetry.log import event
from oborona.types import Envelope, Stage

# recipients come in one packet as a rule; whoever looks for a reference finds it by then
LOGGED_AFTER_S: Final = 2.0

log = logging.getLogger("oborona.session")


_Judging = asyncio.Task[
    EarlyVerdict | None
]  # None: nothing came of it, or what was judged before refuses already


class EnvelopeStages:
    """The judgements of one connection.

    Args:
        services: what the worker's sessions share.
        inquirer: asks the DNS for this client.
        content: messages follow their envelopes; where none does, nothing is asked ahead for what
            is decided by them.
    """

    def __init__(self, services: SessionServices, inquirer: Inquirer, *, content: bool) -> None:
        self._services = services
        self._inquirer = inquirer
        self._content = content
        self._client: _Judging | None = None
        self._sender: _Judging | None = None
        self._client_told = False
        self._slowed = False
        self._blocked = False  # the account of the message at hand is
        self._refusal: EarlyRefusal | None = None  # of the message at hand
        # to a recipient of the message at hand, where the others hear the same
        self._passed: SessionReply | None = None

    async def at(
        self, stage: Stage, envelope: Envelope, policy: Policy, *, reached: Stage | None = None
    ) -> SessionReply:
        """Begin to judge what is new at a stage, and say what is to be said there.

        Args:
            stage: connect, sender or recipient; told in this order.
            envelope: as far as it is known, its recipient the last one.
            policy: of the message.
            reached: how far SMTP has come, where that is beyond the stage.
        """
        if stage is Stage.SENDER:
            self._blocked = is_blocked(self._services, envelope)
        if self._blocked:
            return self._tell_blocked(reached or stage, envelope, policy)
        falls = self._services.deciding(policy)
        await self._begin(stage, envelope, policy, falls)
        if (reached or stage).order < policy.verdict.first.order:
            return CONTINUE
        if stage is Stage.RECIPIENT and _welcome(envelope, policy):
            return CONTINUE
        if self._refusal is not None:
            self._refusal.recipients += 1
            return self._refusal.reply
        if self._passed is not None:
            return self._passed
        try:
            async with asyncio.timeout(self._services.settings.command_deadline_s):
                verdict = await self._await_verdict(stage, envelope, policy, falls)
        except TimeoutError as error:
            log_fault(self._services.numbers.next(self._services.clock()), error, stage)
            return CONTINUE
        reply = await self._reply_to(verdict, reached or stage, envelope)
        if stage is Stage.RECIPIENT and stage not in falls and self._refusal is None:
            self._passed = reply
        return reply

    def end_message(self) -> None:
        """The message at hand is over."""
        self._passed = None
        self._blocked = False
        sender, self._sender = self._sender, None
        if sender is not None:
            sender.cancel()
        refusal, self._refusal = self._refusal, None
        if refusal is not None:
            log_refusal(self._services, refusal)

    def close(self) -> None:
        """The connection is over."""
        self.end_message()
        client, self._client = self._client, None
        if client is None:
            return
        verdict = _finished_verdict(client)
        client.cancel()
        if verdict is not None and verdict.refuses and not self._client_told:
            count_refusal(self._services, verdict)
            ident = record_refusal(
                self._services, verdict, verdict.envelope, Told.NEVER, verdict.ident
            )
            log_refusal(
                self._services,
                EarlyRefusal(verdict, CONTINUE, ident, Stage.CONNECT, verdict.envelope),
                said=Told.NEVER,
            )

    async def _begin(
        self, stage: Stage, envelope: Envelope, policy: Policy, falls: frozenset[Stage]
    ) -> None:
        """Have judged, while mail goes on coming in, what can be said only later.

        Put questions ahead for what is judged later still.
        """
        if envelope.login and self._client is not None:
            self._client.cancel()
            self._client = None
        if stage in falls:
            if stage is Stage.CONNECT and not envelope.login:
                self._client = asyncio.create_task(self._look(stage, envelope, policy))
            elif stage is Stage.SENDER:
                self._sender = asyncio.create_task(
                    self._look(stage, envelope, policy, after=self._client)
                )
        elif stage is not Stage.RECIPIENT and (
            self._content or any(fall.order > stage.order for fall in falls)
        ):
            if self._client is not None and not self._client.done():
                await asyncio.sleep(0)  # what needs no answer of anybody is known then
            if not self._client_refused:
                # who waits later finds the answers there
                self._inquirer.begin(stage, envelope, policy)

    @property
    def _client_refused(self) -> bool:
        """Whether that is known by now: then there is nothing to find out for a message of his."""
        verdict = _finished_verdict(self._client)
        return verdict is not None and verdict.refuses

    async def _await_verdict(
        self, stage: Stage, envelope: Envelope, policy: Policy, falls: frozenset[Stage]
    ) -> EarlyVerdict | None:
        """Return the first judgement that refuses, of those that are made so far.

        Else the last one.
        """
        verdict = None
        for judging in (self._client, self._sender):
            if judging is not None:
                verdict = await asyncio.shield(judging) or verdict
                if verdict is not None and verdict.refuses:
                    return verdict
        if stage is Stage.RECIPIENT and stage in falls:
            return await self._look(stage, envelope, policy) or verdict
        return verdict

    async def _look(
        self, stage: Stage, envelope: Envelope, policy: Policy, *, after: _Judging | None = None
    ) -> EarlyVerdict | None:
        """Judge what is known at a stage; a fault there is no reason to refuse anybody."""
        services = self._services
        if after is not None:
            await asyncio.wait((after,))  # not for its result: a login that comes late drops it
            before = _finished_verdict(after)
            if before is not None and before.refuses:
                return None
        now = services.clock()
        ident = services.numbers.next(now)
        loop = asyncio.get_running_loop()
        started, result = loop.time(), None
        try:
            async with asyncio.timeout(services.settings.command_deadline_s):
                result = await check_envelope(
                    envelope, stage, services.site, policy, self._inquirer, now=now
                )
        except Exception as error:  # noqa: BLE001 - the crash barrier
            log_fault(ident, error, stage)
        count_stage(services.door, stage, loop.time() - started)
        if result is None:
            return None
        for fault in result.faults:
            event(log, logging.WARNING, "fault", id=to_text(ident), stage=stage, what=fault)
        return EarlyVerdict(stage, result, envelope, policy, now, ident)

    async def _reply_to(
        self, early: EarlyVerdict | None, reached: Stage, envelope: Envelope
    ) -> SessionReply:
        """Return what the client hears of a judgement."""
        if early is None:
            return CONTINUE
        services, verdict = self._services, early.glance.verdict
        repeated = early.stage is Stage.CONNECT and self._client_told  # with another message
        ident = services.numbers.next(services.clock()) if repeated else early.ident
        if early.refuses:
            if reached is Stage.RECIPIENT:
                # he alone
                envelope = msgspec.structs.replace(envelope, recipients=envelope.recipients[-1:])
            ident = record_refusal(services, early, envelope, Told(reached.value), ident)
        rests = verdict_details(
            services, verdict, ident, early.policy, stage=early.stage, karma=early.glance.karma
        )
        if not early.refuses:
            if early.glance.wait_s and not self._slowed:
                self._slowed = True
                await asyncio.sleep(early.glance.wait_s)
            return SessionReply(judged=rests)
        self._client_told = self._client_told or early.stage is Stage.CONNECT
        asyncio.get_running_loop().call_soon(count_refusal, self._services, early)
        refusal = EarlyRefusal(
            early, early_refusal_reply(services, early, ident, rests), ident, reached, envelope
        )
        if reached is Stage.CONNECT or early.stage is Stage.RECIPIENT:
            log_refusal(services, refusal)
            return refusal.reply
        return self._refuse_message(refusal)

    def _tell_blocked(self, reached: Stage, envelope: Envelope, policy: Policy) -> SessionReply:
        """Return what a blocked account hears at a stage."""
        if reached.order < policy.verdict.first.order:
            return CONTINUE
        if self._refusal is not None:
            self._refusal.recipients += 1
            return self._refusal.reply
        refusal = account_refusal(self._services, envelope, policy, reached)
        return CONTINUE if refusal is None else self._refuse_message(refusal)

    def _refuse_message(self, refusal: EarlyRefusal) -> SessionReply:
        """Return a refusal of the whole message: each of its recipients is told the same."""
        self._refusal = refusal
        if refusal.said is Stage.SENDER:
            log_refusal(self._services, refusal)
        else:
            refusal.timer = asyncio.get_running_loop().call_later(
                LOGGED_AFTER_S, log_refusal, self._services, refusal
            )
        return refusal.reply


def _welcome(envelope: Envelope, policy: Policy) -> bool:
    """Tell whether a list of the site's own lets a recipient have mail of whomever it does not keep
    out itself.
    """
    if ListSubject.RECIPIENT not in policy.local_lists.subjects:
        return False
    match = match_local_lists(policy.local_lists, envelope, Stage.RECIPIENT)
    return (
        match is not None and match.of is ListSubject.RECIPIENT and match.action is ListAction.ALLOW
    )


def _finished_verdict(judging: _Judging | None) -> EarlyVerdict | None:
    """Return a judgement that is made, None of one that is not yet."""
    return (
        judging.result()
        if judging is not None and judging.done() and not judging.cancelled()
        else None
    )
