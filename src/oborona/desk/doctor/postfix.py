"""What `oborona doctor` says of Postfix: which of its smtpd ask us, whether they reach us where
they look for us, and what a GTUBE becomes there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from oborona import secret
from oborona.config import Address
from oborona.daemon.listeners import open_doors
from oborona.desk.doctor.policy_service import policy_service
from oborona.desk.doctor.report import MAIL_SERVER, CheckReport, CheckState
from oborona.desk.gtube import GtubeOutcome, prove
from oborona.desk.postfix.change import (
    RefusedError,
    action_while_away,
    attach_change,
    must_ask,
    repair_advice,
)
from oborona.desk.postfix.instance import MILTERS, PostfixError, PostfixInstance, Smtpd
from oborona.desk.postfix.milter_list import MilterEntry, entries, is_address
from oborona.desk.postfix.reach import UnreachableError, leads_to, means, reach
from oborona.desk.programs import exim_program, program
from oborona.desk.site import Site
from oborona.errors import StoreError


def postfix(context: Site, folder: Path | None = None) -> Iterator[CheckReport]:
    """Look at the Postfix of this machine, where a door is open for it.

    Nothing is said where Exim is the mail server.

    Args:
        context: the settings.
        folder: of main.cf; None: the one that Postfix's tools take by themselves.
    """
    settings = context.loaded.settings
    if not settings.doors.milter.listen and not settings.doors.policy_service.listen:
        return
    if folder is None and program("postconf") is None and exim_program() is not None:
        return
    try:
        instance = PostfixInstance(folder)
    except PostfixError as error:
        yield CheckReport(MAIL_SERVER, CheckState.WARN, str(error))
        return
    by_milter = False
    if settings.doors.milter.listen:
        yield from _milter(context, instance)
        milter = settings.doors.milter.address
        by_milter = any(
            leads_to(entry.address, milter, smtpd, instance.queue)
            for smtpd in instance.smtpds
            for entry in entries(smtpd.milters)
        )
    if settings.doors.policy_service.listen:
        yield policy_service(settings.doors.policy_service, instance, by_milter=by_milter)


def _milter(context: Site, instance: PostfixInstance) -> Iterator[CheckReport]:
    address = context.loaded.settings.doors.milter.address
    asking = must_ask(instance.smtpds)
    if not asking:
        yield CheckReport(
            MAIL_SERVER,
            CheckState.WARN,
            f"no smtpd stands in {instance.folder}/master.cf: no mail comes in by SMTP",
        )
    other_doors = any(name != "milter" for name, _ in open_doors(context.loaded.settings))
    for smtpd in instance.smtpds:
        # mail of strangers, and no other way to us
        must = smtpd in asking and not (
            other_doors or context.loaded.settings.doors.delivery.listen
        )
        yield _check_smtpd(
            context, instance, smtpd, address, without=CheckState.FAIL if must else CheckState.WARN
        )


def _check_smtpd(
    context: Site,
    instance: PostfixInstance,
    smtpd: Smtpd,
    address: Address,
    *,
    without: CheckState,
) -> CheckReport:
    """Tell of one smtpd whether its mail is filtered."""
    subject = f"{MAIL_SERVER} {smtpd.name}"
    milters = entries(smtpd.milters)
    ours = next(
        (entry for entry in milters if leads_to(entry.address, address, smtpd, instance.queue)),
        None,
    )
    if ours is None:
        meant = next((entry for entry in milters if means(entry.address, address)), None)
        if meant is not None:
            return CheckReport(
                subject, CheckState.FAIL, _beside(meant, smtpd, instance), _hint(instance, address)
            )
        setting = f"{MILTERS} = {smtpd.milters}" if smtpd.milters else f"its {MILTERS} is empty"
        where = " in master.cf" if smtpd.own else ""
        return CheckReport(
            subject, without, f"does not ask us: {setting}{where}", _hint(instance, address)
        )
    try:
        reached = reach(ours.address, smtpd, instance)
    except UnreachableError as error:
        return CheckReport(
            subject,
            CheckState.FAIL,
            f"{error}{_action_now(ours, instance)}",
            repair_advice(address),
        )
    try:
        key = secret.load(context.state).signature
    except StoreError as error:
        reached.peer.close()
        return CheckReport(
            subject,
            CheckState.WARN,
            f"asks us at {ours.address}, where somebody listens; no GTUBE was sent: {error}",
            "run this as root",
        )
    proof = prove(reached.peer, key)
    if proof.outcome in (GtubeOutcome.REFUSED, GtubeOutcome.MARKED):
        how = (
            f"as user {instance.owner}{' in its chroot' if smtpd.chroot else ''}"
            if reached.proved
            else "as who asks now"
        )
        if blocked := _blocked_by(milters, ours, smtpd, instance):
            return CheckReport(
                subject,
                CheckState.FAIL,
                blocked,
                "oborona attach takes it out where it is of ours; else start it, or take it out",
            )
        return CheckReport(
            subject,
            CheckState.OK,
            f"asks us at {ours.address}: a GTUBE, sent there {how}, comes back with: {proof.words}"
            f"{_meanwhile(ours, instance)}",
        )
    if proof.outcome is GtubeOutcome.NOT_OURS:
        return CheckReport(subject, CheckState.FAIL, f"asks {ours.address}: {proof.words}")
    return CheckReport(
        subject,
        CheckState.FAIL,
        f"asks us at {ours.address}, and a GTUBE is {proof.outcome}: {proof.words}",
        "does a rule of yours switch GTUBE off? oborona policy show --origin",
    )


def _meanwhile(ours: MilterEntry, instance: PostfixInstance) -> str:
    """Say what is to be known of mail that comes while we are away; nothing where it waits."""
    lets_in = action_while_away(ours, instance) == "accept"
    return "; while we are away it lets mail in unjudged (default_action=accept)" if lets_in else ""


def _blocked_by(
    milters: Sequence[MilterEntry], ours: MilterEntry, smtpd: Smtpd, instance: PostfixInstance
) -> str:
    """Say which other milter is not there and stops all mail; empty = none."""
    for entry in milters:
        if (
            entry is ours
            or not is_address(entry.address)
            or action_while_away(entry, instance) == "accept"
        ):
            continue
        try:
            reach(entry.address, smtpd, instance).peer.close()
        except UnreachableError as error:
            return (
                f"asks us, and beside us a milter without which no mail is taken "
                f"(default_action={action_while_away(entry, instance)}): {error}"
            )
    return ""


def _action_now(ours: MilterEntry, instance: PostfixInstance) -> str:
    """Say what becomes of mail that comes now, while we are not reached."""
    action = action_while_away(ours, instance)
    outcomes = {"accept": "is let in unjudged", "tempfail": "waits with its senders"}
    return (
        f"; mail that comes {outcomes[action]} (default_action={action})"
        if action in outcomes
        else ""
    )


def _beside(meant: MilterEntry, smtpd: Smtpd, instance: PostfixInstance) -> str:
    """Say where smtpd looks for us in place of where we are."""
    if smtpd.chroot:
        return (
            f"asks {meant.address}, and runs in a chroot, {instance.queue}, where that is "
            f"another place: mail passes unfiltered"
        )
    return f"asks {meant.address}, which is another place than ours: mail passes unfiltered"


def _hint(instance: PostfixInstance, address: Address) -> str:
    """Return the line to write, or what keeps it from helping."""
    try:
        change = attach_change(instance, address)
    except RefusedError as error:
        return str(error)
    if not change.changes:
        return "oborona attach says what is in the way"
    return f"write into main.cf: {MILTERS} = {change.value}; `oborona attach` does it"
