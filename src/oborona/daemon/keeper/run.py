"""The keeper as a process: it keeps the journal and its index, and rechecks delivered mail."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from oborona import state_files
from oborona.accounts.excess_spool import waits
from oborona.config import Settings
from oborona.daemon.keeper.chart_keeper import ChartKeeper
from oborona.daemon.keeper.journal import keep_journal
from oborona.heartbeat import beat_forever
from oborona.policy.load_cache import PolicyCache

if TYPE_CHECKING:
    from oborona.daemon.keeper.policy_in_force import PolicyInForce
    from oborona.daemon.keeper.shared_counters import SharedCounters
    from oborona.daemon.site.turn import SiteTurn

ACCOUNT_TURN: Final = "accounts"  # the site's lock of who tells people, rates and forgets
ACCOUNTS_S: Final = 5.0  # between looks whether the site has accounts, or excesses
AUDIT_S: Final = 3600.0  # between looks whether there is an audit log
ALERT_GRACE_S: Final = 3.0  # at the end, for an alert that is on its way


def run_keeper(
    settings: Settings,
    name: str,
    state: Path,
    before: PolicyCache | None,
    ready: Callable[[], None],
) -> int:
    """Be the keeper until SIGTERM; return the exit status.

    Args:
        settings: of the site.
        name: of the site.
        state: state folder, prepared.
        before: what the parent knew of the policy; None = nothing.
        ready: called when the journal is open.

    Raises:
        ConfigError: the settings of mailboxes or alarm do not suffice.
        StoreError: the journal can't be opened.
    """
    asyncio.run(_main(settings, name, state, before, ready))
    return os.EX_OK


async def _main(
    settings: Settings,
    name: str,
    state: Path,
    before: PolicyCache | None,
    ready: Callable[[], None],
) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, stop.set)
    loop.add_signal_handler(signal.SIGHUP, lambda: None)  # the policy in force is followed
    counters = cache(partial(_shared_counters, settings, state))
    look = None
    if settings.recheck.enabled:
        # what judges is loaded here: a keeper that only purges stays small
        from oborona.daemon.keeper.recheck import open_recheck  # noqa: PLC0415

        second = open_recheck(settings, name, state, counters(), before)
        look = partial(second.run, stop)
    alive = asyncio.create_task(beat_forever())
    policy = cache(
        partial(_policy_in_force, settings, state, before)
    )  # loaded once, by who asks first
    beside = [asyncio.create_task(_act_on_incidents(settings, name, state, policy))]
    beside.append(asyncio.create_task(_keep_charts(state)))
    beside.append(asyncio.create_task(_watch_complaints(state, counters, policy)))
    beside.append(asyncio.create_task(_watch_audit(settings, state)))
    beside.append(asyncio.create_task(_follow_site(state)))
    if settings.alarm.held_hours or settings.alarm.tell_senders:
        beside.append(asyncio.create_task(_watch_held_mail(settings, name, state)))
    if settings.addresses.listings:
        beside.append(asyncio.create_task(_watch_addresses(settings, name, state, policy)))
    if settings.eventlog.enabled:
        beside.append(asyncio.create_task(_watch_event_logs(settings, name, state)))
    if settings.flows.source != "off":
        beside.append(asyncio.create_task(_watch_flows(settings, state, policy)))
    try:
        await keep_journal(settings, state, stop, ready, look)
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        alive.cancel()


def _policy_in_force(settings: Settings, state: Path, before: PolicyCache | None) -> PolicyInForce:
    # a keeper that judges nothing does without the policy
    from oborona.daemon.keeper.policy_in_force import PolicyInForce  # noqa: PLC0415
    from oborona.stores.policy_folders import policy_folders  # noqa: PLC0415

    return PolicyInForce(state, policy_folders(settings.paths), before)


def _shared_counters(settings: Settings, state: Path) -> SharedCounters:
    # a keeper that judges nothing does without the counters
    from oborona.daemon.keeper.shared_counters import SharedCounters  # noqa: PLC0415

    return SharedCounters(settings, state)


async def _wait_until(there: Callable[[], bool], each_s: float) -> None:
    """Wait until a site has what a part of the keeper is for: without it, nothing of it is
    loaded.
    """
    while not there():  # noqa: ASYNC110 - a file tells nobody
        await asyncio.sleep(each_s)


async def _act_on_incidents(
    settings: Settings, name: str, state: Path, policy: Callable[[], PolicyInForce]
) -> None:
    """Judge excesses and do what follows from incidents, for ever, once the site has either."""
    await _wait_until(
        lambda: (state / state_files.ACCOUNTS).exists() or waits(state / state_files.EXCESSES),
        ACCOUNTS_S,
    )
    # a site without accounts has a smaller keeper
    from oborona.daemon.alarm.alarm import AlertDispatcher, open_alarm, read_key  # noqa: PLC0415
    from oborona.daemon.keeper.account_actions import AccountActions  # noqa: PLC0415
    from oborona.daemon.keeper.excess_judge import ExcessJudge  # noqa: PLC0415
    from oborona.daemon.keeper.hook_notice import HookNotice  # noqa: PLC0415
    from oborona.daemon.keeper.queue_notice import QueueNotice  # noqa: PLC0415
    from oborona.daemon.keeper.rating_renewal import RatingRenewal  # noqa: PLC0415
    from oborona.daemon.keeper.registration_purge import RegistrationPurge  # noqa: PLC0415

    turn = await _account_turn(state)
    alarm = open_alarm(settings, name, time.time)
    inspector, second = settings.inspector, None
    if inspector.second_to:
        of_second = msgspec.structs.replace(settings.alarm, webhook="", mail_to=inspector.second_to)
        second = AlertDispatcher(of_second, name, b"", clock=time.time)
    actions = AccountActions(
        state,
        alarm,
        time.time,
        second=second,
        hook=inspector.hook,
        key=read_key(inspector.hook_key_file, "inspector.hook_key_file"),
        command=HookNotice(state, alarm, time.time) if inspector.hook_command else None,
        is_mine=turn.is_mine,
    )
    in_force = policy()
    judge = ExcessJudge(state, inspector, in_force, time.time)
    notice = QueueNotice(state, time.time)
    days = inspector.registration_days
    purge = RegistrationPurge(state / state_files.ACCOUNTS, days, time.time, turn.is_mine)
    renewal = RatingRenewal(
        state / state_files.ACCOUNTS,
        lambda: in_force.latest().account_tests,
        time.time,
        turn.is_mine,
    )
    stack = ExitStack()
    try:
        await asyncio.to_thread(stack.enter_context, turn)
        await actions.step()  # what was opened before this process was counted before
        async with asyncio.TaskGroup() as group:
            group.create_task(actions.run())
            group.create_task(judge.run())
            group.create_task(notice.run())
            group.create_task(purge.run())
            group.create_task(renewal.run())
    finally:
        for dispatcher in filter(None, (alarm, second)):
            await dispatcher.close(ALERT_GRACE_S)
        actions.close()
        notice.close()
        await asyncio.to_thread(stack.close)


async def _account_turn(state: Path) -> SiteTurn:
    """Return whose turn it is to act on incidents, as soon as that can be known."""
    from oborona.daemon.site.turn import SiteTurn  # noqa: PLC0415
    from oborona.telemetry.trouble import TroubleNotice  # noqa: PLC0415

    trouble = TroubleNotice("nobody acts on incidents", "incidents are acted on again")
    while True:
        with trouble.noted():
            return SiteTurn(state, state_files.ACCOUNTS, ACCOUNT_TURN)
        await asyncio.sleep(ACCOUNTS_S)


async def _keep_charts(state: Path) -> None:
    """Keep the file of charts, for ever."""
    charts = ChartKeeper(state, time.time)
    try:
        await charts.run()
    finally:
        await asyncio.to_thread(charts.close)


async def _watch_complaints(
    state: Path, counters: Callable[[], SharedCounters], policy: Callable[[], PolicyInForce]
) -> None:
    """Try limits on complaints and traps, for ever, once anybody has said something."""
    await _wait_until((state / state_files.FEEDBACK).exists, ACCOUNTS_S)
    # a site that learns from nobody has a smaller keeper
    from oborona.accounts.excess_spool import ExcessSpool  # noqa: PLC0415
    from oborona.daemon.keeper.complaint_watch import ComplaintWatch  # noqa: PLC0415

    excesses = ExcessSpool(state / state_files.EXCESSES)
    watch = ComplaintWatch(state, lambda: counters().using(), policy, excesses, time.time)
    try:
        await watch.run()
    finally:
        await watch.close()


async def _watch_audit(settings: Settings, state: Path) -> None:
    """Note the end of the audit log and drop what is too old, for ever, once it was begun."""
    await _wait_until((state / state_files.AUDIT).exists, AUDIT_S)
    # a site whose log is empty has a smaller keeper
    from oborona.daemon.keeper.audit_watch import AuditWatch  # noqa: PLC0415

    await AuditWatch(state, settings.log.audit_days, time.time).run()


async def _follow_site(state: Path) -> None:
    """Bring here what other machines write, whenever this one is one of a site, for ever."""
    while True:
        await _wait_until((state / state_files.SITE_LINK).exists, ACCOUNTS_S)
        # a machine alone has a smaller keeper
        from oborona.daemon.site.watch import SiteWatch  # noqa: PLC0415

        await SiteWatch(state).run()


async def _watch_held_mail(settings: Settings, name: str, state: Path) -> None:
    """Tell people of held mail, for ever, once any was held."""
    await _wait_until(
        lambda: (
            (state / state_files.HELD_LAST).exists() or (state / state_files.QUEUE_HELD).exists()
        ),
        ACCOUNTS_S,
    )
    # a site that holds nothing has a smaller keeper
    from oborona.daemon.alarm.alarm import open_alarm  # noqa: PLC0415
    from oborona.daemon.keeper.held_mail_watch import HeldMailWatch  # noqa: PLC0415

    alarm = open_alarm(settings, name, time.time)
    hours, senders = settings.alarm.held_hours, settings.alarm.tell_senders
    try:
        await HeldMailWatch(state, hours, alarm, time.time, senders=senders).run()
    finally:
        await alarm.close(ALERT_GRACE_S)


async def _watch_event_logs(settings: Settings, name: str, state: Path) -> None:
    """Tell people of event logs that are late, for ever."""
    # a site without event logs has a smaller keeper
    from oborona.daemon.alarm.alarm import open_alarm  # noqa: PLC0415
    from oborona.daemon.keeper.event_log_watch import EventLogWatch  # noqa: PLC0415

    alarm = open_alarm(settings, name, time.time)
    try:
        await EventLogWatch(state, settings.eventlog, alarm, time.time).run()
    finally:
        await alarm.close(ALERT_GRACE_S)


async def _watch_addresses(
    settings: Settings, name: str, state: Path, policy: Callable[[], PolicyInForce]
) -> None:
    """Ask DNS lists about own addresses, for ever."""
    # a site that does not watch has a smaller keeper
    from oborona.accounts.excess_spool import ExcessSpool  # noqa: PLC0415
    from oborona.daemon.alarm.alarm import open_alarm  # noqa: PLC0415
    from oborona.daemon.keeper.address_watch import AddressWatch  # noqa: PLC0415
    from oborona.daemon.keeper.listing_report import ListingReport  # noqa: PLC0415
    from oborona.reputation.networks import network  # noqa: PLC0415
    from oborona.resolver import FollowedServers, open_resolver  # noqa: PLC0415

    alarm = open_alarm(settings, name, time.time)
    async with open_resolver(settings.dns) as resolver:
        servers = FollowedServers(resolver, follows=not settings.dns.servers)
        watch = AddressWatch(
            state,
            map(network, settings.site.networks.split()),
            every_hours=settings.addresses.every_hours,
            policy=policy(),
            asker=resolver,
            report=ListingReport(
                state / state_files.ACCOUNTS, alarm, ExcessSpool(state / state_files.EXCESSES)
            ),
            clock=time.time,
        )
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(watch.run())
                group.create_task(servers.watch())
        finally:
            watch.close()
            await alarm.close(ALERT_GRACE_S)


async def _watch_flows(
    settings: Settings, state: Path, policy: Callable[[], PolicyInForce]
) -> None:
    """Try limits on flows, for ever."""
    # a site that has no flows has a smaller keeper
    from oborona.accounts.excess_spool import ExcessSpool  # noqa: PLC0415
    from oborona.daemon.keeper.flow_limit_watch import FlowLimitWatch  # noqa: PLC0415

    watch = FlowLimitWatch(
        state,
        policy(),
        ExcessSpool(state / state_files.EXCESSES),
        named=bool(settings.flows.believed),
        clock=time.time,
    )
    try:
        await watch.run()
    finally:
        watch.close()
