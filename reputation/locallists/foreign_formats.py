"""Lists in the forms that others write them, as entries of ours; pure.

    lines     ours: one entry a line, # before a comment
    hosts     0.0.0.0 bad.example other.example        as for /etc/hosts; names that every such file
              holds (localhost) are left out
    rspamd    192.0.2.0/24 5.0                         a map of rspamd (and of Postfix: hash, cidr):
              a key and perhaps a value, which is
              bad.example bad                          left out; *.bad.example is .bad.example; a
                                                       regular expression can't be taken

What can't be used is told with its line, and nothing of it is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from oborona.reputation.locallists.edit import normal_entry

LOOKED_AT: Final = 200  # lines by which the form is told
_NULL: Final = re.compile(
    r"(?:0\.0\.0\.0|127\.\d+\.\d+\.\d+|::1?|fe80::1(?:%\S+)?|255\.255\.255\.255)\s+\S"
)
_LOCAL: Final = frozenset(
    {"localhost", "localhost.localdomain", "local", "broadcasthost", "ip6-localhost", "ip6-loopback", "ip6-localnet", "ip6-mcastprefix", "ip6-allnodes", "ip6-allrouters", "ip6-allhosts", "0.0.0.0"}
)  # fmt: skip


class ForeignFormat(StrEnum):
    """How a file is written."""

    LINES = "lines"
    HOSTS = "hosts"
    RSPAMD = "rspamd"


class ForeignLine(NamedTuple):
    """One line of a file: an entry, or what is wrong."""

    line: int  # 1-based
    entry: str = ""
    problem: str = ""
    written: str = ""  # what became the entry


def form_of(text: str) -> ForeignFormat:
    """Return the form that a file looks to be in."""
    some = [one for line in text.splitlines()[:LOOKED_AT] if (one := _bare(line))]
    if some and sum(_NULL.match(line) is not None for line in some) * 2 > len(some):
        return ForeignFormat.HOSTS
    if any(len(line.split()) > 1 or line.startswith(("*.", "/")) for line in some):
        return ForeignFormat.RSPAMD
    return ForeignFormat.LINES


def foreign_lines(text: str, form: ForeignFormat) -> Iterator[ForeignLine]:
    """Yield the entries of a file, and what is wrong with lines that are none."""
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        bare = _bare(line)
        if not bare:
            continue
        for written, key in _keys(bare, form):
            try:
                normal = normal_entry(key)
            except ValueError as fault:
                yield ForeignLine(number, problem=f'"{_shown(key)}" {fault}')
            else:
                if normal:
                    yield ForeignLine(number, normal, written=written)


def _keys(bare: str, form: ForeignFormat) -> list[tuple[str, str]]:
    """Return what stands in a line, each as it is written and without its quotes and star."""
    words = bare.split()
    match form:
        case ForeignFormat.HOSTS if len(words) > 1:
            return [(word, word) for word in words[1:] if word.lower() not in _LOCAL]
        case ForeignFormat.RSPAMD:
            key = words[0].strip('"').removesuffix(",")
            return [(words[0], key[1:] if key.startswith("*.") else key)]
        case _:
            return [(bare, bare)]


def _bare(line: str) -> str:
    """Return a line without its comment: behind # or, at its beginning, ; and //."""
    if line.lstrip().startswith((";", "//")):
        return ""
    return re.sub(r"(?:\A|\s)#.*", "", line, count=1).strip()


def _shown(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text[:60])
