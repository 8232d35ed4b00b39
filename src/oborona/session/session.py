"""One connection of a mail server over any protocol: it consults the policy at each stage, and has
its messages judged.

    connect → helo → mail → rcpt… → end of message → mail → …

What is judged before the content is `oborona.session.envelope_stages`'s, the message
`oborona.session.judge`'s.  Nothing of one message is left when the next begins; what belongs to the
connection is its client and its HELO.  A protocol without connections of its own tells all at once:
`glance` at a stage, or the `whole` message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from oborona.doors.probe import MACRO as PROBE
from oborona.doors.probe import is_probe
from oborona.doors.raw_message import RawMessage
from oborona.doors.reply import BUSY, CONTINUE, ReplyAction, SessionReply
from oborona.policy.load import Policy
from oborona.policy.local_clients import is_program
from oborona.policy.stages import waiting_stages
from oborona.session.account_refusal import account_refusal
from oborona.session.early_refusal import log_refusal
from oborona.session.envelope_stages import EnvelopeStages
from oborona.session.judge import judge_message, judge_probe, unjudged_reply
from oborona.session.outgoing_limits import check_sender, early_limits
from oborona.session.refusals import put_off_reply
from oborona.session.services import SessionServices
from oborona.session.unseen_message import judge_unseen
from oborona.types import Client, Envelope, Stage

MAX_TOLD: Final = 100_000  # recipients of a message that nobody names
_BEFORE_CONTENT: Final = (Stage.CONNECT, Stage.SENDER, Stage.RECIPIENT)


class Session:
    """A `Door` over the policy.

    Args:
        services: what the worker's sessions share.
        content: messages follow their envelopes; where none does, nothing is asked ahead for what
            is decided by them.
    """

    def __init__(self, services: SessionServices, *, content: bool = True) -> None:
        self._services = services
        self._content = content
        self._holds = True
        self._at_once = False  # each question tells all that is known, and its answer is heard
        self._macros: dict[str, str] = {}
        self._client = Client()
        self._own = False
        self._server = ""  # what the mail server calls itself
        self._begin()
        self._helo = ""
        self._sender = ""
        self._recipients: list[str] = []
        self._policy: Policy | None = None  # that the message at hand began with; it ends with it
        self._probe = False  # the message at hand is one of ours, and is to leave no trace
        # what is known of the last whole message
        self._judged: tuple[Envelope, Policy, float] | None = None

    @property
    def waits(self) -> frozenset[Stage]:
        """Stages where the policy of this moment, a ban or a limit refuses before the content."""
        policy = self._services.policy.current
        falls = self._services.deciding(policy)
        if self._services.accounts.known:
            falls |= {Stage.SENDER}
        stages = waiting_stages(falls, policy)
        return stages | {Stage.SENDER} if early_limits(self._services, policy) else stages

    def refuse_holds(self) -> None:
        """Refuse what the mail server has no place to hold."""
        self._holds = False

    def learn(self, macros: Mapping[str, str]) -> None:
        """Take macros of the mail server, names without braces."""
        self._macros.update(macros)

    async def connect(self, client: Client) -> SessionReply:
        """Judge the client by its address and name."""
        # these come before the connection; no other macro may outlive the last one
        port, server = self._macros.get("daemon_port", ""), self._macros.get("j", "")
        self.close()
        self._server = server
        self._client = client
        if client.login:
            self._macros["auth_authen"] = client.login
        self._own = self._services.own(client.ip, port)
        self._begin()
        return await self._stage(Stage.CONNECT)

    async def helo(self, name: str) -> SessionReply:
        """Take the name; it is judged with the sender."""
        self._helo = name
        return CONTINUE

    async def mail(self, sender: str, params: tuple[str, ...]) -> SessionReply:
        """Begin a message and judge its sender."""
        self.abort()
        self._sender = sender
        self._judged = None
        self._policy = await self._services.policy.now()
        proof = self._macros.pop(PROBE, "")
        self._probe = bool(proof) and is_probe(
            self._services.signing_key, proof, self._services.clock()
        )
        return await self._stage(Stage.SENDER)

    async def rcpt(self, recipient: str, params: tuple[str, ...]) -> SessionReply:
        """Judge one recipient; a refused one is not the message's."""
        self._recipients.append(recipient)
        reply = await self._stage(Stage.RECIPIENT)
        if reply.answer is not ReplyAction.CONTINUE:
            self._recipients.pop()
        return reply

    async def end_of_message(self, message: RawMessage) -> SessionReply:
        """Judge the whole message, answer, and then count, journal and log it."""
        lost_s = self._services.concurrency.pulse.lost_s
        policy = self._policy or await self._services.policy.now()
        envelope, probe = self._envelope(), self._probe
        self._judged = None if probe else (envelope, policy, lost_s)
        self._early.end_message()
        self._forget()
        blocked = (
            None if probe else account_refusal(self._services, envelope, policy, Stage.CONTENT)
        )
        if blocked is not None:
            self._judged = None
            log_refusal(self._services, blocked)
            return blocked.reply
        judging = judge_probe if probe else judge_message
        return await judging(self._services, message, envelope, self._inquirer, policy)

    async def unseen(self, recipients: int, size: int) -> SessionReply:
        """Put a message under limits whose content nobody shows us, answer, and then count it."""
        policy = self._policy or await self._services.policy.now()
        envelope = _with_number(self._envelope(), recipients)
        self._judged = None
        self._early.end_message()
        self._inquirer.end_message()
        self._forget()
        blocked = account_refusal(self._services, envelope, policy, Stage.CONTENT)
        if blocked is not None:
            log_refusal(self._services, blocked)
            return blocked.reply
        return await judge_unseen(self._services, envelope, size, policy)

    def unjudged(self, message: RawMessage) -> SessionReply:
        """Answer a message that was not judged, with all that has to be done to its headers."""
        if self._judged is None:
            return self.put_off(busy=False)
        envelope, policy, lost_s = self._judged
        return unjudged_reply(self._services, message, envelope, policy, lost_s)

    def put_off(self, *, busy: bool) -> SessionReply:
        """Answer a message that is to come again, for nobody could judge it."""
        envelope, policy = self._envelope(), self._policy or self._services.policy.current
        if self._judged is not None:
            envelope, policy, _ = self._judged
        return put_off_reply(self._services, envelope, policy, Stage.CONTENT, busy=busy)

    async def glance(
        self,
        stage: Stage,
        envelope: Envelope,
        port: str,
        *,
        after: Stage | None = None,
        reached: Stage | None = None,
    ) -> SessionReply:
        """Judge what is known at a stage, of a client that nobody told before."""
        self._meet(envelope, port)
        policy = self._policy = await self._services.policy.now()
        first = policy.verdict.first
        if (reached or stage).order < first.order:
            return CONTINUE  # nothing is said yet, and this is forgotten when it is asked again
        reply = CONTINUE
        for early_stage in _BEFORE_CONTENT:
            # what was asked about before anything was said comes again
            if early_stage.order <= stage.order and (
                after is None or after.order < first.order or early_stage.order > after.order
            ):
                reply = await self._stage(
                    early_stage, reached=reached if early_stage is stage else None
                )
                if reply.answer is not ReplyAction.CONTINUE:
                    break
        return reply

    async def whole(self, envelope: Envelope, message: RawMessage, port: str) -> SessionReply:
        """Judge a message of a client that nobody told before."""
        self._meet(envelope, port)
        return await self.end_of_message(message)

    def _meet(self, envelope: Envelope, port: str) -> None:
        """Take all that is told at once."""
        self.close()
        self._at_once = True
        self._judged = None
        self._client, self._helo = envelope.client, envelope.helo
        self._sender, self._recipients = envelope.sender, list(envelope.recipients)
        self._server, self._holds = envelope.server, envelope.holds
        self._macros |= {
            "auth_authen": envelope.login or envelope.client.login,
            "i": envelope.queue_id,
        }
        self._own = self._services.own(envelope.client.ip, port)
        self._begin()

    def _begin(self) -> None:
        self._inquirer = self._services.new_inquiry()
        self._early = EnvelopeStages(self._services, self._inquirer, content=self._content)

    def abort(self) -> None:
        """Forget the message at hand."""
        self._early.end_message()
        self._inquirer.end_message()
        self._forget()

    def _forget(self) -> None:
        self._sender = ""
        self._recipients = []
        self._policy = None
        self._probe = False
        self._macros.pop("i", None)

    def close(self) -> None:
        """Forget everything: the connection is over."""
        self.abort()
        self._early.close()
        self._inquirer.close()
        self._macros.clear()
        self._client, self._helo, self._own, self._server = Client(), "", False, ""

    def _envelope(self) -> Envelope:
        return Envelope(
            client=self._client,
            helo=self._helo,
            sender=self._sender,
            recipients=tuple(self._recipients),
            login=self._macros.get("auth_authen", ""),
            own=self._own,
            queue_id=self._macros.get("i", ""),
            server=self._server,
            holds=self._holds,
        )

    async def _stage(self, stage: Stage, *, reached: Stage | None = None) -> SessionReply:
        if self._probe:
            return CONTINUE
        policy = self._policy or await self._services.policy.now()
        reply = await self._early.at(stage, self._envelope(), policy, reached=reached)
        if stage is Stage.SENDER and reply.answer is ReplyAction.CONTINUE:
            limited = await check_sender(self._services, self._envelope(), policy)
            reply = reply if limited is CONTINUE else limited
        if (
            reply.answer is ReplyAction.CONTINUE
            and self._services.concurrency.should_defer(self._client.ip)
            and not is_program(self._envelope())
        ):
            return self._turned_away(stage, policy)
        return reply

    def _turned_away(self, stage: Stage, policy: Policy) -> SessionReply:
        """Return the answer before the message comes: that costs the least."""
        if not self._at_once and stage not in self.waits:
            return BUSY  # nobody hears it
        return put_off_reply(self._services, self._envelope(), policy, stage, busy=True)


def _with_number(envelope: Envelope, number: int) -> Envelope:
    """Return an envelope with so many recipients: those whose names nobody told are empty.

    Those whom the mail server has refused since can't be told from others.
    """
    named = envelope.recipients[: max(number, 0)] if number else envelope.recipients
    more = ("",) * (min(number, MAX_TOLD) - len(named))
    return msgspec.structs.replace(envelope, recipients=named + more)
