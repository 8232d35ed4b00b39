"""A message that was judged: journaled and counted before its answer goes out, then logged and
passed to what follows delivered mail.

The journal comes first, so whatever is counted is journaled.  Both are in the spools of this
process when `keep_verdict` returns, and so are the limits that an account passed.
"""

from __future__ import annotations

import logging
from typing import Final

import msgspec

from oborona.accounts.limits.decision import NOTHING_PASSED, LimitRuling
from oborona.accounts.limits.report import report_passed
from oborona.doors.raw_message import RawMessage
from oborona.ident import to_text
from oborona.message.unique_pairs import account_place
from oborona.policy.accounting import (
    is_counted,
    record_greylisted,
    record_new_recipients,
    record_place,
    record_sent,
    record_verdict,
    vouching_pairs,
)
from oborona.policy.decision import with_findings
from oborona.policy.headers import reason
from oborona.policy.limit_table import LimitAction
from oborona.policy.load import Policy
from oborona.policy.local_clients import direction, is_own
from oborona.policy.local_list_match import NOT_COUNTED
from oborona.policy.outgoing_table import OutgoingOutcome
from oborona.policy.reputation_facts import first_contact
from oborona.policy.scan import Scan
from oborona.session.journal_entry import entry_of
from oborona.session.limit_report import hand_over_excesses, limit_findings
from oborona.session.outgoing_limits import account_of, sent_by
from oborona.session.services import SessionServices
from oborona.session.verdict_metrics import (
    count_identity,
    count_outgoing,
    count_scan,
    count_verdict,
)
from oborona.telemetry.log import event
from oborona.types import Action, Envelope, Finding, RuleWindow, Shingle, Stage, Verdict

HELD: Final = Finding("held")  # of a message whose answer was to hold it
_TAKEN: Final = frozenset({OutgoingOutcome.ACCEPT, OutgoingOutcome.HOLD})
_LIMITED: Final = {
    LimitAction.ALERT: OutgoingOutcome.ACCEPT,
    LimitAction.TEMPFAIL: OutgoingOutcome.TEMPFAIL,
    LimitAction.HOLD: OutgoingOutcome.HOLD,
    LimitAction.REFUSE: OutgoingOutcome.REJECT,
}

log = logging.getLogger("oborona.session")


class JudgedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message that is judged and about to be answered."""

    result: Scan | Verdict  # a verdict alone where nobody looked into it, or not to the end
    policy: Policy  # it was judged by
    envelope: Envelope
    message: RawMessage
    ident: int
    now: float  # when it came, Unix seconds
    took_s: float  # to judge it
    limits: LimitRuling = NOTHING_PASSED  # on outgoing mail

    @property
    def scanned(self) -> Scan | None:
        """What was found of it, where it was looked into."""
        return self.result if isinstance(self.result, Scan) else None

    @property
    def verdict(self) -> Verdict:
        """What its content says becomes of it; with the limits that it passed, and whether it was
        held, among its findings.
        """
        held = (HELD,) if self.outcome is OutgoingOutcome.HOLD else ()
        return with_findings(verdict_of(self.result), (*limit_findings(self.limits), *held))

    @property
    def outcome(self) -> OutgoingOutcome | None:
        """What becomes of it where it is outgoing; None of any other."""
        table = self.policy.outgoing
        if not table.leaves(self.envelope):
            return None
        if self.limits.action is not None:
            return _LIMITED[self.limits.action]
        action = verdict_of(self.result).action
        return table.outcome(action, refuse=self.policy.verdict.refuse, holds=self.envelope.holds)

    @property
    def went(self) -> bool:
        """Whether it was taken, as mail that nobody has to look at."""
        if self.outcome is None:
            return verdict_of(self.result).action is Action.ACCEPT
        return self.outcome is OutgoingOutcome.ACCEPT


def verdict_of(result: Scan | Verdict) -> Verdict:
    """Return the verdict of a scan, or of none."""
    return result.verdict if isinstance(result, Scan) else result


def keep_verdict(services: SessionServices, judged: JudgedMessage) -> None:
    """Journal and count a message, so that it survives the death of this process."""
    scanned, envelope, now = judged.scanned, judged.envelope, judged.now
    if judged.limits.passed:
        hand_over_excesses(services, judged.limits, envelope, judged.ident, now)
    try:
        if scanned is not None:
            services.record_policy(scanned.policy)
        size = judged.message.size
        entry = entry_of(
            judged.ident,
            now,
            judged.policy,
            envelope,
            size,
            judged.verdict,
            scanned,
            door=services.door,
        )
        services.journal(entry)
        if envelope.login and judged.outcome is not OutgoingOutcome.TEMPFAIL:
            record_place(_place(services, judged), services.counters, left=judged.went, now=now)
        if judged.outcome is OutgoingOutcome.HOLD:
            services.held(now)
        if judged.outcome in _TAKEN:
            subjects = sent_by(services, envelope, judged.policy)
            record_sent(subjects, len(envelope.recipients), size, services.counters, now=now)
        if scanned is not None and judged.limits.action is not LimitAction.TEMPFAIL:
            record_verdict(
                scanned.pieces,
                scanned.counted,
                services.counters,
                now=now,
                first=first_contact(scanned.facts.known, RuleWindow.FORTNIGHT),
                vouching=vouching_pairs(
                    envelope,
                    scanned.behind.who,
                    scanned.facts.known,
                    scanned.counted,
                    services.site.hasher,
                ),
                prefix=direction(envelope),
            )
            if judged.limits.new_recipients and is_counted(scanned.counted):
                record_new_recipients(
                    account_of(services, envelope),
                    judged.limits.new_recipients,
                    services.counters,
                    now=now,
                )
            if scanned.put_off is not None:
                record_greylisted(scanned.put_off, services.counters, now=now)
        if scanned is not None or judged.outcome in _TAKEN:
            services.written(now)
    except Exception as error:  # noqa: BLE001 - what failed here costs a count, not the mail
        log_fault(judged.ident, error, Stage.CONTENT)


def _place(services: SessionServices, judged: JudgedMessage) -> tuple[Shingle, ...]:
    if judged.scanned is not None:
        return judged.scanned.pieces.place
    return account_place(judged.envelope, services.site.hasher)


def publish_verdict(services: SessionServices, judged: JudgedMessage) -> None:
    """Tell of a message that was answered: metrics, contacts, campaigns, signatures, pictures to
    look at, the log.
    """
    scanned, envelope, verdict = judged.scanned, judged.envelope, judged.verdict
    outcome, limited = judged.outcome, judged.limits.action
    try:
        if judged.limits.passed:
            report_passed(judged.limits, envelope, judged.ident, Stage.CONTENT)
        if outcome is not None:
            count_outgoing(outcome)
        if scanned is not None:
            count_scan(verdict, judged.took_s, services.door)
            if limited is None:  # whom a stolen password writes to, nobody knows
                services.learn_contacts(envelope, scanned.counted, judged.now)
            services.observe_campaign(scanned, judged.now)
            if not is_own(envelope):
                count_identity(scanned.evidence.identity)
            services.signed(scanned.signatures.signatures, judged.now)
            for fault in (*scanned.faults, *scanned.failed):
                event(
                    log,
                    logging.WARNING,
                    "fault",
                    id=to_text(judged.ident),
                    stage=Stage.CONTENT,
                    what=fault,
                )
            if is_counted(verdict) and limited is not LimitAction.TEMPFAIL:
                services.late(judged.ident, scanned)
    except Exception as error:  # noqa: BLE001 - the answer is out: what failed here costs a figure, not the mail
        log_fault(judged.ident, error, Stage.CONTENT)
    log_verdict(
        judged.ident,
        judged.policy,
        envelope,
        verdict,
        stage=Stage.CONTENT,
        size=judged.message.size,
        ms=round(judged.took_s * 1000, 1),
        outgoing=outcome,
    )


def log_fault(ident: int, error: Exception, stage: Stage) -> None:
    """Log a fault of ours under the id of what it stood in the way of."""
    log.error("fault id=%s stage=%s", to_text(ident), stage, exc_info=error)


def log_verdict(
    ident: int,
    policy: Policy,
    envelope: Envelope,
    verdict: Verdict,
    *,
    stage: Stage,
    recipients: int | None = None,
    outgoing: OutgoingOutcome | None = None,
    **more: object,
) -> None:
    """Count and log a verdict, in one line.

    `recipients` is how many there were, where the envelope names only some; `outgoing` is what
    becomes of a message that leaves.
    """
    count_verdict(stage, verdict)
    event(
        log,
        logging.INFO,
        "verdict",
        id=to_text(ident),
        queue=envelope.queue_id,
        client=envelope.client.ip,
        helo=envelope.helo,
        sender=envelope.sender,
        recipients=len(envelope.recipients) if recipients is None else recipients,
        recipient=envelope.recipients[0] if envelope.recipients else "",
        stage=stage,
        verdict=verdict.action,
        score=verdict.score,
        line=verdict.line,
        decided_by=verdict.decided_by,
        reason=reason(verdict),
        policy=policy.version,
        **_not_counted(verdict),
        **({} if outgoing is None else {"outcome": outgoing, "login": envelope.login}),
        **({"trap": envelope.traps[0]} if envelope.traps else {}),
        **(
            {}
            if verdict.would is None
            else {"would": verdict.would.action, "would_score": verdict.would.score}
        ),
        **more,
    )


def _not_counted(verdict: Verdict) -> dict[str, str]:
    """Return allows that were not counted, for the log; of most messages there is none."""
    evidence = [finding.evidence for finding in verdict.findings if finding.name == NOT_COUNTED]
    return {"not_counted": "; ".join(evidence)} if evidence else {}
