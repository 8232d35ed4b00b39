"""`oborona find`: which messages came, from whom to whom, and what became of them."""

from __future__ import annotations

import re
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Final

import click
import msgspec

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import plain
from oborona.desk.messages.search import open_search
from oborona.desk.messages.search_question import read_query
from oborona.ident import time_of_id, to_text
from oborona.journal.query import BadQuery, JournalQuery, QueryField, parse_id
from oborona.journal.refusal import Told
from oborona.journal.search import JournalSearch
from oborona.journal.search_hit import SearchHit
from oborona.people.caller import Scope
from oborona.types import Action

LIMIT: Final = 20
DAYS: Final = 3  # that are named of those without a search file
LOOK_S: Final = 0.5  # between looks of --follow
BEHIND_S: Final = 10.0  # a worker may write a message so late, and one with a later id before it
_COLOURS: Final = {Action.ACCEPT: "green", Action.SPAM: "yellow", Action.TEMPFAIL: "cyan"}
_SUBJECT: Final = 60  # columns
_SAY: Final = 50
_TO: Final = 2  # recipients
PLACES: Final = {
    Told.CONNECT: "at connect",
    Told.SENDER: "at MAIL FROM",
    Told.RECIPIENT: "at RCPT TO",
    Told.CONTENT: "at the end of the message",
    Told.NEVER: "and gone before it was told",
}
"""Where a refusal was told → in words."""
_NOT_LOGGED: Final = frozenset(
    {QueryField.SUBJECT, QueryField.RULE, QueryField.VERDICT, QueryField.MESSAGE, QueryField.LOGIN}
)
"""What the line of a refusal never has."""


@click.command()
@click.argument("words", metavar="[QUERY]...", nargs=-1)
@click.option(
    "--since",
    default="",
    metavar="TIME",
    help="From then on: 30m, 2h, 7d, 2026-11-22, or a day and time.",
)
@click.option("--until", default="", metavar="TIME", help="Before that; of a day its end.")
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=LIMIT, show_default=True, help="Messages."
)
@click.option("--older", default="", metavar="ID", help="Messages before that one: the next page.")
@click.option(
    "--within",
    type=DurationParam(),
    default="2s",
    show_default=True,
    help="Then show what was found, and where to go on; 0s: search to the end.",
)
@click.option("--follow", is_flag=True, help="Then show what comes, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def find(
    context: CliContext,
    words: Sequence[str],
    since: str,
    until: str,
    limit: int,
    older: str,
    within: float,
    follow: bool,
    as_json: bool,
) -> None:
    """Find messages in the journal, the newest first.

    A plain word matches sender, From, recipient, subject, client, queue id, Message-ID, the
    reference of a refusal, rule or verdict; all words must match. from: to: subject: domain: ip:
    client: helo: login: list: rule: verdict: decided: queue: id: message: look in one place, -word
    excludes, "two words" is a phrase, score>80 and size>10M are bounds, word* what begins so.

    \b
        oborona find from:maria@client.example to:joe --since 2d
        oborona find rule:MASS_TEXT verdict:spam --since 24h
        oborona find 0SAH375J007Q5

    What was refused before its content (at connect, MAIL FROM, RCPT TO) is found for
    `journal.refused_hours`; those of a network for one reason are one, with their number.  Exit
    status 1 when nothing was found.
    """  # noqa: D301 - the backspace has click leave the lines as they stand
    query = query_from_options(words, since, until, time.time())
    if older:
        query = msgspec.structs.replace(query, before=_id(older))
    with open_search(context, Scope()) as journal:
        found = journal.find(query, limit, within_s=within or None)
        hits = list(found) if follow else found
        number = show(reversed(hits) if isinstance(hits, list) else hits, as_json=as_json)
        if follow:
            _follow(journal, query, {hit.head or hit.id for hit in hits}, as_json=as_json)
            return
        _print_missing(journal)
        if journal.reached is not None:
            print_reached(journal.reached, within)
        elif not as_json and number < limit:
            _print_range(journal, query, number)
    if not number:
        click.get_current_context().exit(1)


def query_from_options(words: Sequence[str], since: str, until: str, now: float) -> JournalQuery:
    """Return the question of a command line.

    Raises:
        click.UsageError: it can't be asked.
    """
    try:
        return read_query(" ".join(words), since, until, now=now)
    except BadQuery as error:
        raise click.UsageError(str(error)) from None


def _id(text: str) -> int:
    """Return the id of a message.

    Raises:
        click.UsageError: it is none.
    """
    number = parse_id(text)
    if number is None:
        raise click.UsageError(
            f"--older: {text[:50]!a} is no ID; the first line of a message has it"
        )
    return number


def show(hits: Iterator[SearchHit], *, as_json: bool) -> int:
    """Print messages as they are found; return how many."""
    number = 0
    for hit in hits:
        number += 1
        if as_json:
            echo_json(as_object(hit))
        else:
            for line in lines(hit):
                echo(line)
    return number


