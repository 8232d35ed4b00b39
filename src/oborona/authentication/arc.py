"""ARC: what the chain of seals on a message is worth.

RFC 8617 section 5.2, all steps but the optional oldest-pass.

    1  collect the sets; more than 50 fail; none at all is `none`
    2  the newest seal says cv=fail: fail
    3  each set has one of each field, instances run from 1 to N, cv= is none in the first and pass
       in the others
    4  the newest ARC-Message-Signature holds; of older ones only the instance is read, the message
       may have changed since
    5  each seal holds, from N down to 1, over all sets up to its own (s5.1.1)

Anything else fails, in whatever way; a key that could not be asked for makes `temperror`, unless
something fails anyway. A message whose end is not here is `none`, with why.

A chain that passed says who handled the message, not that they tell the truth: the word of a sealer
counts if the admin trusts it, and all who sealed after it. A trusted domain stands for the names
below it too: large services seal with them.

Where arc_test_suite, which is of the time of the drafts, says other than the RFCs, these hold. So a
missing c= of an ARC-Message-Signature is DKIM's simple/simple (RFC 8617 s4.1.2), not
relaxed/relaxed (ams_fields_c_na), and one that signs nothing, From included (ams_fields_h_empty),
fails, as DKIM forbids it (RFC 6376 s5.4).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container
from typing import Final

from oborona.authentication.canonical import Canonicalization
from oborona.authentication.header import dmarc_of
from oborona.authentication.keys import key_name
from oborona.authentication.model import Arc, AuthResult
from oborona.authentication.signature import (
    MAX_INSTANCE,
    SignatureClaim,
    SignatureField,
    instance_number,
)
from oborona.authentication.signature_check import (
    check_message,
    check_seal,
    unsigned_field,
    without_key,
)
from oborona.authentication.signed_message import SignedMessage
from oborona.dns import DnsAsker

# keys asked for at once; honest chains have one to four sets, and who sends fifty gets no fifty
# questions for one
AHEAD: Final = 10

_RESULTS: Final = b"arc-authentication-results"
_MESSAGE: Final = SignatureField.MESSAGE.encode()
_SEAL: Final = SignatureField.SEAL.encode()
_FIELDS: Final = (_RESULTS, _MESSAGE, _SEAL)  # in the order they are sealed in, RFC 8617 s5.1.1
_INSTANCE: Final = re.compile(
    rb"[^:]*:[ \t\r\n]*i[ \t\r\n]*=[ \t\r\n]*([0-9]{1,2})[ \t\r\n]*;(.*)", re.DOTALL
)

Sets = list[dict[bytes, int]]
"""ARC sets from the first to the newest: name of the field to its place in the letter."""


def is_sealed(letter: SignedMessage) -> bool:
    """Tell whether a message has a field of a chain.

    Most have none, and `verify_arc` has nothing to say of them.
    """
    return any(name in letter.places for name in _FIELDS)


def arc_questions(letter: SignedMessage, *, now: float) -> tuple[str, ...]:
    """Return the names of the first key records (TXT) that `verify_arc` will ask for, so that they
    can be asked for at once.

    Arguments as there. Names beyond `AHEAD` are left to `verify_arc`, which stops at the first set
    that fails.
    """
    sets, why = _collect(letter)
    if why or not sets or not letter.whole:
        return ()
    newest, seals = letter.claim(sets[-1][_MESSAGE], SignatureField.MESSAGE), _seals(letter, sets)
    if (
        any(seal.problem for seal in seals)
        or _chain_failed(seals)
        or without_key(letter, newest, now=now)
    ):
        return ()
    claims = (newest, *reversed(seals))
    return tuple(dict.fromkeys(key_name(claim.selector, claim.domain) for claim in claims))[:AHEAD]


async def verify_arc(
    letter: SignedMessage, asker: DnsAsker, *, now: float, trusted: Container[str]
) -> Arc:
    """Return what the chain of a message is worth; never raises.

    Args:
        letter: the message.
        asker: for the keys.
        now: Unix time.
        trusted: domains of sealers whose word is taken, lower case; each with all names below it.
    """
    sets, why = _collect(letter)
    if why:
        return Arc(result=AuthResult.FAIL, instances=len(sets), why=why)
    if not sets:
        return Arc()
    if not letter.whole:
        return Arc(instances=len(sets), why="message too large to check")
    seals = _seals(letter, sets)
    result, why = await _validated(letter, sets, seals, asker, now)
    if result is not AuthResult.PASS:
        return Arc(result=result, instances=len(sets), why=why)
    sealers = tuple(seal.domain for seal in seals)
    oldest = len(sealers)
    while oldest and _is_trusted(sealers[oldest - 1], trusted):
        oldest -= 1
    if oldest == len(sealers):
        return Arc(result=result, instances=len(sets), sealers=sealers)
    reported = dmarc_of(letter.fields[sets[oldest][_RESULTS]].partition(b":")[2])
    return Arc(
        result=result,
        instances=len(sets),
        sealers=sealers,
        trusted=sealers[oldest],
        dmarc=reported.result,
        dmarc_domain=reported.domain,
    )


def _collect(letter: SignedMessage) -> tuple[Sets, str]:
    """Return the sets, and what is wrong with their structure.

    RFC 8617 s5.2, steps 1 and 3 (A), (B).
    """
    sets: dict[int, dict[bytes, int]] = {}
    if sum(len(letter.places.get(name, ())) for name in _FIELDS) > MAX_INSTANCE * len(_FIELDS):
        return [], f"more than {MAX_INSTANCE} sets"
    for name in _FIELDS:
        for place in letter.places.get(name, ()):
            instance = _instance(letter, place, name)
            if not instance:
                return [], f"{name.decode()} without instance"
            if name in sets.setdefault(instance, {}):
                return [], f"{name.decode()} twice in set {instance}"
            sets[instance][name] = place
    for instance in range(1, len(sets) + 1):
        missing = [name.decode() for name in _FIELDS if name not in sets.get(instance, ())]
        if missing:
            return [], f"no {missing[0]} in set {instance}"
    return [sets[instance] for instance in sorted(sets)], ""


def _instance(letter: SignedMessage, place: int, name: bytes) -> int:
    if name != _RESULTS:
        return letter.claim(place, SignatureField(name.decode())).instance
    match = _INSTANCE.match(letter.fields[place])
    return instance_number(match[1]) if match else 0


def _seals(letter: SignedMessage, sets: Sets) -> list[SignatureClaim]:
    return [letter.claim(header_set[_SEAL], SignatureField.SEAL) for header_set in sets]


def _chain_failed(seals: list[SignatureClaim]) -> str:
    """Return what is wrong with cv=; RFC 8617 s5.2, steps 2 and 3 (C)."""
    for instance, seal in enumerate(seals, 1):
        if seal.chain != ("none" if instance == 1 else "pass"):
            return f"cv={seal.chain} in set {instance}"
    return ""


async def _validated(
    letter: SignedMessage, sets: Sets, seals: list[SignatureClaim], asker: DnsAsker, now: float
) -> tuple[AuthResult, str]:
    """Return pass, fail or temperror, and why; RFC 8617 s5.2, steps 2 to 6."""
    for instance, seal in enumerate(seals, 1):
        if seal.problem is not None:
            return AuthResult.FAIL, f"seal {instance}: {seal.why}"
    wrong = _chain_failed(seals)
    if wrong:
        return AuthResult.FAIL, wrong
    newest = sets[-1][_MESSAGE]
    claim = letter.claim(newest, SignatureField.MESSAGE)
    checked = await check_message(letter, newest, claim, asker, now=now)
    unknown = ""
    if checked.result is AuthResult.TEMPERROR:
        unknown = f"message signature {len(sets)}: {checked.why}"
    elif checked.result is not AuthResult.PASS:
        return AuthResult.FAIL, f"message signature {len(sets)}: {checked.why}"
    digests = _sealed(letter, sets)
    for instance in range(len(sets), 0, -1):
        checked = await check_seal(seals[instance - 1], digests[instance - 1], asker)
        if checked.result is AuthResult.TEMPERROR:
            unknown = unknown or f"seal {instance}: {checked.why}"
        elif checked.result is not AuthResult.PASS:
            return AuthResult.FAIL, f"seal {instance}: {checked.why}"
    return (AuthResult.TEMPERROR, unknown) if unknown else (AuthResult.PASS, "")


def _sealed(letter: SignedMessage, sets: Sets) -> list[bytes]:
    """Return the SHA-256 that each seal was made over: all sets before, then its own without its
    signature; RFC 8617 s5.1.1.

    What came before is hashed once for all, or fifty sets of large fields would be hashed fifty
    times.
    """
    digests = []
    before = hashlib.sha256()
    for header_set in sets:
        before.update(letter.canonical(header_set[_RESULTS], Canonicalization.RELAXED))
        before.update(letter.canonical(header_set[_MESSAGE], Canonicalization.RELAXED))
        own = before.copy()
        own.update(unsigned_field(letter.fields[header_set[_SEAL]], Canonicalization.RELAXED))
        digests.append(own.digest())
        before.update(letter.canonical(header_set[_SEAL], Canonicalization.RELAXED))
    return digests


def _is_trusted(domain: str, trusted: Container[str]) -> bool:
    labels = domain.split(".")
    return any(".".join(labels[first:]) in trusted for first in range(len(labels) - 1))
