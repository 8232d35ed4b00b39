"""A state folder whose journal holds scanned messages, and a policy folder, for tests of commands
that read them.
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import msgspec
from click.testing import CliRunner, Result

from oborona.cli import main
from oborona.counters.memory import MemoryCounters
from oborona.ident import JournalIdGenerator, to_text
from oborona.journal.journal import JournalWriter
from oborona.message.shingles import Hasher
from oborona.policy.evidence import NoInquiry
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.policy.scan import ScanSite, scan
from oborona.policy.signatures import SignatureBook
from oborona.session.journal_entry import entry_of
from oborona.session.policy_log import PolicyLog
from oborona.stores.final_model import FollowedFinalModel
from oborona.types import Client, Envelope
from tests.policy.models.final.made import leave_to_rules

LINES = "[verdict]\nspam_score = 100\nreject_score = 200\n"
LINKS = '[[rule]]\nname = "LINKS"\nwhen = "links > 1"\nscore = 60\n'
WORDS = (
    '[[rule]]\nname = "WORDS"\nwhen = "contains(text, \'lottery\')"\nscore = 50\nsay = '
    '"it is a lottery"\n'
)
ENVELOPE = Envelope(
    client=Client(ip="198.51.100.7"),
    helo="x\x1b[2J",
    sender="ann@a.example",
    recipients=("bob@b.example",),
)


def letter(number: int, text: str, subject: str = "lunch") -> bytes:
    return (
        f"From: Ann <ann@a.example>\r\nTo: bob@b.example\r\nSubject: {subject}\r\nMessage-ID: "
        f"<{number}@a.example>\r\n"
        f"Date: Fri, 20 Nov 2026 10:00:00 +0000\r\n\r\n{text}\r\n"
    ).encode()


LUNCH = letter(1, "At noon? Bring your own spoon, and somebody's else, too, please.")
LOTTERY = letter(
    2,
    "You won the lottery: https://one.example/ or https://two.example/ at once",
    "=?utf-8?q?you=1B[31m_won?=",
)


def policy(folder: Path, *pieces: str) -> Path:
    """Write a policy folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "10.toml").write_text(LINES + "\n".join(pieces))
    return folder


def journal(
    state: Path,
    folder: Path,
    messages: list[bytes],
    ago_s: float = 600,
    key: bytes = b"k" * 32,
    *,
    models: bool = False,
) -> list[str]:
    """Judge messages by a policy's rules, alone or with the model that ships, and journal them;
    return their ids.
    """

    async def fill() -> list[str]:
        current, numbers, idents = load_policy(folder, SCHEMA), JournalIdGenerator(), []
        site = ScanSite(
            name="mx.b.example",
            hasher=Hasher(key),
            counters=MemoryCounters(),
            signatures=SignatureBook.of(current.signatures.values()),
        )
        state.mkdir(parents=True, exist_ok=True)
        if models:
            final = FollowedFinalModel.of_site(state, SCHEMA)
            final.look()
            site = msgspec.structs.replace(site, final=final)
        else:
            leave_to_rules(state)
        async with await JournalWriter.open(state / "journal.db") as written:
            ruled = PolicyLog(written)
            for raw in messages:
                now = time.time() - ago_s
                result = await scan(raw, ENVELOPE, site, current, NoInquiry(), now=now)
                ident = numbers.next(now)
                ruled.note(current)
                written.append(
                    entry_of(ident, now, current, ENVELOPE, len(raw), result.verdict, result)
                )
                idents.append(to_text(ident))
        return idents

    return asyncio.run(fill())


def run(state: Path, folder: Path, *arguments: str, status: int = 0) -> Result:
    """Run a command; its exit status is as given."""
    result = CliRunner().invoke(
        main,
        [
            "--state",
            os.fspath(state),
            "--set",
            f"paths.policy={folder}",
            "--set",
            "paths.shipped_policy=none",
            *arguments,
        ],
    )
    assert result.exit_code == status, (result.output, result.exception)
    return result
