"""`make demo`: mail through a private Postfix, Oborona and Dovecot, and what happened to it.

Everyday letters, the golden mails of this repository, a small campaign of near-duplicates and GTUBE
go in by SMTP; with --corpus real messages besides (`./setup test` fetches them), from the addresses
they really came from. Everything listens on loopback, lives in folders in /tmp, and is stopped and
removed at the end, also by Ctrl-C. Needs root, as Postfix and Dovecot do.
"""

from __future__ import annotations

import os
import signal
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from enum import StrEnum
from typing import Final

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from tests.everyday import everyday, golden
from tests.letters import Kind, Letter, campaign, corpus, gtube, mixed
from tests.peers.dovecot import Dovecot
from tests.peers.oborona import Oborona
from tests.peers.postfix import Postfix

SEED: Final = 20_240_607  # any; the same mail each time
DELIVERED_S: Final = 60.0  # for Postfix's queue to run empty after the last message


SAY_S: Final = 4.0  # between two words where there is no terminal


class Place(StrEnum):
    """Where a message ended."""

    INBOX = "inbox"
    JUNK = "junk"
    REFUSED = "refused"
    TEMPFAILED = "tempfailed"
    LOST = "lost"  # taken, and in no mailbox: must not happen


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What happened to one message."""

    letter: Letter
    reply: str  # the last to the client, "250 2.0.0 text"
    took_s: float


@click.command()
@click.option(
    "--everyday",
    "letters_made",
    default=180,
    show_default=True,
    help="Ordinary letters, made here.",
)
@click.option(
    "--corpus",
    "messages",
    default=0,
    show_default=True,
    help="Real messages besides, which `./setup test` fetches.",
)
@click.option(
    "--campaign", "variants", default=60, show_default=True, help="Near-duplicates among them."
)
@click.option("--seed", default=SEED, show_default=True, help="Which, and in what order.")
@click.option("--keep", is_flag=True, help="Leave everything running until Ctrl-C.")
def main(letters_made: int, messages: int, variants: int, seed: int, keep: bool) -> None:
    """Send mail through Postfix, Oborona and Dovecot, and show what happened to it."""
    console = Console()
    interrupt = Interrupt()
    if os.geteuid():
        raise click.ClickException(
            "Postfix and Dovecot must be started by root; try: sudo make demo"
        )
    real = corpus(messages, seed=seed) if messages else []
    made = [*everyday(letters_made, seed=seed), *golden(), *campaign(variants, seed=seed), gtube()]
    letters = list(mixed([*made, *real], seed=seed))
    with ExitStack() as stack:
        try:
            with doing("starting Dovecot, Oborona and Postfix", console):
                dovecot = stack.enter_context(Dovecot())
                oborona = stack.enter_context(
                    Oborona({"headers.reason": "full"}, shipped_model=True)
                )
                postfix = stack.enter_context(
                    Postfix(oborona.milter, virtual_transport=f"lmtp:unix:{dovecot.lmtp}")
                )
            outcomes = send(letters, postfix, console, interrupt)
            with doing("waiting for the last delivery", console):
                await_delivery(outcomes, dovecot)
            console.print(table(outcomes, dovecot))
            for line in (
                caught_after(outcomes, dovecot),
                *examples(outcomes, dovecot),
                *complaints(oborona),
            ):
                console.print(line)
            if keep:
                console.print(
                    f"\nSMTP 127.0.0.1:{postfix.port} (XCLIENT allowed)   IMAP "
                    f"127.0.0.1:{dovecot.imap_port}"
                    f" (any user, password secret)\nmilter {oborona.milter}   state "
                    f"{oborona.state}\n"
                    f"look closer: {' '.join(oborona.command('explain', 'ID'))}\nCtrl-C stops and "
                    f"removes all of it."
                )
                signal.pause()
        except KeyboardInterrupt:
            interrupt.ignore()  # a second Ctrl-C must not leave half of it running
            console.print("stopping")
            if not keep:
                sys.exit(130)


class Interrupt:
    """Ctrl-C or SIGTERM, kept back while an SMTP session is open: smtplib would say QUIT in the
    middle of it.
    """

    def __init__(self) -> None:
        self._came = False
        self._kept_back = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._take)

    @contextmanager
    def kept_back(self) -> Iterator[None]:
        """Raise KeyboardInterrupt at the end of this rather than in it."""
        self._kept_back = True
        try:
            yield
        finally:
            self._kept_back = False
        if self._came:
            raise KeyboardInterrupt

    def ignore(self) -> None:
        """Take no more."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)

    def _take(self, *_signal: object) -> None:
        self._came = True
        if not self._kept_back:
            raise KeyboardInterrupt


@contextmanager
def doing(what: str, console: Console) -> Iterator[None]:
    """Say what is being done: with a spinner in a terminal, in a line elsewhere."""
    if console.is_terminal:
        with console.status(what):
            yield
    else:
        console.print(what)
        yield


