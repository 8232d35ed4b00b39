"""Sessions of `exim -bh` with the daemon, as text: what a client says and hears.

tests/golden/dialogs/NN-slug.txt begins with lines of `name: value`, `client` and any of the names
of etc/exim, then an empty line, then the dialog: what the client says as it is said, what it hears
with `< ` before it. References, ids and dates are written REFERENCE, ID and DATE. After a change
that is meant

    WRITE_DIALOGS=1 pytest tests/exim/test_exim_dialogs.py

writes what is heard now into the files, to be looked at with git diff; a new one needs what is said
alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.exim.site import Site
from tests.peers.dns import Zones
from tests.peers.exim import available

pytestmark = pytest.mark.skipif(not available(), reason="needs Exim and root")

DIALOGS: Final = sorted((Path(__file__).parents[1] / "golden" / "dialogs").glob("*.txt"))
POLICY: Final = """
[verdict]
clients_at = "connect"
[[local_list]]
name = "OUT"
action = "deny"
of = ["client", "sender"]
entries = ["192.0.2.66", "2001:db8::/64", "listed@bad.example"]
[[rule]]
name = "NOBODY"
when = "recipient == 'ann@example.test' and sender == 'spammer@bad.example'"
score = 300
[greylist]
enabled = true
score = 60
[[rule]]
name = "GREYISH"
when = "contains(subject, 'dinner')"
score = 65
"""
_CHANGING: Final = (
    (re.compile(r"reference [0-9A-Z]{13}"), "reference REFERENCE"),
    (re.compile(r"id=[0-9A-Za-z]{6}-[0-9A-Za-z]{6}-[0-9A-Za-z]{2}"), "id=ID"),
    (re.compile(r"Exim 4\.\S+ \w{3}, .*"), "Exim VERSION DATE"),
)


class Dialog(NamedTuple):
    """One file."""

    head: str  # with the empty line
    client: str
    names: dict[str, str]
    said: list[str]
    text: str  # of what is said and heard


def read(path: Path) -> Dialog:
    head, _, text = path.read_text().partition("\n\n")
    given = dict(line.split(": ", 1) for line in head.splitlines())
    said = [line for line in text.splitlines() if not line.startswith("< ")]
    return Dialog(f"{head}\n\n", given.pop("client"), given, said, text)


def _plain(heard: str) -> str:
    for pattern, word in _CHANGING:
        heard = pattern.sub(word, heard)
    return heard


def written(said: list[str], heard: str) -> str:
    """Return a dialog as its file has it: each reply behind what it replies to.

    A message's lines are replied to at its end.
    """
    replies: list[str] = []
    for one in _plain(heard).splitlines():
        if replies and replies[-1].splitlines()[-1][3] == "-":
            replies[-1] += f"\n{one}"
        else:
            replies.append(one)
    waiting, lines, message, line = iter(replies), list[str](), False, ""

    def reply() -> str:
        found = next(waiting, "")
        said_what = found.splitlines()[-1:] if line.startswith("EHLO") else found.splitlines()
        lines.extend(f"< {one}" for one in said_what)
        return found

    reply()  # the greeting
    for line in said:
        lines.append(line)
        if message and line != ".":
            continue
        message = reply().startswith("354")
        if line.startswith("EHLO"):  # what this Exim can do besides is nobody's business here
            lines[-1:] = ["< 250 EXTENSIONS"] if lines[-1].startswith("< 250 ") else lines[-1:]
    assert next(waiting, None) is None, "more was heard than asked for"
    return "".join(f"{line}\n" for line in lines)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Zones() as dns, Site(dns.setting, POLICY) as running:
        yield running


@pytest.mark.parametrize("path", DIALOGS, ids=lambda path: path.stem)
def test_what_is_said_and_heard(path: Path, site: Site) -> None:
    dialog = read(path)
    names = {name: value.replace("SITE", str(site.folder)) for name, value in dialog.names.items()}
    exim = site.exim("whole", names)
    try:
        exim.write()
        heard = exim.host_test(dialog.client, "".join(f"{line}\n" for line in dialog.said))
    finally:
        exim.__exit__(None, None, None)
    text = written(dialog.said, heard)
    if "WRITE_DIALOGS" in os.environ:
        path.write_text(dialog.head + text)
        return
    assert text == dialog.text
