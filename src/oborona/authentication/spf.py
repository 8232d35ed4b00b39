"""SPF: may this address send mail for this domain? RFC 7208, evaluated by pyspf.

pyspf runs in the bridge (`oborona.authentication.bridge`) and asks the DNS through the asker alone;
its own resolver is never reached. What it gets wrong is put right around it: records are held to
the grammar before it sees them (`oborona.authentication.spf_record`), DNS errors under `ptr` mean
no match (section 5.5), a name over 253 octets loses labels until it fits (7.3), addresses are
compared as numbers, and the owner's explanation is fetched only when it is wanted, that is after a
fail.

Limits: section 4.6.4 bounds the questions (10 terms, 10 names under each mx and ptr, 2 terms with a
void answer), `MAX_RECORDS` what is read of the answers, and with it the time for which others wait;
time of waiting is the asker's to bound. A local part that is not ASCII matches no macro (RFC 8616
section 4), nor does one with a backslash, nor such a HELO: in a name it would not stand for itself.
"""

from __future__ import annotations

from functools import partial
from ipaddress import IPv6Address, ip_address
from typing import Final, NamedTuple

import spf

from oborona.authentication.bridge import Ask, run
from oborona.authentication.model import AuthResult, Spf
from oborona.authentication.names import fqdn, printable
from oborona.authentication.spf_record import UnusableSpfRecord, check_spf_record, is_explanation
from oborona.dns import DnsAnswer, DnsAsker, DnsOutcome, DnsType
from oborona.domains import MAX_HOST

# characters of a local part or HELO; SMTP allows 64 and 255 (RFC 5321 s4.5.3.1)
MAX_IDENTITY: Final = 256
MAX_ADDRESSES: Final = 100  # of one name that are looked at
MAX_EXPLANATION: Final = 400  # octets, before macros
# octets of all records of one check, as four of the longest; with them it takes some 10 ms
MAX_RECORDS: Final = 32_768
POSTMASTER: Final = "postmaster"
NO_RECORD: Final = "no record"
_OTHER_FAMILY: Final = {DnsType.A: DnsType.AAAA, DnsType.AAAA: DnsType.A}


async def check_spf(*, ip: str, helo: str, sender: str, asker: DnsAsker, receiver: str) -> Spf:
    """Check the MAIL FROM identity.

    For a bounce that is postmaster at the HELO name (RFC 7208 s2.4).

    Args:
        ip: the client's address; IPv4 in IPv6 is IPv4. Anything else: result none.
        helo: as the client gave it.
        sender: address without angle brackets, empty for a bounce.
        asker: for the DNS.
        receiver: our host name, for the explanations of domains.

    Returns: result none unless the identity's domain is one and has a record. Never raises,
        whatever the arguments and the DNS hold.
    """
    local, _at, domain = sender.rpartition("@") if sender else (POSTMASTER, "", helo)
    return await _check(ip, helo, local or POSTMASTER, domain, asker, receiver, "mfrom")


async def check_helo(*, ip: str, helo: str, asker: DnsAsker, receiver: str) -> Spf:
    """Check the HELO identity (RFC 7208 s2.3); arguments and result as for `check_spf`."""
    return await _check(ip, helo, POSTMASTER, helo, asker, receiver, "helo")


async def _check(
    ip: str, helo: str, local: str, domain: str, asker: DnsAsker, receiver: str, scope: str
) -> Spf:
    name = fqdn(domain)
    if not name:
        return Spf(scope=scope, why="no domain name")
    if len(local) > MAX_IDENTITY or len(helo) > MAX_IDENTITY:
        return Spf(scope=scope, domain=name, why="longer than SMTP allows")
    try:
        address = str(ip_address(ip.partition("%")[0]))
    except ValueError:
        return Spf(scope=scope, domain=name, why="no client address")
    first = None
    if _can_exist(name):
        first = await asker.ask(name, DnsType.TXT)
        if first.outcome is not DnsOutcome.TEMPERROR and not any(
            map(spf.RE_SPF.match, first.texts)
        ):
            # as most HELO names: nothing to evaluate
            return Spf(domain=name, scope=scope, why=NO_RECORD)
    query = partial(_evaluate, ip=address, helo=helo, local=local, domain=name, receiver=receiver)
    result, why = await run(lambda ask: query(_knowing(ask, name, first)), asker)
    return Spf(result=result, domain=name, scope=scope, why=printable(why))


def _knowing(ask: Ask, domain: str, first: DnsAnswer | None) -> Ask:
    """Return who asks, but for the domain's own records, if they are at hand."""
    if first is None:
        return ask
    return lambda name, kind: first if name == domain and kind is DnsType.TXT else ask(name, kind)


def _evaluate(
    ask: Ask, *, ip: str, helo: str, local: str, domain: str, receiver: str
) -> tuple[AuthResult, str]:
    query = _Query(ask, ip=ip, helo=helo, local=local, domain=domain, receiver=receiver)
    try:
        word, _code, text = query.check()
        result = AuthResult(word)
        if result is AuthResult.FAIL and isinstance(text, _Explanation):
            why = query.explain(text) or query.matched
        elif result in (AuthResult.TEMPERROR, AuthResult.PERMERROR):
            why = (
                str(text)
                .removeprefix("SPF Temporary Error: ")
                .removeprefix("SPF Permanent Error: ")
            )
        else:
            why = NO_RECORD if result is AuthResult.NONE else query.matched
    except Exception as error:  # noqa: BLE001 - a record that breaks pyspf is its owner's mistake, not the client's
        return AuthResult.PERMERROR, f"cannot be evaluated: {type(error).__name__}: {error}"
    return result, why


