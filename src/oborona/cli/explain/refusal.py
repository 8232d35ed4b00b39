"""Why somebody was refused before the content: what the journal has of a reference, for people."""

from __future__ import annotations

from typing import Final

from rich.table import Table
from rich.text import Text

from oborona.cli.find import PLACES
from oborona.cli.terminal import Terminal, plain
from oborona.desk.messages.refusal import RefusalExplanation
from oborona.journal.refusal import COLLAPSE_S, REFERENCES, Told
from oborona.session.account_refusal import ACCOUNT_BANNED, ACCOUNT_LIMITED
from oborona.session.refusals import TOO_BUSY, UNANSWERED
from oborona.types import Action

_MEANINGS: Final = {
    TOO_BUSY: "too much was to be judged at that time; nobody looked at it",
    UNANSWERED: "a fault of ours, which the log has; nobody looked at it",
    ACCOUNT_BANNED: "the account is banned: oborona account show",
    ACCOUNT_LIMITED: "the account is limited: oborona account show",
}


def show_refusal(console: Terminal, explanation: RefusalExplanation) -> None:
    """Print why somebody was refused."""
    about = Table.grid(padding=(0, 2))
    helo = f" helo {explanation.helo}" if explanation.helo else ""
    for name, value in (
        ("reference", explanation.id),
        ("time", explanation.time),
        ("queue id", explanation.queue_id),
        ("client", f"{explanation.client or 'unknown'}{helo}"),
        ("from", "" if explanation.shared else _sender(explanation)),
        ("to", " ".join(explanation.recipients)),
        ("login", explanation.login),
    ):
        if value:
            about.add_row(name, plain(value))
    console.print(about, highlight=False)
    colour = "cyan" if explanation.verdict is Action.TEMPFAIL else "red"
    score = f" {explanation.score:.1f} / {explanation.line:g}" if explanation.score else ""
    where = f"{score}  refused {PLACES[explanation.told]}, before its content"
    console.print(Text.assemble((explanation.verdict.value, colour), where))
    meaning = _MEANINGS.get(explanation.decided_by)
    words = f"decided by {explanation.decided_by}{f' ({meaning})' if meaning else ''}"
    console.print(
        f"      {plain(words)}; policy {plain(explanation.policy) or 'unknown'}", highlight=False
    )
    for hit in explanation.rules:
        said = f" ({hit.say})" if hit.say else ""
        console.print(f"      {plain(f'{hit.name} {hit.score:+g}{said}')}", highlight=False)
    if explanation.times > 1:
        network = plain(explanation.network) or "many networks"
        console.print(
            f"{explanation.times} times from {network} for that reason, "
            f"{explanation.first} to {explanation.last}",
            highlight=False,
        )
    if explanation.shared:
        console.print(
            f"this reference was given to several: in {COLLAPSE_S / 60:g} minutes no more than "
            f"{REFERENCES} of a network are told apart",
            highlight=False,
        )


def _sender(explanation: RefusalExplanation) -> str:
    """Return the sender, as far as SMTP had come; a bounce has none."""
    named = explanation.sender or explanation.recipients
    return f"<{explanation.sender}>" if named or explanation.told is Told.SENDER else ""
