"""One connection of a mail server, whatever protocol carries it: asks policy at each stage, and has its messages judged.

    connect → helo → mail → rcpt… → end of message → mail → …

Every wait has a deadline, every call a crash barrier: past either, a stage refuses nobody; of the message see `oborona.milter.judging`.  Nothing of one message
is left when the next begins; what belongs to the connection is its client and its HELO.  A protocol without connections of its own tells all at once:
`glance` at a stage, or the `whole` message.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from oborona.milter.answering import judged, words
from oborona.milter.bench import Bench
from oborona.milter.gather import Gathered
from oborona.milter.judging import judge, log_fault, log_verdict, tried
from oborona.milter.log import event
from oborona.milter.probe import MACRO as PROBE
from oborona.milter.probe import believed
from oborona.milter.reply import CONTINUE, Answer, Reply, refuse
from oborona.policy.glance import glance
from oborona.policy.history import REPIP_BAD
from oborona.policy.load import Policy
from oborona.policy.settling import settle_refused
from oborona.recheck.ident import to_text
from oborona.types import Action, Client, Envelope, Stage

log = logging.getLogger("oborona.session")

_PLACES: Final = {
    Stage.CONNECT: (554, "Connection"),
    Stage.SENDER: (550, "Sender"),
    Stage.RECIPIENT: (550, "Recipient"),
}
_BEFORE_CONTENT: Final = (Stage.CONNECT, Stage.SENDER, Stage.RECIPIENT)


class Session:
    """A `Door` over the policy.

    Args:
        bench: what the worker's sessions share.
        content: messages follow their envelopes; where none does, nothing is asked ahead for what is decided by them.
    """

    def __init__(self, bench: Bench, *, content: bool = True) -> None:
        self._bench = bench
        self._content = content
        self._macros: dict[str, str] = {}
        self._client = Client()
        self._own = False
        self._inquirer = bench.inquire()
        self._helo = ""
        self._sender = ""
        self._recipients: list[str] = []
        self._policy: Policy | None = None  # that the message at hand began with; it ends with it
        self._probe = False  # the message at hand is one of ours, and is to leave no trace

    @property
    def waits(self) -> frozenset[Stage]:
        """Stages where the policy of this moment can refuse before the content."""
        return self._bench.deciding(self._bench.policy.current)

    def learn(self, macros: Mapping[str, str]) -> None:
        """Take macros of the mail server, names without braces."""
        self._macros.update(macros)

    async def connect(self, client: Client) -> Reply:
        """Judge the client by its address and name."""
        port = self._macros.get(
            "daemon_port", ""
        )  # comes before the connection; no other macro may outlive the last one
        self.close()
        self._client = client
        if client.login:
            self._macros["auth_authen"] = client.login
        self._own = self._bench.own(client.ip, port)
        self._inquirer = self._bench.inquire()
        return await self._stage(Stage.CONNECT)

    async def helo(self, name: str) -> Reply:
        """Take the name; it is judged with the sender."""
        self._helo = name
        return CONTINUE

    async def mail(self, sender: str, params: tuple[str, ...]) -> Reply:
        """Begin a message and judge its sender."""
        self.abort()
        self._sender = sender
        self._policy = await self._bench.policy.now()
        said = self._macros.pop(PROBE, "")
        self._probe = bool(said) and believed(self._bench.signing_key, said, self._bench.clock())
        return await self._stage(Stage.SENDER)

    async def rcpt(self, recipient: str, params: tuple[str, ...]) -> Reply:
        """Judge one recipient; a refused one is not the message's."""
        self._recipients.append(recipient)
        reply = await self._stage(Stage.RECIPIENT)
        if reply.answer is not Answer.CONTINUE:
            self._recipients.pop()
        return reply

    async def end_of_message(self, message: Gathered) -> Reply:
        """Judge the whole message, answer, and then count, journal and log it."""
        policy = self._policy or await self._bench.policy.now()
        envelope, probe = self._envelope(), self._probe
        self._forget()
        judging = tried if probe else judge
        return await judging(self._bench, message, envelope, self._inquirer, policy)

    async def glance(
        self, stage: Stage, envelope: Envelope, port: str, *, after: Stage | None = None
    ) -> Reply:
        """Judge what is known at a stage, of a client that nobody told before."""
        self._meet(envelope, port)
        reply = CONTINUE
        for one in _BEFORE_CONTENT:
            if one.order <= stage.order and (after is None or one.order > after.order):
                reply = await self._stage(one)
                if reply.answer is not Answer.CONTINUE:
                    break
        return reply

    async def whole(self, envelope: Envelope, message: Gathered, port: str) -> Reply:
        """Judge a message of a client that nobody told before."""
        self._meet(envelope, port)
        return await self.end_of_message(message)

    def _meet(self, envelope: Envelope, port: str) -> None:
        """Take all that is told at once."""
        self.close()
        self._client, self._helo = envelope.client, envelope.helo
        self._sender, self._recipients = envelope.sender, list(envelope.recipients)
        self._macros |= {"auth_authen": envelope.login or envelope.client.login, "i": envelope.queue_id}
        self._own = self._bench.own(envelope.client.ip, port)
        self._inquirer = self._bench.inquire()

    def abort(self) -> None:
        """Forget the message at hand."""
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
        self._inquirer.close()
        self._macros.clear()
        self._client, self._helo, self._own = Client(), "", False

    def _envelope(self) -> Envelope:
        return Envelope(
            client=self._client,
            helo=self._helo,
            sender=self._sender,
            recipients=tuple(self._recipients),
            login=self._macros.get("auth_authen", ""),
            own=self._own,
            queue_id=self._macros.get("i", ""),
        )

    async def _stage(self, stage: Stage) -> Reply:
        """Judge what is known at a stage; a fault there is no reason to refuse anybody."""
        if self._probe:
            return CONTINUE
        bench = self._bench
        policy = self._policy or await bench.policy.now()
        deciding = bench.deciding(policy)
        if stage not in deciding:
            later = self._content or any(one.order > stage.order for one in deciding)
            if later and stage.order >= policy.verdict.first.order:
                self._inquirer.begin(
                    stage, self._envelope(), policy
                )  # who waits later finds the answers there
            return CONTINUE
        now, envelope = bench.clock(), self._envelope()
        ident = bench.numbers.next(now)
        try:
            async with asyncio.timeout(bench.settings.command_deadline_s):
                seen = await glance(envelope, stage, bench.site, policy, self._inquirer, now=now)
        except Exception as error:  # noqa: BLE001 - the crash barrier
            log_fault(ident, error, stage)
            return CONTINUE
        for fault in seen.faults:
            event(log, logging.WARNING, "fault", id=to_text(ident), stage=stage, what=fault)
        rests = judged(bench, seen.verdict, ident, policy, karma=seen.karma)
        if seen.verdict.action not in (Action.REJECT, Action.TEMPFAIL) or not policy.verdict.refuse:
            if seen.wait_s:
                await asyncio.sleep(seen.wait_s)
            return Reply(judged=rests)
        log_verdict(bench, ident, policy, envelope, seen.verdict, stage=stage)
        if seen.verdict.action is Action.TEMPFAIL:
            return refuse(451, "4.7.1", words(bench, "Try again later", ident), rests)
        asyncio.get_running_loop().call_soon(self._settle_refused, envelope, now)
        decided = seen.verdict.decided_by
        listed = next((one for one in policy.dns_lists if one.name == decided), None)
        client = decided == REPIP_BAD or (listed and all(of.stage is Stage.CONNECT for of in listed.of))
        code, place = _PLACES[
            Stage.CONNECT if client else stage
        ]  # a sender is not to blame for his mail server
        why = f", listed by {decided}" if listed else ""
        return refuse(code, "5.7.1", words(bench, f"{place} refused{why}", ident), rests)

    def _settle_refused(self, envelope: Envelope, now: float) -> None:
        site, counters = self._bench.site, self._bench.counters
        try:
            settle_refused(envelope, site.hasher, site.places.find(envelope.client.ip), counters, now=now)
        except Exception:
            log.exception("fault in counting a refusal")  # which no mail hangs on