class _Explanation(NamedTuple):
    """An explanation still to be fetched."""

    name: str
    given_by: str  # the domain


class _Query(spf.query):
    """One check; asks through the bridge."""

    def __init__(
        self, ask: Ask, *, ip: str, helo: str, local: str, domain: str, receiver: str
    ) -> None:
        super().__init__(i=ip, s=f"{local}@{domain}", h=helo, receiver=receiver)
        # pyspf splits at the first @: it may be quoted
        self.l, self.o, self.d = local, domain, domain
        self._ask = ask
        self._void: list[tuple[str, DnsType] | None] = []
        """Of each term with a void answer: what would prove that the name has an address all the
        same.
        """
        self._term_is_void = False
        self._read = 0  # octets of records
        self._client = int(self.ipaddr)

    @property
    def matched(self) -> str:
        """The mechanism that decided, as the domain's record has it."""
        return self.mechanism or "no mechanism matched"

    def explain(self, explanation: _Explanation) -> str:
        """Return the text of the domain's owner, empty where there is none (RFC 7208 s6.2)."""
        self.d = explanation.given_by
        try:
            texts = self.dns_txt(explanation.name, ignore_void=True)
            text = texts[0][:MAX_EXPLANATION].decode("ascii", "replace") if len(texts) == 1 else ""
            return self.expand(text, stripdot=False) if is_explanation(text) else ""
        except (spf.TempError, spf.PermError):
            return ""

    def get_explanation(self, spec: str) -> _Explanation:
        return _Explanation(spec, self.d)

    def dns_spf(self, domain: str) -> str | None:
        record = super().dns_spf(domain)
        if record is None:
            return None
        self._read += len(record)
        if self._read > MAX_RECORDS:
            raise spf.PermError(f"records of over {MAX_RECORDS} octets", domain)
        try:
            return check_spf_record(record)
        except UnusableSpfRecord as error:
            raise spf.PermError(str(error), domain) from error

    def cidrmatch(self, ipaddrs: list[str], n: int) -> bool:
        """Tell whether the client is in the network of n bits around one of some addresses, all of
        its own kind.
        """
        rest = self.cidrmax - n
        network = self._client >> rest
        try:
            return any(_number(address) >> rest == network for address in ipaddrs)
        except ValueError as error:
            raise spf.PermError(str(error)) from error

    def check_lookups(self) -> None:
        super().check_lookups()  # called once for every term that asks
        self._term_is_void = False

    def _count_void(self, name: str, kind: DnsType, outcome: DnsOutcome) -> None:
        """Count a term once, however many of its names came back void (RFC 7208 s4.6.4).

        A host with addresses of the other family alone is there: its domain's record is in order,
        and a client of this family costs it nothing. That is asked only when the limit would be
        passed.

        Raises:
            PermError: more terms than the limit have a void answer.
        """
        if self._term_is_void:
            return
        self._term_is_void = True
        other_family = _OTHER_FAMILY.get(kind) if outcome is DnsOutcome.NO_DATA else None
        self._void.append((name, other_family) if other_family else None)
        if len(self._void) > spf.MAX_VOID_LOOKUPS:
            self._void = [
                lookup
                for lookup in self._void
                if lookup is None or self._ask(*lookup).outcome is not DnsOutcome.FOUND
            ]
            self._void = [None] * len(self._void)  # none of them is asked again
        if len(self._void) > spf.MAX_VOID_LOOKUPS:
            raise spf.PermError(f"more than {spf.MAX_VOID_LOOKUPS} terms with void DNS answers")

    def validated_ptrs(self) -> list[str]:
        try:
            names = self.dns_ptr(self.i)[: spf.MAX_PTR]
        except spf.TempError:
            return []
        return [name for name in names if self._leads_back(name)]

    def _leads_back(self, name: str) -> bool:
        try:
            # the client's owner must not spend the void answers of the domain's
            addresses = self.dns(name, self.A, ignore_void=True)
        except spf.TempError:
            return False
        return self.cidrmatch(
            [address for address in addresses if isinstance(address, str)], self.cidrmax
        )

    def dns(
        self, name: str, qtype: str, cnames: object = None, ignore_void: bool = False
    ) -> list[tuple[bytes]] | list[tuple[int, str]] | list[str]:
        if len(name) > MAX_HOST:
            name = name[-MAX_HOST - 1 :].partition(".")[2]  # without the labels that do not fit
        if not _can_exist(name):
            return []  # cannot exist: no match, and no question that came back void
        answer = self._ask(name, DnsType[qtype])
        if answer.outcome is DnsOutcome.TEMPERROR:
            raise spf.TempError(f"DNS {answer.why}", f"{qtype} {name}")
        if answer.outcome is not DnsOutcome.FOUND and not ignore_void:
            self._count_void(name, DnsType[qtype], answer.outcome)
        if qtype == "TXT":
            return [(text,) for text in answer.texts]
        if qtype == "MX":
            return list(answer.exchanges)
        return list(answer.names[:MAX_ADDRESSES])


def _can_exist(name: str) -> bool:
    """Tell whether a name can be asked for."""
    return (
        len(name) <= MAX_HOST
        and name.isascii()
        and "\\" not in name
        and all(0 < len(label) < 64 for label in name.split("."))
    )


def _number(address: str) -> int:
    """Return an address as a number.

    Of IPv4 without a parser, which takes three times as long: its grammar has been checked.
    """
    if ":" in address:
        return int(IPv6Address(address))
    first, second, third, fourth = map(int, address.split("."))
    return first << 24 | second << 16 | third << 8 | fourth
