"""DMARC: did the domain in From prove itself, and what does it ask for if not? RFC 9989, and RFC
7489 before it.

The record is that of the domain in From, or of its organisation, or of the public suffix above
(which must say `psd=y`, as .gov does); the organisation is found by the tree walk
(`oborona.authentication.dmarc_walk`). Names are aligned if they are of one organisation by the walk
and by the Public Suffix List: whoever published a record for a suffix without `psd=y` has not made
its customers one another's authors. The walk of a name that SPF or DKIM proved is made only where
it decides: within one registered domain, where the record does not ask for the same name. So most
messages cost one question, or two from a subdomain
(docs/adr/0050-the-tree-walk-within-the-suffix-list.md).

A signature or SPF result that could not be checked for lack of an answer counts only if its domain
is aligned: what nobody could take for a proof, were it checked, must not turn a fail into a
temporary error.

An aligned signature that the header of a message too large to be checked bears out
(`DkimSignature.unseen`) makes a fail a permerror: whether it holds can't be known, and asking again
would not help (RFC 7489 section 11.2). So a signed header of somebody's, put above another body of
that size, is not disowned by DMARC; a rule may look at `message.truncated`. Signatures beyond the
limit prove nothing, aligned ones are looked at before others (`verify_dkim`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from oborona.authentication.dmarc_record import DmarcRecord, UnusableDmarcRecord
from oborona.authentication.dmarc_walk import DnsUnanswered, tree_walk_names, walk_dmarc_tree
from oborona.authentication.model import AuthResult, DkimSignature, Dmarc, DmarcPolicy, Spf
from oborona.authentication.names import fqdn, printable
from oborona.dns import DnsAsker, DnsOutcome, DnsType
from oborona.domains import registrable

MAX_FROM: Final = 5  # domains in From that are checked; an honest message has one

_UNSEEN: Final = "message too large to check its signature"
_SEVERITY: Final = {DmarcPolicy.NONE: 0, DmarcPolicy.QUARANTINE: 1, DmarcPolicy.REJECT: 2}
_WEAKER: Final = {
    DmarcPolicy.NONE: DmarcPolicy.NONE,
    DmarcPolicy.QUARANTINE: DmarcPolicy.NONE,
    DmarcPolicy.REJECT: DmarcPolicy.QUARANTINE,
}
_MAY_PROVE: Final = (AuthResult.PASS, AuthResult.TEMPERROR)
_DOUBT: Final = (
    AuthResult.PASS,
    AuthResult.NONE,
    AuthResult.PERMERROR,
    AuthResult.TEMPERROR,
    AuthResult.FAIL,
)


def dmarc_questions(from_domains: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the records (TXT) that `check_dmarc` asks for first, so that they can be
    asked for all at once.
    """
    domains = _domains(from_domains)[:MAX_FROM]
    first = [place for domain in domains for place in (domain, registrable(domain))]
    between = [
        place
        for domain in domains
        for place in tree_walk_names(domain)
        if len(place) > len(registrable(domain))
    ]
    return tuple(f"_dmarc.{place}" for place in dict.fromkeys((*first, *between)))


async def check_dmarc(
    from_domains: Sequence[str],
    *,
    spf: Spf,
    dkim: Sequence[DkimSignature],
    asker: DnsAsker,
    sample: float,
) -> Dmarc:
    """Check the domain in From against what SPF and DKIM proved.

    Of several domains the first MAX_FROM are each checked, and the strictest outcome holds for the
    message (RFC 7489 s6.6.1): the disposition first, then the result, so that one that proved
    itself lends nothing to another. What was proved was so for each of them.

    Args:
        from_domains: of the addresses in From, as written; what is no domain name is left out.
        spf: of MAIL FROM, as `check_spf` gives it.
        dkim: all signatures that were looked at.
        asker: for the DNS.
        sample: 0 ≤ sample < 100, drawn for this message: `pct` holds for it if below.

    Returns: none without a domain, without a record or with one that has no policy (several at one
        name are none); permerror for a signature that can't be checked, or more than MAX_FROM
        domains of which none got anything stricter; else pass, fail or temperror. Never raises on
        what peers or the DNS say.
    """
    domains = _domains(from_domains)
    if not domains:
        return Dmarc(why="no domain in From")
    checks = [await _check(domain, spf, dkim, asker, sample) for domain in domains[:MAX_FROM]]
    if len(domains) > MAX_FROM:
        why = f"over {MAX_FROM} domains in From"
        checks.append(Dmarc(result=AuthResult.PERMERROR, domain=domains[MAX_FROM], why=why))
    strictest = max(
        checks, key=lambda verdict: (_SEVERITY[verdict.disposition], _DOUBT.index(verdict.result))
    )
    return msgspec.structs.replace(
        strictest,
        spf_aligned=all(verdict.spf_aligned for verdict in checks),
        dkim_aligned=all(verdict.dkim_aligned for verdict in checks),
    )


def _domains(from_domains: Sequence[str]) -> list[str]:
    return [name for name in dict.fromkeys(map(fqdn, from_domains)) if name]


class _Unclear(Exception):  # noqa: N818 - reads as what the policy is
    """There is no one policy to apply; result and reason."""

    def __init__(self, result: AuthResult, why: str) -> None:
        super().__init__(why)
        self.result = result


