"""What the shipped policy catches and loses of mail of several sources, each for itself.

    python benchmarks/sources.py --mail DIR [--corpus DIR] [--missed FILE] > sources.json

DIR/index.tsv has a line for each message: path, label (`spam` or `ham`), source, client_ip, helo,
rdns, mail_from, date.  Each message is judged as the mail server had it, by a site that has never
seen a message: no counts, no learning, no DNS, pictures not read.  `--corpus` adds folders of ham
and spam as a source of their own, whose clients are not known.

A source's figures stand beside the others and are never added to theirs: sources differ in what was
collected, and rules that were written beside one of them say nothing of the next.  One line of JSON
on standard output, a table on standard error; `--missed` writes what was missed and lost, with
scores and rules.  `--rules-alone` asks no model.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from email.message import Message
from email.parser import BytesHeaderParser
from email.utils import parseaddr
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from benchmarks.labelled import read  # noqa: E402
from benchmarks.new_site import (  # noqa: E402
    READER,
    STRANGER,
    envelope_of_stranger,
    new_site,
    shipped_final,
)
from benchmarks.rule_fit import interval  # noqa: E402
from oborona.policy.evidence import NoInquiry  # noqa: E402
from oborona.policy.fact_table import SCHEMA  # noqa: E402
from oborona.policy.load import Policy, load_policy  # noqa: E402
from oborona.policy.models.ports import FinalModel  # noqa: E402
from oborona.policy.scan import Scan, scan  # noqa: E402
from oborona.policy.signatures import LiveSignatures  # noqa: E402
from oborona.types import Client, Envelope, RuleMode  # noqa: E402

NOW: Final = 1_780_000_000.0  # of a site that has never seen a message no time says anything
CORPUS: Final = "corpus"
COLUMNS: Final = ("path", "label", "source", "client_ip", "helo", "rdns", "mail_from")


class SourcedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a source, as a mail server had it."""

    source: str
    path: str
    spam: bool
    raw: bytes
    envelope: Envelope


class JudgedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What was said of it."""

    source: str
    path: str
    spam: bool
    score: float
    filed: bool  # its score reached the spam threshold
    rules: tuple[str, ...]  # heaviest first


def main() -> None:
    """Judge all messages, and print each source's shares."""
    parser = mail_options(__doc__ or "")
    parser.add_argument("--missed", type=Path, help="what was missed and lost, a line each")
    parser.add_argument(
        "--rules-alone", action="store_true", help="without the model that comes with Oborona"
    )
    options = parser.parse_args()
    if options.mail is None and options.corpus is None:
        parser.error("name mail by --mail, --corpus or both")
    final = None if options.rules_alone else shipped_final()
    judged = asyncio.run(judge(load_policy(options.policy, SCHEMA), messages(options), final))
    rows = figures(judged)
    Console(stderr=True).print(_table(rows))
    if options.missed is not None:
        options.missed.write_text("".join(map(_line, wrong(judged))))
    print(json.dumps({"benchmark": "sources", "messages": len(judged), "rows": rows}))


def mail_options(about: str) -> argparse.ArgumentParser:
    """Return a parser of the options that name mail and policy.

    Args:
        about: text of the program, whose first line says what it does.
    """
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    parser.add_argument("--mail", type=Path, help="folder with index.tsv")
    parser.add_argument(
        "--corpus", type=Path, help="folders of ham and spam, a source of their own"
    )
    parser.add_argument("--policy", type=Path, default=ROOT / "etc/policy.d")
    return parser


def messages(options: argparse.Namespace) -> Iterator[SourcedMessage]:
    """Yield the messages that are named by the options."""
    if options.mail is not None:
        yield from indexed(options.mail)
    if options.corpus is not None:
        for labelled in read(options.corpus, clean=True):
            yield SourcedMessage(
                source=CORPUS,
                path=labelled.path,
                spam=labelled.spam,
                raw=labelled.raw,
                envelope=envelope_of_stranger(),
            )


