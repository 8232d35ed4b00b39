"""Greylisting, of grey mail only: mail that is neither good nor spam is deferred, and a real mail
server retries.

The key is the sender, as far as he was proved: the DKIM domain, else the domain that passed SPF (of
a bounce that of HELO), else the client's network (so that a farm of senders may retry from another
address), together with the sender's address.  Identities with good mail of other days are never
deferred; a login code from a known domain with a DKIM signature comes through at once.

The memory is the counters', under a prefix of its own: a message that was deferred in an earlier
bucket of ten minutes has waited long enough, so the wait is five minutes on average, and two weeks
later it is forgotten.  If the counters do not answer, nothing is deferred.

Source: RFC 6647, section 5 (recommendations), with identities in place of the triplet's address.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from oborona.authentication.model import AuthResult
from oborona.client_network import client_network
from oborona.errors import StoreError
from oborona.message.hashing import Hasher
from oborona.message.shingles import ShingleType
from oborona.policy.counts import MessageCounts
from oborona.policy.evidence import SenderEvidence
from oborona.policy.local_clients import is_own
from oborona.policy.ports import CounterReader
from oborona.policy.tables import GreylistTable
from oborona.types import (
    Action,
    CounterPrefix,
    Envelope,
    Metric,
    RuleWindow,
    Shingle,
    Verdict,
    Window,
)

GREYLISTED: Final = "greylisted"  # decides


class GreylistReply(NamedTuple):
    """A message that is deferred."""

    verdict: Verdict
    shingle: Shingle  # to be counted under `CounterPrefix.GREY` once the answer is given


class _Identity(NamedTuple):
    name: str
    kind: ShingleType  # what the remembered shingle's type is
    known_by: ShingleType  # whose good mail makes it known


async def check_greylist(
    verdict: Verdict,
    envelope: Envelope,
    evidence: SenderEvidence,
    counts: MessageCounts,
    *,
    counters: CounterReader,
    hasher: Hasher,
    table: GreylistTable,
    now: float,
) -> GreylistReply | None:
    """Return what to do instead if a message is to be put off, None if it is not.

    Args:
        verdict: so far.
        envelope: of the message.
        evidence: what was proved of its sender.
        counts: counts of its pieces.
        counters: where what was put off is remembered.
        hasher: of the site.
        table: of the policy.
        now: Unix seconds.
    """
    grey = table.enabled and verdict.action is Action.ACCEPT and verdict.score >= table.score
    if not grey or is_own(envelope):
        return None
    identity = _identity(envelope, evidence)
    if (
        identity is None
        or counts.most_ham(identity.known_by, RuleWindow.EARLIER) >= table.known_after
    ):
        return None
    shingle = hasher.shingle(identity.kind, f"{identity.name}\0{envelope.sender.lower()}")
    try:
        (row,) = await counters.read([shingle], now, CounterPrefix.GREY)
    except StoreError:  # it is in the log already: the message's own counts were asked for before
        return None
    if row[Window.FORTNIGHT][Metric.SEEN] > row[Window.RECENT][Metric.SEEN]:
        return None
    return GreylistReply(
        msgspec.structs.replace(
            verdict, action=Action.TEMPFAIL, line=table.score, decided_by=GREYLISTED
        ),
        shingle,
    )


def _identity(envelope: Envelope, evidence: SenderEvidence) -> _Identity | None:
    proved = evidence.identity
    if proved.dkim_domains:
        return _Identity(proved.dkim_domains[0], ShingleType.DKIM_DOMAIN, ShingleType.DKIM_DOMAIN)
    if proved.spf.result is AuthResult.PASS:
        kind = (
            ShingleType.MAIL_FROM_DOMAIN if envelope.sender else ShingleType.HELO
        )  # a bounce has no sender: SPF is HELO's
        return _Identity(proved.spf.domain, kind, kind)
    network = client_network(envelope.client.ip)
    return (
        _Identity(network, ShingleType.CLIENT_NETWORK, ShingleType.CLIENT_IP) if network else None
    )
