"""The recheck's view of the journal: many messages at once, most of them only with what the
prefilter needs.

Damaged rows are skipped: one that can't be read hides no other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from oborona import ident
from oborona.journal import rows
from oborona.journal.entry import CopyDelivery
from oborona.journal.evidence import without_counts
from oborona.journal.queries import DAMAGED, ENTRIES, JournalReader, entry_of
from oborona.recheck.engine.copies import PASSED
from oborona.recheck.engine.model import MessageBrief, RecheckCandidate

_BRIEF: Final = "SELECT v.id, v.policy_version, e.shingles, e.kept FROM verdict v JOIN evidence e ON e.id = v.id WHERE "
_GOOD: Final = "v.verdict = 'accept' AND "
_PASSED: Final = f"verdict IN ({', '.join(repr(one.value) for one in PASSED)})"


class DeliveredMessages(JournalReader):
    """The journal, read-only; `await DeliveredMessages.open(path)`."""

    async def taken(self, ids: Sequence[int]) -> list[RecheckCandidate]:
        """Return messages with what was found in them late, and where their copies went, in the
        order of their ids' list; those that are gone or damaged are left out.

        Raises:
            StoreError: the file cannot be read.
        """
        stored_rows = await self._of(f"{ENTRIES} WHERE v.id IN ({{}})", ids)
        late = await self._of(f"SELECT {rows.LATE_COLUMNS} FROM late WHERE id IN ({{}})", ids)  # noqa: S608 - names of ours
        went = await self._went(ids)
        candidates = []
        for message in ids:
            try:
                if message in stored_rows:
                    later = rows.unpack_late(late[message]) if message in late else None
                    *plain, packed, names = stored_rows[message]
                    entry = entry_of((*plain, None, names))
                    if packed is not None:  # its counts are asked for only where it moves
                        entry = msgspec.structs.replace(entry, kept=without_counts(packed))
                    candidates.append(
                        RecheckCandidate(entry, later, tuple(went.get(message, ())), packed)
                    )
            except DAMAGED:
                continue
        return candidates

    async def briefs(self, after: int, before: int, most: int) -> list[MessageBrief]:
        """Return messages that were accepted, oldest first.

        Args:
            after: ids above this.
            before: and below this.
            most: so many.

        Raises:
            StoreError: the file cannot be read.
        """
        sql = f"{_BRIEF}{_GOOD}v.id > ? AND v.id < ? ORDER BY v.id LIMIT ?"
        return _briefs(await self._fetch(sql, (after, before, most)))

    async def briefs_of(self, ids: Sequence[int]) -> list[MessageBrief]:
        """Return some messages, in the order of their ids' list.

        Raises:
            StoreError: the file cannot be read.
        """
        rows_found = await self._of(f"{_BRIEF}v.id IN ({{}})", ids)
        return _briefs([rows_found[message] for message in ids if message in rows_found])

    async def newest(self, since: int, before: int | None, most: int) -> list[int]:
        """Return the ids of messages that passed, newest first.

        Args:
            since: no lower ids.
            before: ids below this; None = any.
            most: so many.

        Raises:
            StoreError: the file cannot be read.
        """
        sql = f"SELECT id FROM verdict WHERE id >= ? AND id < ? AND {_PASSED} ORDER BY id DESC LIMIT ?"  # noqa: S608
        rows_found = await self._fetch(
            sql, (since, (1 << 63) - 1 if before is None else before, most)
        )
        return [number for (number,) in rows_found]

    async def passed_since(self, when: float) -> int:
        """Return how many messages passed from a time on, Unix seconds.

        Raises:
            StoreError: the file cannot be read.
        """
        sql = f"SELECT count(*) FROM verdict WHERE id >= ? AND {_PASSED}"  # noqa: S608 - literals above
        ((number,),) = await self._fetch(sql, (ident.first_id_at(when),))
        return int(number)

    async def of_recipient(self, address: str, since: float, most: int) -> list[int]:
        """Return the ids of messages that passed and have a recipient, newest first.

        Looks through all of the time.

        Args:
            address: as the envelope has it, in any case.
            since: Unix seconds.
            most: so many.

        Raises:
            StoreError: the file cannot be read.
        """
        sql = (
            f"SELECT v.id FROM verdict v, json_each(v.recipients) r WHERE v.id >= ? AND v.{_PASSED}"  # noqa: S608
            " AND typeof(v.recipients) = 'text' AND lower(r.value) = ? ORDER BY v.id DESC LIMIT ?"
        )
        rows_found = await self._fetch(sql, (ident.first_id_at(since), address.lower(), most))
        return [number for (number,) in rows_found]

    async def _went(self, ids: Sequence[int]) -> Mapping[int, list[CopyDelivery]]:
        rows_found: dict[int, list[CopyDelivery]] = {}
        marks = ", ".join("?" * len(ids))
        sql = f"SELECT {rows.WENT_COLUMNS} FROM went WHERE id IN ({marks})"  # noqa: S608 - names of ours
        for row in await self._fetch(sql, tuple(ids)):
            rows_found.setdefault(row[0], []).append(rows.unpack_went(row))
        return rows_found

    async def _of(self, sql: str, ids: Sequence[int]) -> Mapping[int, tuple[Any, ...]]:
        if not ids:
            return {}
        marks = ", ".join("?" * len(ids))
        return {row[0]: row for row in await self._fetch(sql.format(marks), tuple(ids))}


def _briefs(rows_found: Sequence[tuple[Any, ...]]) -> list[MessageBrief]:
    briefs = []
    for number, version, stored, packed in rows_found:
        try:
            briefs.append(MessageBrief(number, version, rows.unpack_shingles(stored), packed))
        except DAMAGED:
            continue
    return briefs