def indexed(folder: Path) -> Iterator[SourcedMessage]:
    """Yield the messages of an index.

    Raises:
        ValueError: the index lacks a column, or a label is neither `spam` nor `ham`.
    """
    with (folder / "index.tsv").open(newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        if missing := set(COLUMNS) - set(rows.fieldnames or ()):
            raise ValueError(f"{file.name} lacks {', '.join(sorted(missing))}")
        for row in rows:
            if row["label"] not in ("spam", "ham"):
                raise ValueError(f"{file.name}, line {rows.line_num}: label {row['label']!r}")
            raw = (folder / row["path"]).read_bytes()
            yield SourcedMessage(
                source=row["source"],
                path=row["path"],
                spam=row["label"] == "spam",
                raw=raw,
                envelope=Envelope(
                    client=Client(ip=row["client_ip"] or STRANGER.ip, name=row["rdns"]),
                    helo=row["helo"],
                    sender=row["mail_from"],
                    recipients=(_recipient(raw),),
                ),
            )


def head_of(raw: bytes) -> Message:
    """Return the header fields of a message."""
    return BytesHeaderParser().parsebytes(raw)


def _recipient(raw: bytes) -> str:
    address = parseaddr(str(head_of(raw).get("To", "")))[1]
    return address if "@" in address else READER


async def scans(
    rules: Policy, mail: Iterator[SourcedMessage], final: FinalModel | None = None
) -> AsyncIterator[tuple[SourcedMessage, Scan]]:
    """Yield each message with its scan, as the first that a site ever sees.

    Args:
        rules: that judge.
        mail: to be judged.
        final: the final models of the site; None = the rules decide alone.
    """
    signatures = LiveSignatures(rules.signatures)
    for message in mail:
        site = new_site(signatures, final)
        yield (
            message,
            await scan(message.raw, message.envelope, site, rules, NoInquiry(), now=NOW),
        )


async def judge(
    rules: Policy, mail: Iterator[SourcedMessage], final: FinalModel | None = None
) -> list[JudgedMessage]:
    """Judge each message as the first that a site ever sees; arguments as of `scans`."""
    return [
        _judged(message, scanned, rules) async for message, scanned in scans(rules, mail, final)
    ]


def _judged(message: SourcedMessage, scanned: Scan, rules: Policy) -> JudgedMessage:
    return JudgedMessage(
        source=message.source,
        path=message.path,
        spam=message.spam,
        score=scanned.verdict.score,
        filed=scanned.verdict.score >= rules.verdict.spam_score,
        rules=tuple(
            hit.name for hit in scanned.verdict.rules if hit.score and hit.mode is RuleMode.LIVE
        ),
    )


def figures(judged: Sequence[JudgedMessage]) -> list[dict[str, Any]]:
    """Return each source's shares, in percent with their 95 % intervals, spam and ham apart."""
    rows = []
    for source in sorted({message.source for message in judged}):
        for spam in (True, False):
            kind = [m for m in judged if m.source == source and m.spam is spam]
            if not kind:
                continue
            filed = sum(message.filed for message in kind)
            low, high = interval(filed, len(kind))
            rows.append(
                {
                    "source": source,
                    "label": "spam" if spam else "ham",
                    "messages": len(kind),
                    "filed": filed,
                    "share": round(100 * filed / len(kind), 2),
                    "low": round(100 * low, 2),
                    "high": round(100 * high, 2),
                }
            )
    return rows


def wrong(judged: Sequence[JudgedMessage]) -> list[JudgedMessage]:
    """Return what was missed and lost, the worst of each source first."""
    return sorted(
        (message for message in judged if message.filed is not message.spam),
        key=lambda message: (message.source, message.spam, -message.score, message.path),
    )


def _line(message: JudgedMessage) -> str:
    what = "missed" if message.spam else "lost"
    return f"{what}\t{message.path}\t{message.score:g}\t{' '.join(message.rules)}\n"


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table(title="filed as spam, % [95 % interval]: of spam caught, of ham lost")
    for name in ("source", "label", "messages", "filed", "%", "interval"):
        table.add_column(name, justify="left" if name in ("source", "label") else "right")
    for row in rows:
        table.add_row(
            row["source"],
            row["label"],
            str(row["messages"]),
            str(row["filed"]),
            f"{row['share']:.2f}",
            f"{row['low']:.2f} to {row['high']:.2f}",
        )
    return table


if __name__ == "__main__":
    main()
