"""The SQL by which ClickHouse adds up one window of flows, so that one row for each source comes
back.

    the admin's SELECT → records of SMTP whose source is ours → times clamped
    → what each exporter told → the sums of each source

The rules are those of `windows.py` and `measurement.py`.  Two things are this source's own: a time
of 0 is not told, and a source with such a record has no `at once`; a record without addresses, or
with an amount that can't be, is counted as wrong.  NULL is what is not told.

Addresses are IPv6 within, IPv4 mapped into it, and come back as numbers of 128 bits.

Source: ClickHouse, "SQL Reference" (clickhouse.com/docs): maxIntersections, groupUniqArray,
quantileExactInclusive; queries with parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv6Address
from typing import Final

import msgspec

from oborona.accounts.flows.addresses import OwnSources
from oborona.accounts.flows.json_lines import MOST, MOST_EXPORTERS, MOST_RATE
from oborona.accounts.flows.measurement import MOST as MOST_SCALED
from oborona.accounts.flows.measurement import FlowRules
from oborona.accounts.flows.records import SMTP_PORTS, TCP
from oborona.accounts.flows.spool_records import MOST_DESTINATIONS
from oborona.accounts.flows.windows import AHEAD_MS, REFUSED_OCTETS, RST, SYN, WINDOW_S

COLUMNS: Final = (
    *("received", "begin", "end"),  # Unix milliseconds; 0: not told
    *("source", "destination"),  # text
    *("source_port", "destination_port", "protocol"),
    *("packets", "octets", "flags"),
    *("exporter", "sampling"),
)
EARLIEST_MS: Final = 10**11  # 1973: what is below is seconds, by a SELECT that forgot to multiply
LATEST_MS: Final = 10**14
_NONE: Final = "toIPv6('::')"

_OURS: Final = f"""\
SELECT client, server, teller, port, packets, octets, flags, sampling,
    client != {_NONE} AND server != {_NONE} AND packets BETWEEN 0 AND {MOST}
        AND octets BETWEEN 0 AND {MOST} AND at BETWEEN {EARLIEST_MS} AND {LATEST_MS} AS valid,
    begin != 0 AND end != 0 AS timed,
    timed AND (
        begin < at - {{timeout:Int64}} OR end < at - {{timeout:Int64}}
        OR begin > at + {AHEAD_MS} OR end > at + {AHEAD_MS} OR end < begin
    ) AS wrong,
    if(timed AND NOT wrong, begin, at) AS first,
    if(timed AND NOT wrong, end, at) AS last,
    at
FROM (
    SELECT
        toIPv6OrDefault(ifNull(toString(source), '')) AS client,
        toIPv6OrDefault(ifNull(toString(destination), '')) AS server,
        toIPv6OrDefault(ifNull(toString(exporter), '')) AS teller,
        toUInt16(ifNull(source_port, 0)) AS port,
        toInt64(ifNull(packets, -1)) AS packets,
        toInt64(ifNull(octets, -1)) AS octets,
        bitAnd(toUInt32(ifNull(flags, 0)), 255) AS flags,
        greatest(1, least(toInt64(ifNull(sampling, 1)), {MOST_RATE})) AS sampling,
        toInt64(ifNull(begin, 0)) AS begin,
        toInt64(ifNull(end, 0)) AS end,
        toInt64(ifNull(received, 0)) AS told_at,
        if(told_at = 0, toInt64({{start:UInt32}}) * 1000, told_at) AS at
    FROM (
@records@
    )
    WHERE protocol = {TCP} AND destination_port IN {SMTP_PORTS}
)
WHERE (client = {_NONE} OR @own@)
    AND (empty({{believed:Array(IPv6)}}) OR has({{believed:Array(IPv6)}}, teller))"""  # noqa: S608 - numbers of ours

_EXPORTERS: Final = f"""\
SELECT toUInt128(teller), countIf(valid), countIf(NOT valid), countIf(valid AND wrong),
    quantileExactInclusiveIf(0.9)(at - last, valid AND timed AND NOT wrong) / 1000,
    maxIf(sampling, valid)