def send(
    letters: Sequence[Letter], postfix: Postfix, console: Console, interrupt: Interrupt
) -> list[Outcome]:
    """Send each message in a session of its own, one after the other."""
    columns = (TextColumn("sending"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    outcomes: list[Outcome] = []
    said = time.monotonic()
    with Progress(*columns, console=console, transient=True) as progress:
        for letter in progress.track(letters):
            started = time.perf_counter()
            with interrupt.kept_back():
                reply = postfix.send(
                    letter.wire,
                    sender=letter.sender,
                    recipients=[letter.recipient],
                    xclient={"ADDR": letter.client_ip, "NAME": "[UNAVAILABLE]"},
                    helo=letter.helo,
                )[-1]
            took_s = time.perf_counter() - started
            outcomes.append(Outcome(letter=letter, reply=reply, took_s=took_s))
            if not console.is_terminal and time.monotonic() - said > SAY_S:
                console.print(f"sent {len(outcomes)} of {len(letters)}")
                said = time.monotonic()
    return outcomes


def await_delivery(outcomes: Sequence[Outcome], dovecot: Dovecot) -> None:
    """Wait until all that was taken is in a mailbox, or `DELIVERED_S`."""
    taken = sum(outcome.reply.startswith("2") for outcome in outcomes)
    deadline = time.monotonic() + DELIVERED_S
    while dovecot.counts().total() < taken and time.monotonic() < deadline:
        time.sleep(0.1)


def place(outcome: Outcome, dovecot: Dovecot) -> Place:
    """Return where a message ended: each has a mailbox of its own."""
    if outcome.reply.startswith("5"):
        return Place.REFUSED
    if outcome.reply.startswith("4"):
        return Place.TEMPFAILED
    user = outcome.letter.recipient.partition("@")[0]
    if dovecot.messages(user):
        return Place.INBOX
    return Place.JUNK if dovecot.messages(user, "Junk") else Place.LOST


def table(outcomes: Sequence[Outcome], dovecot: Dovecot) -> Table:
    """Return what happened, one row for each kind of mail."""
    shown = Table(title="what happened", title_justify="left")
    shown.add_column("mail")
    for column in ("sent", *Place, "median ms"):
        shown.add_column(column, justify="right")
    for kind in Kind:
        of_kind = [outcome for outcome in outcomes if outcome.letter.kind is kind]
        if not of_kind:
            continue
        ended = Counter(place(outcome, dovecot) for outcome in of_kind)
        median_ms = statistics.median(outcome.took_s for outcome in of_kind) * 1000
        counts = (str(ended[column]) if ended[column] else "·" for column in Place)
        shown.add_row(kind, str(len(of_kind)), *counts, f"{median_ms:.0f}")
    return shown


def examples(outcomes: Sequence[Outcome], dovecot: Dovecot) -> list[Text]:
    """Return reasons as the daemon gave them: the highest score of the inbox and of the spam
    folder, and a refusal.
    """
    lines = []
    for wanted, mailbox in ((Place.INBOX, "INBOX"), (Place.JUNK, "Junk")):
        scored = []
        for outcome in outcomes:
            if place(outcome, dovecot) is wanted:
                user = outcome.letter.recipient.partition("@")[0]
                message = message_from_bytes(
                    dovecot.messages(user, mailbox)[0], policy=policy.compat32
                )
                score = str(message["X-Mras-Score"] or "0")
                reason = readable(message["X-Mras-Reason"] or "none")
                scored.append(
                    (
                        float(score.split(maxsplit=1)[0]),
                        f"{wanted} ({outcome.letter.kind}): {score}  {reason}",
                    )
                )
        if scored:
            lines.append(Text(max(scored)[1]))
    refused = next(
        (one for one in reversed(outcomes) if place(one, dovecot) is Place.REFUSED), None
    )
    if refused is not None:
        lines.append(Text(f"{Place.REFUSED} ({refused.letter.kind}): {refused.reply}"))
    return lines


def readable(value: str) -> str:
    """Return a header as a mail program shows it: on one line, encoded words decoded."""
    return " ".join(str(make_header(decode_header(value))).split())


def caught_after(outcomes: Sequence[Outcome], dovecot: Dovecot) -> Text:
    """Return how much of the campaign was delivered before the first of it was filed or refused."""
    ended = [
        place(outcome, dovecot) for outcome in outcomes if outcome.letter.kind is Kind.CAMPAIGN
    ]
    first = next(
        (count for count, where in enumerate(ended) if where is not Place.INBOX), len(ended)
    )
    return Text(
        f"campaign: {first} of {len(ended)} in the inbox before the first was held, "
        f"{ended.count(Place.INBOX)} in all"
    )


def complaints(oborona: Oborona) -> list[Text]:
    """Return the last errors that the daemon logged: there should be none."""
    return [
        Text(line, style="red") for line in oborona.log().splitlines() if " level=error " in line
    ][-5:]


if __name__ == "__main__":
    main()
