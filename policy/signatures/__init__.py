"""Signatures: phrases, patterns and entities that people have marked as spam or good mail, looked
for in every message.

`Signature` is one of them, `checked` says whether it can be used, `Book` holds all that are in
force and finds them in a message in one pass over its words, and `LiveSignatures` follows what
changes while mail is judged.
"""

from oborona.policy.signatures.book import Book
from oborona.policy.signatures.check import BrokenSignature, checked
from oborona.policy.signatures.live import LiveSignatures
from oborona.policy.signatures.matched import Finder, Matched, Signatures
from oborona.policy.signatures.model import Flag, Kind, Signature, Where

__all__ = [
    "Book",
    "BrokenSignature",
    "Finder",
    "Flag",
    "Kind",
    "LiveSignatures",
    "Matched",
    "Signature",
    "Signatures",
    "Where",
    "checked",
]
