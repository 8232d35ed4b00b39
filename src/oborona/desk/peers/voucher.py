"""What the home desk says of who asks, and for what: signed, for one call of one other desk, good
for a minute, and once.

    BASE64URL(JSON of Voucher) . BASE64URL(Ed25519 over PURPOSE and that JSON)

The other desk believes the home desk in who somebody is and what they may, and nobody else: neither
the console, which has no key, nor a voucher that was for another desk, another call, other words,
or was shown before.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
import threading
from collections.abc import Mapping
from typing import Final

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from oborona.desk.call import CallError
from oborona.desk.peers.identity import KnownDesk
from oborona.people.caller import Caller, CallWay, Scope
from oborona.people.rights import Right, Role

GOOD_S: Final = 60.0  # on either side: as much as clocks may differ
MOST_SEEN: Final = 100_000  # vouchers of two minutes that are remembered
LONGEST: Final = 1 << 20  # octets: a scope of some thousand domains
PURPOSE: Final = b"oborona desk voucher 1\n"


class VoucherRefusedError(CallError):
    """A voucher counts for nothing."""

    status = 401


class Voucher(msgspec.Struct, frozen=True, kw_only=True):
    """What is signed.

    Args:
        home: mark of the certificate of the desk that says so.
        name: of that desk's site, for the audit log.
        desk: mark of the certificate of the desk to which it is said.
        call: that is made.
        told: hash of what it is told.
        at: Unix seconds by the clock of the home desk.
        once: no other voucher has it.
        person: who makes the call; so are the rest.
        roles: theirs; those of a newer Oborona count for nothing, as do such rights.
        rights: what they may.
        domains: whose mail; None = every one's.
        addresses: whole addresses beside them.
        way: how they came to the home desk.
        place: address of their client.
        fresh: whether they have proved lately who they are.
    """

    home: str
    name: str
    desk: str
    call: str
    told: str
    at: float
    once: str
    person: str
    roles: list[str]
    rights: list[str]
    domains: list[str] | None
    addresses: list[str]
    way: str
    place: str
    fresh: bool


class HomeDesk(msgspec.Struct, frozen=True):
    """The desk that says who asks.

    Args:
        key: its own.
        mark: of its certificate.
        name: of its site.
    """

    key: Ed25519PrivateKey
    mark: str
    name: str

    def vouch(self, caller: Caller, desk: str, call: str, body: bytes, now: float) -> bytes:
        """Return a voucher.

        Args:
            caller: who asks.
            desk: mark of the other desk's certificate.
            call: that they make.
            body: what it is told.
            now: Unix seconds.
        """
        voucher = Voucher(
            home=self.mark,
            name=self.name,
            desk=desk,
            call=call,
            told=_hash(body),
            at=now,
            once=secrets.token_urlsafe(16),
            person=caller.name,
            roles=sorted(caller.roles),
            rights=sorted(caller.rights),
            domains=None if caller.scope.domains is None else sorted(caller.scope.domains),
            addresses=sorted(caller.scope.addresses),
            way=caller.way,
            place=caller.place,
            fresh=caller.fresh,
        )
        said = msgspec.json.encode(voucher)
        signature = self.key.sign(PURPOSE + said)
        return base64.urlsafe_b64encode(said) + b"." + base64.urlsafe_b64encode(signature)


class VoucherBook:
    """Looks at vouchers, each once; for any number of threads.

    What was shown before this process began is not known: then as ever nobody shows a voucher who
    has not the home desk's key (`far_door`), and with that one makes new ones.

    Args:
        homes: desks whose word counts.
        own: mark of this desk's certificate.
    """

    def __init__(self, homes: list[KnownDesk], own: str) -> None:
        self._homes: Mapping[str, KnownDesk] = {home.mark: home for home in homes}
        self._own = own
        self._lock = threading.Lock()
        self._seen: dict[str, float] = {}  # once → when it is too old anyway; in order of arrival

    def caller_of(
        self, voucher: bytes, shown_by: str, call: str, body: bytes, now: float
    ) -> Caller:
        """Return who makes a call.

        Args:
            voucher: as it came.
            shown_by: mark of the certificate of who showed it.
            call: that is made.
            body: what it is told.
            now: Unix seconds by the clock of this desk.

        Raises:
            VoucherRefusedError: it counts for nothing, and why.
        """
        said = self._signed(voucher, shown_by)
        if said.desk != self._own:
            raise VoucherRefusedError("the word was given for another desk")
        if (said.call, said.told) != (call, _hash(body)):
            raise VoucherRefusedError("the word was given for another call")
        differs = said.at - now
        if abs(differs) > GOOD_S:
            ahead = "ahead" if differs > 0 else "behind"
            raise VoucherRefusedError(
                f"the clock of {said.name} is {abs(differs):.0f} s {ahead} of this machine's:"
                f" at most {GOOD_S:.0f} s are taken"
            )
        self._note(said.once, now)
        return _caller(said)

    def _signed(self, voucher: bytes, shown_by: str) -> Voucher:
        text, _, signature = voucher.partition(b".")
        try:
            octets = base64.b64decode(text, altchars=b"-_", validate=True)
            mark = base64.b64decode(signature, altchars=b"-_", validate=True)
            said = msgspec.json.decode(octets, type=Voucher)
        except (binascii.Error, ValueError, msgspec.DecodeError, RecursionError):
            raise VoucherRefusedError("that is no word of a desk") from None
        home = self._homes.get(said.home)
        if home is None or said.home != shown_by:
            raise VoucherRefusedError("the word of that desk does not count here")
        try:
            home.key.verify(mark, PURPOSE + octets)
        except InvalidSignature:
            raise VoucherRefusedError("the word is signed by another key") from None
        return said

    def _note(self, once: str, now: float) -> None:
        with self._lock:
            while self._seen and self._seen[first := next(iter(self._seen))] < now:
                del self._seen[first]
            if once in self._seen:
                raise VoucherRefusedError("the word was given once, and used")
            if len(self._seen) >= MOST_SEEN:
                raise VoucherRefusedError("too much at once, come again")
            self._seen[once] = now + 2 * GOOD_S


def _caller(said: Voucher) -> Caller:
    roles = {role.value: role for role in Role}
    rights = {right.value: right for right in Right}
    return Caller(
        name=said.person,
        roles=frozenset(roles[role] for role in said.roles if role in roles),
        rights=frozenset(rights[right] for right in said.rights if right in rights),
        scope=Scope(
            None if said.domains is None else frozenset(said.domains), frozenset(said.addresses)
        ),
        # of the others a page asks for the most; nobody is at this machine's terminal
        way=CallWay.KEY if said.way == CallWay.KEY else CallWay.PAGE,
        source=f"desk={said.name}",
        place=said.place,
        fresh=said.fresh,
    )


def _hash(body: bytes) -> str:
    return hashlib.blake2b(body, digest_size=32).hexdigest()
