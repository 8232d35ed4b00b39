"""Signatures: phrases, patterns and entities that people have marked as spam or good mail, looked
for in every message.

`Signature` is one of them, `check_signature` says whether it can be used, `SignatureBook` holds all
that are in force and finds them in a message in one pass over its words, and `LiveSignatures`
follows what changes while mail is judged.
"""

from oborona.policy.signatures.book import SignatureBook
from oborona.policy.signatures.check import BrokenSignature, check_signature
from oborona.policy.signatures.finder import SignatureFinder, SignatureMatches, Signatures
from oborona.policy.signatures.live_signatures import LiveSignatures
from oborona.policy.signatures.model import Signature, SignatureFlag, SignatureKind, SignatureScope

__all__ = [
    "BrokenSignature",
    "LiveSignatures",
    "Signature",
    "SignatureBook",
    "SignatureFinder",
    "SignatureFlag",
    "SignatureKind",
    "SignatureMatches",
    "SignatureScope",
    "Signatures",
    "check_signature",
]
