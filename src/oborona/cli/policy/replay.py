"""`oborona policy replay`: what would differ under another policy."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import click
import msgspec

from oborona import state_files
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.envelope import asks_dns, pass_envelope
from oborona.cli.mailboxes import messages
from oborona.cli.output import echo_json
from oborona.cli.policy.replay_output import as_object, show
from oborona.cli.progress import progress
from oborona.desk.policy.preview import DAMAGED, compared_verdict, journal_pair
from oborona.desk.site import Site
from oborona.journal.queries import JournalReader
from oborona.policy.evidence import Inquiry
from oborona.policy.load import Policy
from oborona.policy.personal_list_match import NoPersons
from oborona.policy.scan import Scan, ScanSite, scan
from oborona.recheck.comparison import VerdictComparison, VerdictPair
from oborona.recheck.facts_at_delivery import why_not
from oborona.recheck.rejudgement import Rejudger
from oborona.types import Envelope


@click.command()
@click.argument(
    "mailboxes", nargs=-1, metavar="[MAILBOX]...", type=click.Path(path_type=Path, exists=True)
)
@click.option(
    "--since",
    type=DurationParam(),
    help="The journal's messages of the last 30m, 2h, 7d; by default 24h.",
)
@click.option(
    "--policy",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Another policy folder; by default the one in force, as its files are now.",
)
@click.option(
    "--limit", type=click.IntRange(0), default=5, show_default=True, help="Examples of each change."
)
@click.option("--json", "as_json", is_flag=True, help="The same as one JSON object.")
@click.option("--fail", is_flag=True, help="Exit with status 1 if any verdict would change.")
@asks_dns
@pass_envelope
@pass_cli_context
def replay(
    context: CliContext,
    mailboxes: tuple[Path, ...],
    since: float | None,
    folder: Path | None,
    limit: int,
    as_json: bool,
    fail: bool,
    dns: bool,
    envelope: Envelope,
) -> None:
    """Score messages under another policy, and show which verdicts would change, by verdict and by
    rule, with examples.

    Without a MAILBOX the journal is read: what was decided then beside what the policy says of the
    same facts, counts and answers of DNS lists. With one (files, mboxes, Maildirs, folders) each
    message is scored twice, by the policy in force and by that of --policy, as if it came now with
    the envelope that the options say. Nothing is counted.
    """
    if mailboxes and since is not None:
        raise click.UsageError("either mailboxes or --since, which reads the journal")
    if mailboxes and folder is None:
        raise click.UsageError(
            "mailboxes are scored under two policies: name the other by --policy"
        )
    candidate = context if folder is None else context.under(folder)
    comparison = VerdictComparison(limit)
    if mailboxes:
        asyncio.run(
            _mailboxes(context, candidate, mailboxes, context.seen(envelope), comparison, dns=dns)
        )
    else:
        if envelope != Envelope() or dns:
            raise click.UsageError("the journal has its own envelopes and answers")
        asyncio.run(_journal(context, candidate.policy(), since or 86_400.0, comparison))
    if as_json:
        echo_json(as_object(comparison))
    else:
        show(comparison)
    if fail and comparison.differing:
        click.get_current_context().exit(1)


async def _journal(
    context: CliContext, policy: Policy, since: float, comparison: VerdictComparison
) -> None:
    judge = Rejudger(policy, context.final())
    async with await JournalReader.open(context.state / state_files.JOURNAL) as journal:
        start = time.time() - since
        versions = await journal.policies()
        with progress("messages", await journal.count_since(start)) as one_more:
            async for entry in journal.since(start):
                one_more()
                if isinstance(entry, int):
                    comparison.leave_out(DAMAGED)
                    continue
                rejudged = judge.judge(entry, versions.get(entry.policy_version))
                if rejudged is None:
                    comparison.leave_out(why_not(entry))
                else:
                    comparison.add(journal_pair(entry, rejudged))


async def _mailboxes(
    context: Site,
    candidate: Site,
    mailboxes: tuple[Path, ...],
    envelope: Envelope,
    comparison: VerdictComparison,
    *,
    dns: bool,
) -> None:
    async with _sides(context, candidate, dns=dns) as (judge, judge_again):
        with progress("messages") as one_more:
            for path in mailboxes:
                for source in messages(path):
                    before = await judge(source.raw, envelope)
                    after = await judge_again(source.raw, envelope)
                    comparison.add(
                        VerdictPair(
                            name=source.name,
                            sender=after.facts.from_address,
                            subject=after.message.subject,
                            before=compared_verdict(before.verdict),
                            after=compared_verdict(after.verdict),
                            mildest=after.verdict.action,
                            severest=after.verdict.action,
                        )
                    )
                    one_more()


class _PolicyScorer:
    """Scores messages by one policy."""

    def __init__(self, context: Site, site: ScanSite, new_inquiry: Callable[[], Inquiry]) -> None:
        self._policy = context.policy()
        self._site = site
        self._inquire = new_inquiry

    async def __call__(self, raw: bytes, envelope: Envelope) -> Scan:
        return await scan(raw, envelope, self._site, self._policy, self._inquire(), now=time.time())


@asynccontextmanager
async def _sides(
    context: Site, candidate: Site, *, dns: bool
) -> AsyncIterator[tuple[_PolicyScorer, _PolicyScorer]]:
    async with (
        context.inquiries(dns=dns) as inquire,
        candidate.inquiries(dns=dns) as inquire_again,
        context.pictures() as pictures,
    ):
        with context.site(pictures) as of_all:
            # policies are compared, not readers' lists
            site = msgspec.structs.replace(of_all, persons=NoPersons())
            candidate_site = msgspec.structs.replace(site, signatures=candidate.signatures())
            yield (
                _PolicyScorer(context, site, inquire),
                _PolicyScorer(candidate, candidate_site, inquire_again),
            )
