"""What DNS lists are asked about a message, and what an answer means.

Nothing is asked about addresses that are nobody's on the Internet, and about our own networks: what
dial-up and policy lists say of these is no evidence.  Of links and mail addresses in the text,
which a sender may add by the hundred, only so many are asked about: from the beginning and from the
end, as padding is mostly at one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from ipaddress import IPv4Address
from typing import Final, TypeVar

import msgspec

from oborona.dns import DnsAnswer, DnsOutcome
from oborona.reputation.dnsbl.codes import counts, is_refusal
from oborona.reputation.dnsbl.model import (
    DnsblFailure,
    DnsblFault,
    DnsblListing,
    DnsblQuestion,
    DnsList,
    EmailHash,
)
from oborona.reputation.dnsbl.names import hash_label, of_address, of_host, of_mailbox, query_name
from oborona.reputation.networks import NOWHERE, Address, NetworkSet, plain
from oborona.reputation.subject import MAILBOXES, ListSubject

MAX_HOSTS: Final = 20  # of links, for each list
MAX_MAILBOXES: Final = 10  # in the text, for each list
MAX_CODES_SHOWN: Final = 4

Value = TypeVar("Value")

_OF_CLIENT: Final = (ListSubject.CLIENT, ListSubject.RDNS, ListSubject.HELO)
_REASONS: Final = {
    0x7FFFFFFC: "the zone is misspelt (127.255.255.252)",
    0x7FFFFFFE: "asked through a public resolver (127.255.255.254): use a resolver of your own",
    0x7FFFFFFF: "too many queries (127.255.255.255)",
}
"""Source: https://www.spamhaus.org/faqs/dnsbl-usage/."""


