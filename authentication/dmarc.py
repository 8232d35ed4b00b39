"""DMARC: did the domain in From prove itself, and what does it ask for if not? RFC 9989, and RFC 7489 before it.

The record is looked for at the domain in From, then at its organisational domain, then at the public suffix above (which must say
`psd=y`, as .gov does). The organisational domain is found by the Public Suffix List, as RFC 7489 section 3.2 has it: one look-up
less for every label than the tree walk of RFC 9989, and the same domain unless an owner moves the border with `psd=n`.

A signature or SPF result that could not be checked for lack of an answer counts only if its domain is aligned: what nobody could
take for a proof, were it checked, must not turn a fail into a temporary error.

An aligned signature that the header of a message too large to be checked bears out (`Signature.unseen`) makes a fail a permerror: whether
it holds can't be known, and asking again would not help (RFC 7489 section 11.2). So a signed header of somebody's, put above another body of
that size, is not disowned by DMARC; a rule may look at `message.truncated`. Signatures beyond the limit prove nothing, aligned ones are looked
at before others (`verify_dkim`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from oborona.authentication.dmarc_record import Record, Unusable, is_record, parse
from oborona.authentication.model import Dmarc, Published, Result, Signature, Spf
from oborona.authentication.names import fqdn, printable
from oborona.dns import Asker, Kind, Outcome
from oborona.domains import registrable

MAX_FROM: Final = 5  # domains in From that are checked; an honest message has one

_UNSEEN: Final = "message too large to check its signature"
_SEVERITY: Final = {Published.NONE: 0, Published.QUARANTINE: 1, Published.REJECT: 2}
_WEAKER: Final = {
    Published.NONE: Published.NONE,
    Published.QUARANTINE: Published.NONE,
    Published.REJECT: Published.QUARANTINE,
}
_DOUBT: Final = (Result.PASS, Result.NONE, Result.PERMERROR, Result.TEMPERROR, Result.FAIL)


def dmarc_questions(from_domains: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the records (TXT) that `check_dmarc` asks for first, so that they can be asked for all at once."""
    domains = _domains(from_domains)[:MAX_FROM]
    places = (place for domain in domains for place in (domain, registrable(domain)) if place)
    return tuple(f"_dmarc.{place}" for place in dict.fromkeys(places))


async def check_dmarc(
    from_domains: Sequence[str], *, spf: Spf, dkim: Sequence[Signature], asker: Asker, sample: float
) -> Dmarc:
    """Check the domain in From against what SPF and DKIM proved.

    Of several domains the first MAX_FROM are each checked, and the strictest outcome holds for the message (RFC 7489 s6.6.1): the
    disposition first, then the result, so that one that proved itself lends nothing to another. What was proved was so for each of
    them.

    Args:
        from_domains: of the addresses in From, as written; what is no domain name is left out.
        spf: of MAIL FROM, as `check_spf` gives it.
        dkim: all signatures that were looked at.
        asker: for the DNS.
        sample: 0 ≤ sample < 100, drawn for this message: `pct` holds for it if below.

    Returns: none without a domain, a record, or with several records at one name; permerror for a record that cannot be
        used, a signature that can't be checked, or more than MAX_FROM domains of which none got anything stricter; else pass, fail or
        temperror. Never raises on what peers or the DNS say.
    """
    domains = _domains(from_domains)
    if not domains:
        return Dmarc(why="no domain in From")
    found = [await _check(domain, spf, dkim, asker, sample) for domain in domains[:MAX_FROM]]
    if len(domains) > MAX_FROM:
        why = f"over {MAX_FROM} domains in From"
        found.append(Dmarc(result=Result.PERMERROR, domain=domains[MAX_FROM], why=why))
    strictest = max(found, key=lambda one: (_SEVERITY[one.disposition], _DOUBT.index(one.result)))
    return msgspec.structs.replace(
        strictest,
        spf_aligned=all(one.spf_aligned for one in found),
        dkim_aligned=all(one.dkim_aligned for one in found),
    )


def _domains(from_domains: Sequence[str]) -> list[str]:
    return [name for name in dict.fromkeys(map(fqdn, from_domains)) if name]


class _Unclear(Exception):  # noqa: N818 - reads as what the policy is
    """There is no one policy to apply; result and reason."""

    def __init__(self, result: Result, why: str) -> None:
        super().__init__(why)
        self.result = result


