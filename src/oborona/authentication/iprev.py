"""iprev: does the client's name in the reverse zone lead back to its address? RFC 8601 section 3.

Limits: MAX_NAMES names are tried, one after the other; an honest server has one.
"""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import Final

from oborona.authentication.model import AuthResult, IpRev
from oborona.dns import DnsAsker, DnsOutcome, DnsType

MAX_NAMES: Final = 10  # of one address; as RFC 7208 s4.6.4 limits ptr


async def check_iprev(ip: str, asker: DnsAsker) -> IpRev:
    """Look the address up in the reverse zone, and the names found there in the forward zone.

    Args:
        ip: the client's address; IPv4 in IPv6 is IPv4.
        asker: for the DNS.

    Returns: pass with the first name that leads back; fail if names have addresses, but none the
        client's; permerror if there is no name, or none has an address; temperror if the DNS does
        not say; none if `ip` is no address.
    """
    try:
        address = ip_address(ip.partition("%")[0])
    except ValueError:
        return IpRev()
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    reverse = await asker.ask(address.reverse_pointer, DnsType.PTR)
    if reverse.outcome is DnsOutcome.TEMPERROR:
        return IpRev(result=AuthResult.TEMPERROR)
    kind = DnsType.AAAA if address.version == 6 else DnsType.A
    result = AuthResult.PERMERROR
    for name in reverse.names[:MAX_NAMES]:
        forward = await asker.ask(name, kind)
        if str(address) in forward.names:
            return IpRev(result=AuthResult.PASS, name=name)
        if forward.outcome is DnsOutcome.TEMPERROR:
            result = AuthResult.TEMPERROR
        elif forward.outcome is DnsOutcome.FOUND and result is AuthResult.PERMERROR:
            result = AuthResult.FAIL
    return IpRev(result=result)
