"""Sentences that stand under everybody's letters: what telephones, virus scanners, companies, lists
and calendars add, absence, returned mail.

    phrases (boilerplate.tsv: two of a hundred make a line of a footer; a person or a company's
    lawyer writes none of them to say something)
    line       a phrase at the start of a line takes it, to the sentence's end
    sentence   a phrase anywhere takes its sentence

What is cut counts for nobody's text. A text that holds nothing else has no shingle of its text at
all (`bare`), nor has a signature alone: else they would be the mass mail of a day.

Not everything that a phrase stands in goes: a sentence is cut to `REACH` octets on each side, and
where more than `MAX_CUT` would go in all, or the text is longer than `MAX_OCTETS`, nothing does. A
text made of phrases throughout is a text. Limits: a phrase in disguise is no boilerplate; footers
that no phrase marks stay, as do the receipts of large shops, which rules tell by sender and
network.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Final

import re2

from oborona.message import word_count
from oborona.message.model import Message

REACH: Final = 500  # octets of a sentence before and behind a phrase: lawyers reach 400
MAX_CUT: Final = 4000  # octets of all sentences: a disclaimer in two languages has 3,000
MAX_OCTETS: Final = (
    64 << 10
)  # of a text that is looked at; where footers are a larger part of it than a tenth
# below: "Hello, see attachment"; what stands beside boilerplate and says no more is bare
FEW_WORDS: Final = 5
SIGNATURE_WORDS: Final = 30  # of a signature alone: name, company, address, telephone
_WIDTHS: Final = range(45, 121)  # characters of a line that the next one may go on from


def _phrases(how: str) -> str:
    rows = files("oborona.message").joinpath("boilerplate.tsv").read_text("utf-8").splitlines()[1:]
    fields = [row.split("\t") for row in rows]
    return "|".join(phrase.replace(" ", r"\s+") for kind, _, phrase, _ in fields if kind == how)


_OPTIONS: Final = re2.Options()
_OPTIONS.case_sensitive = False
_OPTIONS.max_mem = 32 << 20  # its automaton is built as texts need it
_PHRASE: Final = re2.compile(
    f"(?m)(?:^[ \\t>*]{{0,4}}(?:{_phrases('line')})|({_phrases('sentence')}))", _OPTIONS
)
_END: Final = re.compile(rb"[.!?][\"')\]]{0,2}(?=\s|\Z)|\n\s*\n")
_SIGNATURE: Final = re.compile(r"\s*-- ?\n")
_LINK: Final = re.compile(r"://|www\.", re.IGNORECASE)


def cut(text: str) -> str:
    """Return a text without boilerplate; the text itself when there is none, or too much.

    Args:
        text: what a sender wrote himself, lines kept, not normalised.
    """
    octets = text.encode("utf-8", "surrogatepass")
    if len(octets) > MAX_OCTETS or _PHRASE.search(octets) is None:
        return text
    lines: list[bytes] = []
    position = total = 0
    for match in _PHRASE.finditer(octets):
        if match.end() <= position:
            continue
        start = (
            match.start()
            if match[1] is None
            else _start(octets, max(position, match.start() - REACH), match.start())
        )
        end = _end(octets, match.end())
        lines.append(octets[position : max(start, position)])
        total += end - max(start, position)
        position = end
        if total > MAX_CUT:
            return text
    lines.append(octets[position:])
    return b"\n".join(lines).decode("utf-8", "surrogatepass").strip()


def bare(message: Message) -> bool:
    """Tell whether a message's text is boilerplate or a signature, and no more than a few words
    beside.
    """
    text = message.text
    if message.own_text is text:  # nothing was cut, so that at most a signature is left
        words = len(text.split(None, SIGNATURE_WORDS + 2)) - 1
        return (
            _SIGNATURE.match(text) is not None
            and words <= SIGNATURE_WORDS
            and _LINK.search(text) is None
        )
    return _few(message.own_text) and _few(cut(text))


def _few(text: str) -> bool:
    return len(text.split(None, FEW_WORDS)) < FEW_WORDS and word_count.count(text) < FEW_WORDS


def _start(octets: bytes, least: int, phrase: int) -> int:
    """Return where the sentence begins that a phrase stands in, not before `least`."""
    start = _character(octets, least)
    for end in _END.finditer(octets, start, phrase):
        start = end.end()
    line = octets.rfind(b"\n", start, phrase)
    while line >= 0:
        if _ends(octets, line):
            return line
        line = octets.rfind(b"\n", start, line)
    return start


def _end(octets: bytes, phrase: int) -> int:
    """Return where the sentence ends that a phrase ends in."""
    most = _character(octets, min(len(octets), phrase + REACH))
    match = _END.search(octets, phrase, most)
    end = match.end() if match else most
    line = octets.find(b"\n", phrase, end)
    while line >= 0:
        if _ends(octets, line):
            return line
        line = octets.find(b"\n", line + 1, end)
    return end


def _character(octets: bytes, place: int) -> int:
    """Return `place`, or where the character ends that it is inside of."""
    while place < len(octets) and octets[place] & 0xC0 == 0x80:
        place += 1
    return place


def _ends(octets: bytes, line: int) -> bool:
    """Return whether what is said in a line ends with it: it is not as wide as a line that goes on
    in the next.
    """
    begun = octets.rfind(b"\n", max(0, line - 4 * _WIDTHS.stop), line) + 1
    return len(octets[begun:line].decode("utf-8", "replace")) not in _WIDTHS