def lines(message: SearchHit) -> Iterator[str]:
    """Yield a message in two lines: what came and what became of it; and the heaviest reasons."""
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(message.time))
    verdict = click.style(f"{message.verdict.value:<8}", fg=_COLOURS.get(message.verdict, "red"))
    to = ", ".join(f"<{address}>" for address in message.recipients[:_TO])
    if len(message.recipients) > _TO:
        to += f" and {len(message.recipients) - _TO} more"
    apart = message.header_from and (
        not message.sender or message.sender.lower() not in message.header_from.lower()
    )
    people = (
        f"<{message.sender}>{f' (From: {message.header_from})' if apart else ''} → {to or 'nobody'}"
    )
    what = _refused(message) if message.head else f'"{plain(_cut(message.subject, _SUBJECT))}"'
    nobody = message.head and not (message.sender or message.recipients)  # SMTP had not come so far
    about = what if nobody else f"{plain(people)}  {what}"
    yield f"{when}  {message.id}  {verdict} {message.score:>6.1f} / {message.line:g}  {about}"
    reasons = ", ".join(
        f"{hit.name} {hit.score:+g}{f' ({_cut(hit.say, _SAY)})' if hit.say else ''}"
        for hit in message.reasons
    )
    why = f"client {message.client or 'unknown'}, decided by {message.decided_by}"
    yield f"{'':21}{plain(f'{why}: {reasons}' if reasons else why)}"


def _refused(hit: SearchHit) -> str:
    """Return in words where refusals before the content were told, and how many they were."""
    where = f"refused {PLACES[hit.told]}"
    if hit.times == 1 or hit.last is None:
        return where
    until = time.strftime("%H:%M:%S", time.localtime(hit.last))
    return f"{where}; {hit.times} times from {plain(hit.network) or 'many networks'}, until {until}"


def as_object(message: SearchHit) -> dict[str, object]:
    """Return a message as `--json` shows it. Names and meaning of its fields stay."""
    fields = {name: getattr(message, name) for name in message.__struct_fields__}
    return fields | {
        "reasons": [
            {"name": hit.name, "score": hit.score, "say": hit.say} for hit in message.reasons
        ]
    }


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _follow(
    journal: JournalSearch, query: JournalQuery, seen_ids: set[str], *, as_json: bool
) -> None:
    """Show messages as they come; ends when somebody interrupts it, or nobody reads any more."""
    began = time.time()
    shown = dict.fromkeys(seen_ids, began)
    try:
        while True:
            now = time.time()
            since = max(began, now - BEHIND_S)
            fresh = journal.find(msgspec.structs.replace(query, since=since - LOOK_S), 100_000)
            hits = list(fresh)
            new = [hit for hit in reversed(hits) if (hit.head or hit.id) not in shown]
            show(iter(new), as_json=as_json)
            sys.stdout.flush()
            shown = {name: at for name, at in shown.items() if at > now - 3 * BEHIND_S}
            shown |= {hit.head or hit.id: now for hit in hits}
            time.sleep(LOOK_S)
    except KeyboardInterrupt:
        return


def print_reached(below: int, within: float, goes_on: str = "it goes on with") -> None:
    """Say how far a search came in its time, and how it goes on."""
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time_of_id(below)))
    click.echo(
        f"searched back to {when} in {within:g} s; {goes_on} --older {to_text(below)}, or to "
        "its end with --within 0s",
        err=True,
    )


def _print_missing(journal: JournalSearch) -> None:
    """Say which days were read whole for want of their search files."""
    if days := journal.missing:
        more = f" and {len(days) - DAYS} more" if len(days) > DAYS else ""
        click.echo(
            f"read whole, since there is no sound search file: {', '.join(days[:DAYS])}{more}; the "
            "keeper makes them",
            err=True,
        )


def _print_range(journal: JournalSearch, query: JournalQuery, number: int) -> None:
    """Say how far the journal goes back, and where the mail is that it never has."""
    oldest = journal.oldest()
    if oldest is None:
        line = "the journal is empty"
    else:
        since = max(oldest, query.since or 0.0)
        line = (
            f"{'nothing' if not number else f'{number} in all'} since "
            f"{time.strftime('%Y-%m-%d %H:%M', time.localtime(since))}"
        )
        line += ", where the journal begins" if oldest >= (query.since or 0.0) else ""
    word = next(
        (term.text for term in query.terms if term.field not in _NOT_LOGGED and not term.negated),
        "",
    )
    grep = (
        f"journalctl -u 'oborona*' -g {shlex.quote(re.escape(plain(word))) if word else 'verdict'}"
    )
    click.echo(
        f"{line}; refusals before the content: {_refusals_since(journal)}, older ones in the log "
        f"alone: {grep}",
        err=True,
    )


def _refusals_since(journal: JournalSearch) -> str:
    oldest = journal.oldest_refusal()
    if oldest is None:
        return "none"
    return f"since {time.strftime('%Y-%m-%d %H:%M', time.localtime(oldest))}"