class DnsblInputs(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a message so far, and was not asked about before.

    What is empty is not asked about.
    """

    client: str = ""  # address
    rdns: str = ""  # verified
    helo: str = ""
    sender: str = ""  # MAIL FROM without <>
    from_: tuple[str, ...] = ()  # addresses in From
    reply_to: tuple[str, ...] = ()
    links: tuple[str, ...] = ()  # hosts of links, in their order
    addresses: tuple[str, ...] = ()  # mail addresses in the text, in their order

    def values(self, of: ListSubject) -> tuple[str, ...]:
        """Return what is known of a subject."""
        match of:
            case ListSubject.CLIENT:
                return (self.client,)
            case ListSubject.RDNS:
                return (self.rdns,)
            case ListSubject.HELO:
                return (self.helo,)
            case ListSubject.SENDER:
                return (self.sender,)
            case ListSubject.FROM:
                return self.from_
            case ListSubject.REPLY_TO:
                return self.reply_to
            case ListSubject.LINKS:
                return self.links
            case ListSubject.ADDRESSES:
                return self.addresses
            case ListSubject.RECIPIENT:
                return ()  # nobody's business


def questions(
    lists: Iterable[DnsList], inputs: DnsblInputs, own: NetworkSet, asks: Callable[[DnsList], bool]
) -> tuple[DnsblQuestion, ...]:
    """Return the questions about a message, each once, to be asked all at the same time.

    Args:
        lists: of the policy.
        inputs: what is known and was not asked about before.
        own: networks of the site.
        asks: whether a list is to be asked at present (`Health.asks`).

    Returns:
        For each list at most three, MAX_HOSTS about links, and as many about the names or
        MAX_MAILBOXES about the addresses in each header and in the text. Never raises, whatever the
        message holds.
    """
    ours = _is_ours(inputs.client, own)
    pending: dict[str, DnsblQuestion] = {}
    for dns_list in lists:
        if not dns_list.enabled or not asks(dns_list):
            continue
        for of in dns_list.of:
            if ours and of in _OF_CLIENT:
                continue
            for label, subject in _labels(dns_list, of, inputs.values(of), own):
                name = query_name(label, dns_list.zone)
                if name:
                    pending.setdefault(
                        name, DnsblQuestion(list=dns_list, name=name, subject=subject, of=of)
                    )
    return tuple(pending.values())


def read(question: DnsblQuestion, answer: DnsAnswer) -> DnsblListing | DnsblFailure | None:
    """Return what an answer says: listed, no use, or nothing known.

    Args:
        question: one of `questions`.
        answer: to its name, of kind A.
    """
    dns_list = question.list
    codes = listing_codes(dns_list, answer)
    if isinstance(codes, DnsblFailure):
        return codes
    weighed = [
        (score, str(code)) for code in codes if (score := dns_list.codes.score(code)) is not None
    ]
    if not weighed:
        return None
    weighed.sort(key=lambda pair: (-abs(pair[0]), -pair[0], pair[1]))
    shown = tuple(dict.fromkeys(code for _, code in weighed))[:MAX_CODES_SHOWN]
    say = dns_list.say.replace("{code}", " ".join(shown)).replace("{subject}", question.subject)
    return DnsblListing(
        name=dns_list.name,
        of=question.of,
        asked=question.subject,
        codes=shown,
        score=weighed[0][0],
        say=say,
        mode=dns_list.mode,
    )


def listing_codes(dns_list: DnsList, answer: DnsAnswer) -> tuple[IPv4Address, ...] | DnsblFailure:
    """Return the codes that list something, weighed or not.

    None where the list does not have it.
    """
    if answer.outcome is DnsOutcome.TEMPERROR:
        return DnsblFailure(
            name=dns_list.name, fault=DnsblFault.TEMPERROR, why=answer.why or "no answer"
        )
    codes = []
    for text in answer.names:
        code = plain(text)
        if not isinstance(code, IPv4Address) or int(code) >> 24 != 127:
            why = (
                f"answers with {text[:60]}, which no list does: does the resolver make up answers?"
            )
            return DnsblFailure(name=dns_list.name, fault=DnsblFault.MADE_UP, why=why)
        if is_refusal(code, dns_list.refused):
            why = _REASONS.get(
                int(code), f"refuses to answer ({code}): a public resolver, or too many queries"
            )
            return DnsblFailure(name=dns_list.name, fault=DnsblFault.REFUSED, why=why)
        if counts(code):
            codes.append(code)
    return tuple(codes)


def strongest(listings: Iterable[DnsblListing]) -> tuple[DnsblListing, ...]:
    """Return one listing of each list, that which weighs most, of equal ones the first: ten links
    are no ten witnesses.
    """
    best: dict[str, DnsblListing] = {}
    for listing in listings:
        best_so_far = best.get(listing.name)
        if best_so_far is None or abs(listing.score) > abs(best_so_far.score):
            best[listing.name] = listing
    return tuple(best.values())


def public(address: Address, own: NetworkSet = NOWHERE) -> bool:
    """Return whether an address is somebody's on the Internet, and not ours.

    Source: the IANA special-purpose registries, as the standard library has them.
    """
    return address.is_global and not address.is_multicast and address not in own


def _is_ours(client: str, own: NetworkSet) -> bool:
    address = plain(client)
    return bool(client) and (address is None or not public(address, own))


def _labels(
    dns_list: DnsList, of: ListSubject, values: Sequence[str], own: NetworkSet
) -> Iterator[tuple[str, str]]:
    """Yield what stands before the zone, and what it is about."""
    if dns_list.hash is not EmailHash.NONE:
        mailboxes = [mailbox for value in values if (mailbox := of_mailbox(value))]
        for mailbox in _ends_of(mailboxes, MAX_MAILBOXES):
            yield hash_label(mailbox, dns_list.hash), mailbox
        return
    if of in MAILBOXES:
        values = [value.rpartition("@")[2] for value in values]
    hosts: list[Address | str] = []
    for value in values:
        host = (
            plain(value) or "" if of is ListSubject.CLIENT else of_host(value, whole=dns_list.whole)
        )
        if isinstance(host, str):
            if host:
                hosts.append(host)
        elif _is_queried(dns_list, of, host, own):
            hosts.append(host)
    for host in _ends_of(hosts, MAX_HOSTS):
        yield (host if isinstance(host, str) else of_address(host)), str(host)


def _is_queried(dns_list: DnsList, of: ListSubject, address: Address, own: NetworkSet) -> bool:
    family = dns_list.ipv4 if address.version == 4 else dns_list.ipv6
    return family and (of is ListSubject.CLIENT or dns_list.ips) and public(address, own)


def _ends_of(values: Sequence[Value], most: int) -> list[Value]:
    """The values, each once; of too many the first and the last."""
    distinct = list(dict.fromkeys(values))
    return (
        distinct
        if len(distinct) <= most
        else [*distinct[: most // 2], *distinct[-(most - most // 2) :]]
    )
