"""What each source sent in each window of 60 s: the arithmetic, exact.

    times that can't be → clamped → rows to windows, by the time of receipt → by source: packets,
    octets, streams, most at once, destinations, refused

**At once**: the begins and ends of a source's streams in order of time, +1 and -1, a begin before
an end at the same millisecond; the largest sum.  **Refused**: streams that ended before mail was
passed, as far as sizes show it: under 600 octets from client to server in a stream whose begin was
seen, or ended by RST.  Servers that refuse a client before DATA leave such streams, and
spam sources collect them.

A stream is a record: one that outlives the exporter's active timeout comes in parts, and each is a
stream here as it is a flow to nfdump.  Such a part, which has no SYN, is never refused by its size.

A sampled exporter sees some packets: packets and octets are scaled up by whoever knows the rate;
streams, destinations, at once and refused can't be, and of a source that was seen by such an
exporter they are not judged.

Source: D. Schatzmann, M. Burkhart, T. Spyropoulos, "Inferring Spammers in the Network Core", PAM
2009, sections 3 and 4 (sizes of flows tell what servers decided).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from oborona.accounts.flows.addresses import AddressIds
from oborona.accounts.flows.records import FlowRecords, Numbers

WINDOW_S: Final = 60
AHEAD_MS: Final = 60_000  # a flow's time may lie so far after its receipt: clocks differ
REFUSED_OCTETS: Final = 600  # client to server: a session that was refused before DATA
SYN: Final = 0x02
RST: Final = 0x04
WRONG_SHARE: Final = 0.01  # of an exporter's records: above it, its times say nothing


class FlowWindow(msgspec.Struct, frozen=True, kw_only=True):
    """The sums of one window, a row for each source, ascending."""

    start: int  # Unix seconds
    source: AddressIds
    packets: Numbers
    octets: Numbers
    streams: Numbers
    at_once: Numbers  # -1: not known, the times of an exporter can't be believed
    destinations: Numbers
    refused: Numbers  # streams
    sampled: npt.NDArray[np.bool_]  # a sampled exporter told of it
    pair_source: npt.NDArray[np.int64]  # row of the source, ascending
    pair_destination: AddressIds  # each destination of a source once


class ExporterSums(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one exporter from its records."""

    records: int
    times_wrong: int
    lag_s: float  # from a stream's end to its receipt, of nine in ten records at most this
    shared: float  # share of its records of which another exporter has told, too


def clamp(records: FlowRecords, active_timeout_s: float) -> npt.NDArray[np.bool_]:
    """Put times that can't be right to the time of receipt, in place.

    Returns which records were changed: begin or end more than `active_timeout_s` before their
    receipt or more than a minute after it, or an end before its begin.
    """
    earliest = records.received - int(active_timeout_s * 1000)
    latest = records.received + AHEAD_MS
    wrong: npt.NDArray[np.bool_] = (
        (records.begin < earliest)
        | (records.end < earliest)
        | (records.begin > latest)
        | (records.end > latest)
        | (records.end < records.begin)
    )
    for times in (records.begin, records.end):
        times[wrong] = records.received[wrong]
    return wrong


