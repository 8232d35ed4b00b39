"""Which accounts are over a limit on flows: pure.

    sums of each address → of its network, or customer → over the limit? → an excess of each account
    that sent lately

Streams, packets, octets and refused add up.  Destinations and at once do not: the most of one
address in one minute is told.  They say nothing of a sampled exporter's streams, nor at once of an
exporter whose times can't be believed: such a subject gets no verdict, and is passed by.

An exporter that loses datagrams, or that nobody has named, can be wrong about who sent: what it
says is written down and told, and no account is stopped for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from oborona.accounts.excess import WINDOWS_S, Excess
from oborona.accounts.flows.store import ExporterWindow, SourceSums
from oborona.accounts.sending_account import KnownAccounts
from oborona.policy.flow_limit_table import FlowCount, FlowSubject, FlowWindowName
from oborona.policy.flow_limits import FlowFacts, FlowLimit

LOSS: Final = 0.01  # of an exporter's datagrams: above it no account is stopped
OF_STREAMS: Final = frozenset(
    {FlowCount.STREAMS, FlowCount.DESTINATIONS, FlowCount.AT_ONCE, FlowCount.REFUSED}
)
"""What a sampled exporter can't tell."""
MOST_OF_ONE: Final = frozenset({FlowCount.DESTINATIONS, FlowCount.AT_ONCE})
"""What does not add up over minutes and addresses."""


class FlowExcess(msgspec.Struct, frozen=True, kw_only=True):
    """A limit that was passed, and by whom."""

    limit: FlowLimit
    subject: str  # address, network, or id of a customer
    sums: SourceSums  # of the address that sent most, of the account
    account: str  # id; empty: nobody is known to have the address
    value: float
    most: float


class FlowRuling(msgspec.Struct, frozen=True, kw_only=True):
    """What limits on flows make of a window."""

    passed: tuple[FlowExcess, ...] = ()
    unjudged: tuple[tuple[str, str], ...] = ()  # limits and subjects that get no verdict
    faults: tuple[str, ...] = ()  # for the log: formulas that gave no number


def window_s(name: FlowWindowName) -> float:
    """Return the length of a window."""
    return WINDOWS_S[name]


def rule_on_flows(
    limits: Iterable[FlowLimit],
    sums: Mapping[FlowWindowName, Sequence[SourceSums]],
    fresh: int,
    accounts: KnownAccounts,
    now: float,
) -> FlowRuling:
    """Return which limits are passed, by whom.

    Args:
        limits: of the policy.
        sums: of each window that they ask for, a row for each address.
        fresh: Unix seconds; an account that sent nothing in windows from then on has no excess.
        accounts: of the site.
        now: Unix seconds.
    """
    passed: list[FlowExcess] = []
    unjudged: list[tuple[str, str]] = []
    faults: list[str] = []
    for limit in limits:
        for subject, rows in _subjects(limit.each, sums[limit.window], accounts).items():
            if all(row.latest < fresh for row in rows):
                continue
            value = _value(limit.count, rows)
            if value is None:
                unjudged.append((limit.name, subject))
                continue
            streams = sum(row.streams for row in rows)
            for account, most_of in _senders(rows, fresh, accounts):
                facts = _facts(most_of.address, streams, accounts, now)
                try:
                    most = limit.most(facts)
                    excused = limit.excused(facts)
                except Exception as error:  # noqa: BLE001 - an admin's formula: it stops nobody
                    faults.append(f"{limit.name}: {type(error).__name__}: {error}")
                    continue
                if most is None:
                    faults.append(f"{limit.name}: limit: none")
                elif value > most and not excused:
                    passed.append(
                        FlowExcess(
                            limit=limit,
                            subject=subject,
                            sums=most_of,
                            account=account,
                            value=value,
                            most=most,
                        )
                    )
    return FlowRuling(passed=tuple(passed), unjudged=tuple(unjudged), faults=tuple(faults))


def sure(exporters: Sequence[ExporterWindow], loss: Mapping[str, float], *, named: bool) -> bool:
    """Tell whether accounts may be stopped for what exporters say.

    Args:
        exporters: what they told lately.
        loss: share of datagrams that each lost.
        named: the settings name the exporters that are believed.
    """
    heard = {row.exporter for row in exporters if row.records}
    counted = {row.exporter for row in exporters if row.datagrams}
    return (
        named
        and bool(heard)
        and heard <= counted  # of a source that tells no datagrams, nobody knows what was lost
        and all(loss.get(exporter, 0.0) <= LOSS for exporter in heard)
    )


def excess_of(passed: FlowExcess, now: float, *, certain: bool) -> Excess:
    """Return what the inspector hears.

    Args:
        passed: of an account that is known.
        now: Unix seconds.
        certain: as of `sure`.
    """
    limit, sums = passed.limit, passed.sums
    evidence: dict[str, object] = {
        "each": limit.each,
        "of": passed.subject,
        "streams": None if sums.sampled else sums.streams,
        "packets": sums.packets,
        "octets": sums.octets,
        "destinations": None if sums.sampled else sums.destinations,
        "at_once": None if sums.sampled else sums.at_once,
        "refused": None if sums.sampled else sums.refused,
    }
    if not certain:
        evidence["doubt"] = "an exporter loses datagrams, or flows.exporters names none"
    return Excess(
        account=passed.account,
        limit=limit.name,
        metric=f"flow.{limit.count}",
        window=limit.window,
        value=passed.value,
        most=passed.most,
        at=now,
        address=sums.address,
        shadow=limit.shadow or not certain,
        evidence=evidence,
    )


def _subjects(
    each: FlowSubject, rows: Sequence[SourceSums], accounts: KnownAccounts
) -> dict[str, list[SourceSums]]:
    """Return the rows of each subject."""
    found: dict[str, list[SourceSums]] = {}
    for row in rows:
        match each:
            case FlowSubject.ADDRESS:
                subject = row.address
            case FlowSubject.NETWORK:
                subject = accounts.network(row.address)
            case FlowSubject.CUSTOMER:
                account = accounts.sender("", row.address)
                subject = account.customer if account is not None else ""
        if subject:
            found.setdefault(subject, []).append(row)
    return found


def _value(count: FlowCount, rows: Sequence[SourceSums]) -> float | None:
    """Return what was counted; None: nobody can tell."""
    if count in OF_STREAMS and any(row.sampled for row in rows):
        return None
    if count is FlowCount.AT_ONCE and any(not row.timed for row in rows):
        return None
    values = [float(getattr(row, count) or 0.0) for row in rows]
    return max(values) if count in MOST_OF_ONE else sum(values)


def _senders(
    rows: Sequence[SourceSums], fresh: int, accounts: KnownAccounts
) -> list[tuple[str, SourceSums]]:
    """Return the accounts that sent lately, each with its address that sent most."""
    found: dict[str, SourceSums] = {}
    for row in rows:
        if row.latest < fresh:
            continue
        account = accounts.sender("", row.address)
        key = account.id if account is not None else ""
        if key not in found or row.streams > found[key].streams:
            found[key] = row
    return list(found.items())


def _facts(address: str, streams: float, accounts: KnownAccounts, now: float) -> FlowFacts:
    facts = FlowFacts(address=address, streams=streams)
    account = accounts.sender("", address)
    if account is not None:
        facts.account = account.id
        account.tell(facts, now)
    return facts
