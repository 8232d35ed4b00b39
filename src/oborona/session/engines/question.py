"""The question put to an external engine, and what the clients of all engines share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol

from oborona.policy.engines import EngineOpinion
from oborona.types import Envelope

TOO_LARGE: Final = "too-large"  # why there is no opinion: it was asked about a part, or not at all
MAX_SYMBOLS: Final = 64  # that are kept of one answer
MAX_NAME: Final = 100  # characters of a symbol, an action, a virus
LARGEST: Final = 1e6  # of a score: what is more is as much


class EngineQuestion(NamedTuple):
    """One message."""

    raw: bytes  # with CRLF; the head where it was too large
    envelope: Envelope
    size: int  # bytes of the whole message

    @property
    def whole(self) -> bool:
        """Whether nothing of the message is missing."""
        return self.size <= len(self.raw)


class EngineClient(Protocol):
    """Speaks to one engine."""

    takes_heads: bool  # of messages that are too large for it

    async def ask(self, question: EngineQuestion) -> EngineOpinion:
        """Return what the engine says of a message; waits for as long as that takes.

        Raises:
            PeerError: its answer is no answer.
            OSError: it can't be reached, or hung up.
        """
        ...

    async def ping(self) -> None:
        """Return once it says that it is there.

        Raises:
            PeerError: what it says is something else.
            OSError: it can't be reached, or hung up.
        """
        ...

    async def close(self) -> None:
        """Let go of it."""
        ...


def clean_word(text: str) -> str:
    """Return a word of an engine's as it is kept: printable, and cut."""
    text = text[:MAX_NAME]
    return (
        text
        if text.isprintable()
        else "".join(character if character.isprintable() else "?" for character in text)
    )


def clean_words(words: Iterable[str]) -> tuple[str, ...]:
    """Return words of an engine's as they are kept: at most `MAX_SYMBOLS`, each once."""
    cleaned: dict[str, None] = {}
    for word in words:
        if len(cleaned) == MAX_SYMBOLS:
            break
        cleaned[clean_word(word)] = None
    return tuple(cleaned)


def clean_score(value: float) -> float:
    """Return a score as it is kept; one that is not a number counts nothing."""
    return max(-LARGEST, min(LARGEST, value)) if value == value else 0.0  # noqa: PLR0124 - that is what tells it