def windows(
    records: FlowRecords,
    start: int,
    rotation_s: int,
    *,
    sampled: Sequence[bool],
    timeless: Sequence[bool],
) -> list[FlowWindow]:
    """Return the windows of one file, oldest first, empty ones left out.

    Args:
        records: clamped, of our sources alone.
        start: of the file, Unix seconds.
        rotation_s: how long a file is; a record received outside belongs to the nearest window.
        sampled: [exporter] whether it samples.
        timeless: [exporter] whether its times can't be believed.
    """
    last = max(rotation_s // WINDOW_S - 1, 0)
    if not last:
        return [_window(records, start, sampled, timeless)] if len(records) else []
    place = np.clip((records.received - start * 1000) // (WINDOW_S * 1000), 0, last)
    return [
        _window(records.only(place == window), start + int(window) * WINDOW_S, sampled, timeless)
        for window in np.unique(place)
    ]


def _window(
    records: FlowRecords, start: int, sampled: Sequence[bool], timeless: Sequence[bool]
) -> FlowWindow:
    source, row = np.unique(records.source, return_inverse=True)
    size = len(source)
    at_once = _most_at_once(row, records.begin, records.end, size)
    pair_row, pair_destination = _pairs(row, records.destination)
    untimed = _touched(row, records.exporter, timeless, size)
    at_once[untimed] = -1
    is_refused = ((records.octets < REFUSED_OCTETS) & _begun(records.flags)) | (
        records.flags & RST != 0
    )
    return FlowWindow(
        start=start,
        source=source,
        packets=_sums(row, records.packets, size),
        octets=_sums(row, records.octets, size),
        streams=np.bincount(row, minlength=size).astype(np.int64),
        at_once=at_once,
        destinations=np.bincount(pair_row, minlength=size).astype(np.int64),
        refused=np.bincount(row[is_refused], minlength=size).astype(np.int64),
        sampled=_touched(row, records.exporter, sampled, size),
        pair_source=pair_row,
        pair_destination=pair_destination,
    )


def _begun(flags: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Return which records have the begin of their stream, or may have it: no flags are told."""
    begun: npt.NDArray[np.bool_] = (flags & SYN != 0) | (flags == 0)
    return begun


def _sums(row: npt.NDArray[np.intp], amounts: Numbers, size: int) -> Numbers:
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, row, amounts)  # bincount would sum in floating point
    return sums


def _touched(
    row: npt.NDArray[np.intp], exporter: npt.NDArray[np.uint16], marked: Sequence[bool], size: int
) -> npt.NDArray[np.bool_]:
    """Return which sources have a record of an exporter that is marked."""
    touched = np.zeros(size, dtype=bool)
    if any(marked):
        touched[row[np.array(marked, dtype=bool)[exporter]]] = True
    return touched


def _pairs(
    row: npt.NDArray[np.intp], destination: AddressIds
) -> tuple[npt.NDArray[np.int64], AddressIds]:
    """Return each (row, destination) once, ascending."""
    known, place = np.unique(destination, return_inverse=True)
    place += row * len(known)
    place.sort()  # np.unique of nothing else looks each up, at several times the cost
    if len(place):
        place = place[np.concatenate([[True], place[1:] != place[:-1]])]
    return place // len(known), known[place % len(known)]


def _most_at_once(row: npt.NDArray[np.intp], begin: Numbers, end: Numbers, size: int) -> Numbers:
    """Return the largest number of streams of each source at one time.

    A row, a time and a begin (0) or end (1) lie in one number, so that one plain sort puts them in
    order; the running sum is back at zero where the next source begins.
    """
    first = int(begin.min())
    bits = max(int(end.max()) - first, 1).bit_length() + 1
    events = np.empty(2 * len(row), dtype=np.int64)
    source = row.astype(np.int64) << bits
    for places, times, mark in ((slice(len(row)), begin, 0), (slice(len(row), None), end, 1)):
        events[places] = times - first << 1 | mark | source
    del source
    events.sort()
    steps = 1 - 2 * (events & 1).astype(np.int8)
    events >>= bits
    running = np.cumsum(steps, dtype=np.int32)
    starts = np.searchsorted(events, np.arange(size))
    most: Numbers = np.maximum.reduceat(running, starts).astype(np.int64)
    return most


def exporter_sums(
    records: FlowRecords, wrong: npt.NDArray[np.bool_], exporters: int
) -> list[ExporterSums]:
    """Return what the records say of each exporter.

    Args:
        records: clamped.
        wrong: which of them were.
        exporters: how many there are.
    """
    counts = np.bincount(records.exporter, minlength=exporters)
    wrongs = np.bincount(records.exporter[wrong], minlength=exporters)
    shared = _shared(records, exporters) if np.count_nonzero(counts) > 1 else [0.0] * exporters
    lags = (records.received - records.end) / 1000
    return [
        ExporterSums(
            records=int(counts[number]),
            times_wrong=int(wrongs[number]),
            lag_s=max(0.0, float(np.quantile(lags[(records.exporter == number) & ~wrong], 0.9)))
            if counts[number] > wrongs[number]
            else 0.0,
            shared=shared[number],
        )
        for number in range(exporters)
    ]


def _shared(records: FlowRecords, exporters: int) -> list[float]:
    """Return which share of each exporter's streams another has told of, too."""
    _key, place = np.unique(
        np.stack([records.source, records.destination, records.source_port.astype(np.int64)]),
        axis=1,
        return_inverse=True,
    )
    told = np.unique(place.reshape(-1).astype(np.int64) * exporters + records.exporter)
    stream, exporter = told // exporters, told % exporters
    several = np.bincount(stream)[stream] > 1
    total = np.bincount(exporter, minlength=exporters)
    twice = np.bincount(exporter[several], minlength=exporters)
    return [float(twice[n] / total[n]) if total[n] else 0.0 for n in range(exporters)]
