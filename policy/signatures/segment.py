"""Some signatures, made ready to be looked for all at once: words by an Aho-Corasick automaton,
patterns behind a filter of the letters that each must hold, entities by their normal form.

The automaton (ahocorasick_rs) costs 15 µs a message for 4,000 phrases and 50 µs for 50,000; making
it holds Python's lock for 9 ms and 400 ms.  So many signatures that come while mail is judged are
made into several segments (`oborona.policy.signatures.book`), each in the time that a message
takes.  The filter (FilteredRE2) asks RE2 about the patterns alone whose letters are in the text:
one automaton of all patterns would grow a new state for each letter of a hostile text, and costs
milliseconds on an honest one, too.

Source: Aho, Corasick, "Efficient string matching", CACM 18(6), 1975; R. Cox, "Regular Expression
Matching with a Trigram Index", 2012.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import ahocorasick_rs
import re2

from oborona.policy.signatures.check import (
    BrokenSignature,
    Entity,
    compile_signature,
    entity,
    options,
    pattern_text,
    phrase,
)
from oborona.policy.signatures.fields import FieldBorders, SearchFields, stands
from oborona.policy.signatures.model import Signature, SignatureKind, SignatureScope

PATTERN_WEIGHT: Final = 16  # phrases that take as long to make ready as one pattern


class SignatureSegment:
    """Signatures that are looked for together.

    Args:
        signatures: of ones with the same words or entity all are found; those that `check` would
            refuse are left out.

    Attributes:
        broken: those left out, by id, and why.
    """

    __slots__ = (
        "_automaton",
        "_entities",
        "_filters",
        "_phrases",
        "broken",
        "headers",
        "signatures",
    )

    def __init__(self, signatures: Sequence[Signature]) -> None:
        self.signatures = tuple(signatures)
        self.headers = False  # some look at all header fields
        self._phrases: list[Signature] = []
        self._entities: dict[Entity, tuple[Signature, ...]] = {}
        texts: list[bytes] = []
        patterns: dict[SignatureScope, list[Signature]] = {}
        self.broken: dict[str, str] = {}
        for signature in self.signatures:
            try:
                if signature.kind is SignatureKind.PHRASE:
                    texts.append(phrase(signature))
                    self._phrases.append(signature)
                elif signature.kind is SignatureKind.PATTERN:
                    compile_signature(signature)
                    patterns.setdefault(signature.where, []).append(signature)
                else:
                    key = entity(signature)
                    self._entities[key] = (*self._entities.get(key, ()), signature)
            except BrokenSignature as fault:
                self.broken[signature.id] = str(fault)
                continue
            self.headers |= signature.where is SignatureScope.HEADER and signature.kind in (
                SignatureKind.PHRASE,
                SignatureKind.PATTERN,
            )
        self._automaton = ahocorasick_rs.BytesAhoCorasick(texts) if texts else None
        self._filters = [(where, _Filter(some)) for where, some in patterns.items()]

    @property
    def has_phrases(self) -> bool:
        """There are phrases among them."""
        return self._automaton is not None

    @property
    def has_entities(self) -> bool:
        """There are entities among them."""
        return bool(self._entities)

    def in_words(self, text: bytes, borders: FieldBorders) -> Iterator[Signature]:
        """Yield the phrases that stand in words where they are wanted; some more than once."""
        if self._automaton is None:
            return
        for index, start, _end in self._automaton.find_matches_as_indexes(text, overlapping=True):
            signature = self._phrases[index]
            if stands(signature.where, borders.field(start)):
                yield signature

    def in_patterns(self, fields: SearchFields) -> Iterator[Signature]:
        """Yield the patterns that match."""
        for where, signature in self._filters:
            yield from signature.matching(fields.searched(where))

    def of_entities(self, entities: Sequence[tuple[Entity, bool]]) -> Iterator[Signature]:
        """Yield those that look for one of some entities; some more than once."""
        for key, header in entities:
            for signature in self._entities.get(key, ()):
                if (
                    signature.where is SignatureScope.ANY
                    or (signature.where is SignatureScope.HEADER) == header
                ):
                    yield signature


class _Filter:
    """Patterns of one field."""

    __slots__ = ("_filter", "_signatures")

    def __init__(self, signatures: list[Signature]) -> None:
        self._signatures = signatures
        self._filter: Any = re2.Filter()
        settings = options()
        for signature in signatures:
            self._filter.Add(pattern_text(signature), settings)
        self._filter.Compile()

    def matching(self, normal: str) -> Iterator[Signature]:
        text = normal if normal.isascii() else normal.encode("utf-8", "replace")
        for index in self._filter.Match(text) or ():
            yield self._signatures[index]