async def _check(domain: str, spf: Spf, dkim: Sequence[Signature], asker: Asker, sample: float) -> Dmarc:
    organisational = registrable(domain)
    try:
        place, record = await _discover(domain, organisational, asker)
    except _Unclear as end:
        proved = _proved(domain, spf, dkim)
        return Dmarc(
            result=end.result,
            domain=domain,
            organisational=organisational,
            spf_aligned=proved.by_spf,
            dkim_aligned=proved.by_dkim,
            why=printable(str(end)),
        )
    proved = _proved(domain, spf, dkim, strict_spf=record.strict_spf, strict_dkim=record.strict_dkim)
    result = proved.result
    policy = record.policy
    if place != domain:
        policy = record.subdomains or policy
        if record.missing is not None and result is Result.FAIL and await _is_missing(domain, asker):
            policy = record.missing
    return Dmarc(
        result=result,
        domain=domain,
        organisational=organisational,
        policy=policy,
        disposition=_disposition(record, policy, sample) if result is Result.FAIL else Published.NONE,
        percent=record.percent,
        testing=record.testing,
        spf_aligned=proved.by_spf,
        dkim_aligned=proved.by_dkim,
        why=_UNSEEN if result is Result.PERMERROR else printable(f"record at _dmarc.{place}"),
    )


class _Proved(NamedTuple):
    """What passed for a domain in From."""

    by_spf: bool
    by_dkim: bool
    unknown: bool  # something that might have passed got no answer
    unseen: bool  # or could not be looked at

    @property
    def result(self) -> Result:
        if self.by_spf or self.by_dkim:
            return Result.PASS
        if self.unknown:
            return Result.TEMPERROR
        return Result.PERMERROR if self.unseen else Result.FAIL


def _proved(
    domain: str, spf: Spf, dkim: Sequence[Signature], *, strict_spf: bool = False, strict_dkim: bool = False
) -> _Proved:
    """Return what was proved; without a record alignment is relaxed, as it is by default."""
    by_spf = spf.scope == "mfrom" and _aligned(spf.domain, domain, strict=strict_spf)
    signed = [one for one in dkim if _aligned(one.domain, domain, strict=strict_dkim)]
    by_dkim = {one.result for one in signed}
    return _Proved(
        by_spf=by_spf and spf.result is Result.PASS,
        by_dkim=Result.PASS in by_dkim,
        unknown=(by_spf and spf.result is Result.TEMPERROR) or Result.TEMPERROR in by_dkim,
        unseen=any(one.unseen for one in signed),
    )


async def _discover(domain: str, organisational: str, asker: Asker) -> tuple[str, Record]:
    """Return the record that holds for a domain, and the name it was found for."""
    suffix = organisational.partition(".")[2]
    for place in dict.fromkeys((domain, organisational, suffix)):
        if not place:
            continue
        answer = await asker.ask(f"_dmarc.{place}", Kind.TXT)
        if answer.outcome is Outcome.TEMPERROR:
            raise _Unclear(Result.TEMPERROR, f"DNS {answer.why}: TXT _dmarc.{place}")
        texts = [text for text in answer.texts if is_record(text)]
        if len(texts) > 1:
            raise _Unclear(Result.NONE, f"{len(texts)} records at _dmarc.{place}")
        if not texts:
            continue
        try:
            record = parse(texts[0])
        except Unusable as error:
            raise _Unclear(Result.PERMERROR, f"_dmarc.{place}: {error}") from error
        if place in (domain, organisational) or record.suffix:
            return place, record
    raise _Unclear(Result.NONE, "no record")


def _aligned(proved: str, domain: str, *, strict: bool) -> bool:
    """Is a domain that SPF or DKIM speaks of the one in From, or (relaxed) of the same organisation? RFC 7489 s3.1."""
    name = fqdn(proved)
    return name == domain or (not strict and registrable(name) == registrable(domain))


async def _is_missing(domain: str, asker: Asker) -> bool:
    """Does a name not exist, nor any below it? RFC 9989, RFC 8020."""
    return (await asker.ask(domain, Kind.A)).outcome is Outcome.NO_NAME


def _disposition(record: Record, policy: Published, sample: float) -> Published:
    """What is asked for a message that fails: one step less in test mode, and outside the sample (RFC 7489 s6.6.4)."""
    return _WEAKER[policy] if record.testing or sample >= record.percent else policy
