"""The help of a command, in parts: a man page has examples in a place of their own."""

from __future__ import annotations

import inspect
import re
from typing import Final, NamedTuple

from oborona.cli.manual import roff

_AS_IT_IS: Final = "\b"  # click's mark of a paragraph that keeps its lines
_SENTENCE: Final = re.compile(r"[.;:](?=\s|$)")
SUMMARY: Final = 100  # signs of the line that `apropos` shows


class HelpText(NamedTuple):
    """A help as man pages have it, in roff."""

    summary: str  # plain text
    description: list[str]
    examples: list[str]

    @classmethod
    def of(cls, *texts: str | None) -> HelpText:
        """Return the parts of a help and what follows it, as a command has them."""
        whole = "\n\n".join(inspect.cleandoc(text) for text in texts if text)
        shown = whole.partition("\f")[0]  # what follows is no help, for click
        paragraphs = [part.strip("\n") for part in re.split(r"\n\s*\n", shown) if part.strip()]
        description: list[str] = []
        examples: list[str] = []
        for paragraph in paragraphs:
            if not paragraph.startswith(_AS_IT_IS):
                description += [".PP", roff.prose(paragraph)]
                continue
            kept = inspect.cleandoc(paragraph.removeprefix(_AS_IT_IS).strip("\n"))
            is_example = all(line.startswith("oborona") for line in kept.splitlines())
            (examples if is_example else description).extend(roff.literal(kept))
        return cls(_summary(paragraphs), description, examples)


def _summary(paragraphs: list[str]) -> str:
    first = " ".join(paragraphs[0].split()) if paragraphs else ""
    sentence = _SENTENCE.split(first, maxsplit=1)[0].replace("`", "")
    if len(sentence) > SUMMARY:
        sentence = sentence[:SUMMARY].rsplit(" ", 1)[0] + " ..."
    return sentence