FROM (
@ours@
)
GROUP BY teller
ORDER BY countIf(valid) DESC, teller
LIMIT {MOST_EXPORTERS}"""  # noqa: S608 - a number of ours

_SHARED: Final = """\
SELECT toUInt128(teller), countIf(several) / count()
FROM (
    SELECT groupUniqArray(teller) AS tellers, length(tellers) > 1 AS several
    FROM (
@ours@
    )
    WHERE valid
    GROUP BY client, server, port
)
ARRAY JOIN tellers AS teller
GROUP BY teller"""

_SOURCES: Final = f"""\
SELECT toUInt128(client),
    toInt64(least(sum(toInt128(scaled_packets)), {MOST})),
    toInt64(least(sum(toInt128(scaled_octets)), {MOST})),
    count(),
    if(max(untimed), -1, toInt64(maxIntersections(first * 2, last * 2 + 1))),
    uniqExact(server),
    countIf(scaled_octets < {REFUSED_OCTETS} AND (bitAnd(flags, {SYN}) != 0 OR flags = 0)
        OR bitAnd(flags, {RST}) != 0),
    max(rate > 1),
    arrayMap(each -> toUInt128(each), groupUniqArray({MOST_DESTINATIONS})(server))
FROM (
    SELECT *,
        indexOf({{sampled:Array(IPv6)}}, teller) AS place,
        if(place = 0, 1, arrayElement({{rates:Array(Int64)}}, place)) AS rate,
        if(rate > 1, least(packets, intDiv({MOST_SCALED}, rate)) * rate, packets) AS scaled_packets,
        if(rate > 1, least(octets, intDiv({MOST_SCALED}, rate)) * rate, octets) AS scaled_octets,
        NOT timed OR has({{timeless:Array(IPv6)}}, teller) AS untimed
    FROM (
@ours@
    )
    WHERE valid
)
GROUP BY client"""  # noqa: S608 - numbers of ours


class ClickHouseQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query, and its parameters by name, as ClickHouse takes them over HTTP."""

    sql: str
    parameters: Mapping[str, str] = {}


class WindowQueries:
    """The queries of one window.

    Args:
        records: the admin's SELECT, with the parameters `start` and `end`.
        start: of the window, Unix seconds.
        rules: how records are understood.
        own: which sources are ours.
    """

    def __init__(self, records: str, start: int, rules: FlowRules, own: OwnSources) -> None:
        self._ours = _OURS.replace("@own@", _is_own(own)).replace("@records@", _select(records))
        self._parameters = window_parameters(start) | {
            "timeout": str(int(rules.active_timeout_s * 1000)),
            "believed": _list(f"'{exporter}'" for exporter in sorted(rules.believed)),
        }

    def exporters(self) -> ClickHouseQuery:
        """Return what asks for a row of each exporter: `ExporterRow`, most records first."""
        return self._query(_EXPORTERS)

    def shared(self) -> ClickHouseQuery:
        """Return what asks which share of an exporter's streams others told of: `SharedRow`."""
        return self._query(_SHARED)

    def sources(self, rates: Mapping[str, int], timeless: Sequence[str]) -> ClickHouseQuery:
        """Return what asks for a row of each source: `SourceRow`.

        Args:
            rates: by exporter, of those that sample.
            timeless: exporters whose times can't be believed.
        """
        return self._query(
            _SOURCES,
            sampled=_list(f"'{exporter}'" for exporter in rates),
            rates=_list(map(str, rates.values())),
            timeless=_list(f"'{exporter}'" for exporter in timeless),
        )

    def _query(self, sql: str, **parameters: str) -> ClickHouseQuery:
        return ClickHouseQuery(
            sql=sql.replace("@ours@", self._ours), parameters=self._parameters | parameters
        )


def columns_query(records: str) -> ClickHouseQuery:
    """Return what asks for no record, and fails where the SELECT can't be."""
    return ClickHouseQuery(
        sql=f"SELECT {', '.join(COLUMNS)} FROM (\n{_select(records)}\n) LIMIT 0",  # noqa: S608 - the admin's own
        parameters=window_parameters(0),
    )


CLOCK: Final = ClickHouseQuery(sql="SELECT toUnixTimestamp(now())")


def window_parameters(start: int) -> dict[str, str]:
    """Return the parameters of the admin's SELECT."""
    return {"start": str(start), "end": str(start + WINDOW_S)}


def _select(records: str) -> str:
    """Return a SELECT that can stand in brackets on lines of its own."""
    return records.strip().rstrip(";").rstrip()


def _is_own(own: OwnSources) -> str:
    ranges = [
        f"client BETWEEN toIPv6('{IPv6Address(first)}') AND toIPv6('{IPv6Address(behind - 1)}')"
        for first, behind in own.mapped_ranges()
    ]
    return f"({' OR '.join(ranges)})" if ranges else "false"


def _list(parts: Iterable[str]) -> str:
    return f"[{','.join(parts)}]"
