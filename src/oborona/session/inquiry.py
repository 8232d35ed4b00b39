"""The DNS queries about one connection and its messages: each is sent once, as soon as its subject
is known, and all run concurrently.

    connect           DNS lists of the client, iprev            ─┐
    MAIL FROM         SPF, DNS lists of HELO and sender          ├─ run on while mail comes in;
                      whoever needs an answer waits for it
    end of message    keys, DMARC, ARC, DNS lists of links      ─┘

Each message has a budget for SPF, one for the lists, and those of `authentication.verify`: a sender
whose SPF asks much, or whose name servers are slow, spends his own alone.

Where the mail server waits for a verdict anyway, its questions are put by that verdict, after what
costs nothing has let the client pass; else they are put ahead (`begin`).  Nothing is asked about
our own people, and what lists said of a client before he logged in is dropped; only the signatures
under a message that came from this machine or a private network are looked at, for it may be
forwarded.  Whom the site's own lists let in or keep out no other list is asked about.  A fault of
ours in a method is logged and leaves its result unknown; the others go on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from oborona.authentication.iprev import check_iprev
from oborona.authentication.model import AuthIdentity, AuthResult, Dmarc, IpRev, Spf
from oborona.authentication.signed_message import read_signed_message
from oborona.authentication.verification import verify
from oborona.dns import DnsAsker
from oborona.message.model import Message
from oborona.policy.evidence import SenderEvidence
from oborona.policy.load import Policy
from oborona.policy.local_clients import is_own
from oborona.policy.local_list_match import match_local_lists
from oborona.reputation.dnsbl import DnsblInputs
from oborona.session.dnsbl import DnsblClient, DnsblResult
from oborona.session.spf_checks import SpfChecks
from oborona.types import Envelope, Stage

T = TypeVar("T")

log = logging.getLogger("oborona.inquiry")

_UNKNOWN_SPF: Final = Spf(result=AuthResult.TEMPERROR, why="internal error")
_UNKNOWN_IPREV: Final = IpRev(result=AuthResult.TEMPERROR)


class InquiryServices(NamedTuple):
    """What the inquiries of a worker work with."""

    asker: Callable[[], DnsAsker]  # a new one, with a budget of its own
    lists: DnsblClient
    receiver: str  # our name, for the explanations of SPF
    sample: Callable[[], float]  # a number from 0 up to 100, for DMARC's pct
    clock: Callable[[], float]  # Unix seconds


class _Tasks:
    """What was begun at one stage."""

    def __init__(self) -> None:
        self.verified = ""  # name of the client that the mail server has verified
        self.lists: asyncio.Task[DnsblResult] | None = None
        self.iprev: asyncio.Task[IpRev] | None = None
        self.spf: asyncio.Task[Spf] | None = None
        self.spf_helo: asyncio.Task[Spf] | None = None

    def cancel(self) -> None:
        for task in (self.lists, self.iprev, self.spf, self.spf_helo):
            if task is not None:
                task.cancel()


class Inquirer:
    """An `Inquiry` for one connection after the other of one session.

    Args:
        means: of the worker.
    """

    def __init__(self, means: InquiryServices) -> None:
        self._means = means
        self._begun: dict[Stage, _Tasks] = {}
        self._for_lists: DnsAsker | None = None  # of the message at hand
        self._spf = SpfChecks(means.receiver)

    def begin(self, stage: Stage, envelope: Envelope, policy: Policy) -> None:
        """Put the questions of a stage and those before it, unless they have been put.

        Returns at once.
        """
        for step in (Stage.CONNECT, Stage.SENDER):
            if step.order <= stage.order and step not in self._begun:
                self._begun[step] = self._begin_questions(step, envelope, policy)

    async def until(
        self, stage: Stage, envelope: Envelope, policy: Policy, *, spf: bool, iprev: bool
    ) -> SenderEvidence:
        """Return what DNS lists say of what is known at a stage.

        SPF and iprev if they are wanted.
        """
        self.begin(stage, envelope, policy)
        identity = AuthIdentity()
        if iprev:
            identity = msgspec.structs.replace(identity, iprev=await self._iprev())
        if spf:
            identity = await self._with_spf(identity)
        return _evidence(identity, await self._looked(envelope, stage))

    async def whole(
        self, message: Message, envelope: Envelope, policy: Policy, *, truncated: bool
    ) -> SenderEvidence:
        """Return everything, now that the message is there."""
        self.begin(Stage.SENDER, envelope, policy)
        asker = self._list_asker()
        content = self._look(_message_inputs(message), envelope, policy, asker)
        try:
            identity: AuthIdentity | None = None
            if not (envelope.login or envelope.own):
                proved = partial(self._proved, message, envelope, policy, truncated)
                identity = await _guarded(proved, "authentication", None)
            if identity is None:
                identity = await self._of_envelope()
            looked = await self._looked(envelope)
            return _evidence(identity, looked if content is None else [*looked, await content])
        finally:
            if content is not None:
                content.cancel()

    async def again(
        self, evidence: SenderEvidence, message: Message, envelope: Envelope, policy: Policy
    ) -> SenderEvidence:
        """Return the evidence with what lists say of a message in which more was found since."""
        content = self._look(_message_inputs(message), envelope, policy, self._list_asker())
        if content is None:
            return evidence
        try:
            looked = await content
        finally:
            content.cancel()
        before = (listing for listing in evidence.listings if listing.stage is not Stage.CONTENT)
        return msgspec.structs.replace(
            evidence,
            listings=(*before, *looked.listings),
            unanswered=tuple(dict.fromkeys((*evidence.unanswered, *looked.unanswered))),
        )

    def end_message(self) -> None:
        """Stop asking about the message at hand."""
        tasks = self._begun.pop(Stage.SENDER, None)
        if tasks is not None:
            tasks.cancel()
        self._for_lists = None

    def close(self) -> None:
        """Stop asking: the connection is over."""
        self.end_message()
        for tasks in self._begun.values():
            tasks.cancel()
        self._begun.clear()
        self._spf.forget()

    def _begin_questions(self, stage: Stage, envelope: Envelope, policy: Policy) -> _Tasks:
        tasks = _Tasks()
        if is_own(envelope):
            return tasks
        means, client = self._means, envelope.client
        if stage is Stage.CONNECT:
            asker = means.asker()
            inputs = DnsblInputs(client=client.ip, rdns=client.name)
            tasks.verified = client.name
            if not client.name:
                tasks.iprev = _start(
                    _guarded(partial(check_iprev, client.ip, asker), "iprev", _UNKNOWN_IPREV)
                )
        else:
            asker, inputs = (
                self._list_asker(),
                DnsblInputs(helo=envelope.helo, sender=envelope.sender),
            )
            budget = means.asker()
            mail_from = partial(self._spf.mail_from, envelope, budget)
            helo = partial(self._spf.helo, envelope, budget)
            tasks.spf = _start(_guarded(mail_from, "spf", _UNKNOWN_SPF))
            tasks.spf_helo = _start(_guarded(helo, "spf", _UNKNOWN_SPF))
        tasks.lists = self._look(inputs, envelope, policy, asker)
        return tasks

    def _list_asker(self) -> DnsAsker:
        if self._for_lists is None:
            self._for_lists = self._means.asker()
        return self._for_lists

    def _look(
        self, inputs: DnsblInputs, envelope: Envelope, policy: Policy, asker: DnsAsker
    ) -> asyncio.Task[DnsblResult] | None:
        """Begin to ask the DNS lists; None where none is to be asked."""
        lists = policy.dns_lists
        if is_own(envelope) or not any(dns_list.enabled for dns_list in lists):
            return None
        if match_local_lists(policy.local_lists, envelope, Stage.CONTENT) is not None:
            return None  # the site's own lists decide, whatever others say
        return _start(
            _guarded(partial(self._means.lists.look, inputs, lists, asker), "lists", DnsblResult())
        )

    async def _iprev(self) -> IpRev:
        tasks = self._begun[Stage.CONNECT]
        if tasks.verified:
            return IpRev(result=AuthResult.PASS, name=tasks.verified)
        return IpRev() if tasks.iprev is None else await asyncio.shield(tasks.iprev)

    async def _with_spf(self, identity: AuthIdentity) -> AuthIdentity:
        tasks = self._begun.get(Stage.SENDER)
        if tasks is None or tasks.spf is None or tasks.spf_helo is None:
            return identity
        return msgspec.structs.replace(
            identity,
            spf=await asyncio.shield(tasks.spf),
            spf_helo=await asyncio.shield(tasks.spf_helo),
        )

    async def _of_envelope(self) -> AuthIdentity:
        return await self._with_spf(AuthIdentity(iprev=await self._iprev()))

    async def _looked(self, envelope: Envelope, stage: Stage = Stage.CONTENT) -> list[DnsblResult]:
        """What lists say of what is known at a stage.

        What is asked for a later one has come in meanwhile.
        """
        if is_own(envelope):
            return []
        begun = [
            tasks.lists
            for of, tasks in self._begun.items()
            if of.order <= stage.order and tasks.lists is not None
        ]
        return [await asyncio.shield(task) for task in begun]

    async def _proved(
        self, message: Message, envelope: Envelope, policy: Policy, truncated: bool
    ) -> AuthIdentity:
        identity = await verify(
            read_signed_message(message.raw, truncated=truncated),
            () if is_own(envelope) else message.from_domains,
            self._of_envelope(),
            asker=self._means.asker,
            now=self._means.clock(),
            limit=policy.authentication.max_signatures,
            trusted=policy.authentication.trusted,
            sample=self._means.sample(),
        )
        if envelope.client.unknown and identity.dmarc.result is not AuthResult.PASS:
            # SPF, by which it might have passed, can't be told
            return msgspec.structs.replace(identity, dmarc=Dmarc())
        return identity


def _evidence(identity: AuthIdentity, looked: Sequence[DnsblResult]) -> SenderEvidence:
    return SenderEvidence(
        identity=identity,
        listings=tuple(listing for result in looked for listing in result.listings),
        unanswered=(
            *identity.unanswered,
            *dict.fromkeys(name for result in looked for name in result.unanswered),
        ),
    )


def _message_inputs(message: Message) -> DnsblInputs:
    """What the message itself names that lists can be asked about."""
    first, own = (message.from_.address, message.from_.domain) if message.from_ else ("", "")
    return DnsblInputs(
        # of further authors the domain is enough: lists of whole addresses know nobody by it
        from_=tuple(
            dict.fromkeys(
                (first, *(f"@{domain}" for domain in message.from_domains if domain != own))
            )
        ),
        reply_to=tuple(box.address for box in message.reply_to),
        links=tuple(dict.fromkeys(link.host for link in message.links)),
        addresses=message.addresses,
    )


def _start(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    return asyncio.get_running_loop().create_task(work)


async def _guarded(work: Callable[[], Awaitable[T]], method: str, unknown: T) -> T:
    """Return what a method found; what it does not know if it has a fault of ours."""
    try:
        return await work()
    except Exception:
        log.exception("fault in %s", method)
        return unknown