async def _check(
    domain: str, spf: Spf, dkim: Sequence[DkimSignature], asker: DnsAsker, sample: float
) -> Dmarc:
    organisation = registrable(domain)
    try:
        place, record, organisation = await _discover(domain, asker)
    except _Unclear as end:
        proved = await _proved(domain, spf, dkim, asker)
        return Dmarc(
            result=end.result,
            domain=domain,
            organisational=organisation,
            spf_aligned=proved.by_spf,
            dkim_aligned=proved.by_dkim,
            why=printable(str(end)),
        )
    proved = await _proved(
        domain, spf, dkim, asker, strict_spf=record.strict_spf, strict_dkim=record.strict_dkim
    )
    result = proved.result
    policy = record.policy
    if place != domain:
        policy = record.subdomains or policy
        if (
            record.missing is not None
            and result is AuthResult.FAIL
            and await _is_missing(domain, asker)
        ):
            policy = record.missing
    return Dmarc(
        result=result,
        domain=domain,
        organisational=organisation,
        policy=policy,
        disposition=_disposition(record, policy, sample)
        if result is AuthResult.FAIL
        else DmarcPolicy.NONE,
        percent=record.percent,
        testing=record.testing,
        spf_aligned=proved.by_spf,
        dkim_aligned=proved.by_dkim,
        why=_UNSEEN if result is AuthResult.PERMERROR else printable(f"record at _dmarc.{place}"),
    )


class _Proved(NamedTuple):
    """What passed for a domain in From."""

    by_spf: bool
    by_dkim: bool
    unknown: bool  # something that might have passed got no answer
    unseen: bool  # or could not be looked at

    @property
    def result(self) -> AuthResult:
        if self.by_spf or self.by_dkim:
            return AuthResult.PASS
        if self.unknown:
            return AuthResult.TEMPERROR
        return AuthResult.PERMERROR if self.unseen else AuthResult.FAIL


async def _proved(
    domain: str,
    spf: Spf,
    dkim: Sequence[DkimSignature],
    asker: DnsAsker,
    *,
    strict_spf: bool = False,
    strict_dkim: bool = False,
) -> _Proved:
    """Return what was proved; without a record alignment is relaxed, as it is by default."""
    by_spf = by_dkim = unknown = unseen = False
    if spf.scope == "mfrom" and spf.result in _MAY_PROVE:
        aligned = await _aligned(spf.domain, domain, asker, strict=strict_spf)
        by_spf = aligned is True and spf.result is AuthResult.PASS
        unknown = aligned is None or (aligned and spf.result is AuthResult.TEMPERROR)
    alignment: dict[str, bool | None] = {}
    for signature in dkim:
        if signature.result not in _MAY_PROVE and not signature.unseen:
            continue
        if signature.domain not in alignment:
            alignment[signature.domain] = await _aligned(
                signature.domain, domain, asker, strict=strict_dkim
            )
        aligned = alignment[signature.domain]
        by_dkim |= aligned is True and signature.result is AuthResult.PASS
        unknown |= aligned is None or (aligned and signature.result is AuthResult.TEMPERROR)
        unseen |= aligned is True and signature.unseen
    return _Proved(by_spf, by_dkim, unknown, unseen)


async def _discover(domain: str, asker: DnsAsker) -> tuple[str, DmarcRecord, str]:
    """Return the name of the record that holds for a domain, the record, and the organisation as
    far as it had to be looked for.
    """
    try:
        records = await walk_dmarc_tree(domain, asker, whole=False)
    except DnsUnanswered as error:
        raise _Unclear(AuthResult.TEMPERROR, str(error)) from error
    if records.policy is None:
        doubled = f"several records at _dmarc.{records.doubled}" if records.doubled else ""
        raise _Unclear(AuthResult.NONE, doubled or "no record")
    place, record = records.policy
    if isinstance(record, UnusableDmarcRecord):
        raise _Unclear(AuthResult.NONE, f"_dmarc.{place}: {record}")
    own = place == domain and record.suffix is None  # the walk has ended there
    return place, record, registrable(domain) if own else records.organisation


async def _aligned(proved: str, domain: str, asker: DnsAsker, *, strict: bool) -> bool | None:
    """Is a domain that SPF or DKIM speaks of the one in From, or (relaxed) of the same
    organisation? None = not known. RFC 9989 s4.10.2.
    """
    name = fqdn(proved)
    if name == domain:
        return True
    if strict or not name or registrable(name) != registrable(domain):
        return False
    try:
        ours = await walk_dmarc_tree(domain, asker)
        return (await walk_dmarc_tree(name, asker)).organisation == ours.organisation
    except DnsUnanswered:
        return None


async def _is_missing(domain: str, asker: DnsAsker) -> bool:
    """Does a name not exist, nor any below it? RFC 9989, RFC 8020."""
    return (await asker.ask(domain, DnsType.A)).outcome is DnsOutcome.NO_NAME


def _disposition(record: DmarcRecord, policy: DmarcPolicy, sample: float) -> DmarcPolicy:
    """What is asked for a message that fails: one step less in test mode, and outside the sample
    (RFC 7489 s6.6.4).
    """
    return _WEAKER[policy] if record.testing or sample >= record.percent else policy
