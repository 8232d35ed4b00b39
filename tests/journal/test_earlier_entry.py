"""An entry as an earlier version wrote it: facts declared elsewhere, the same names in the same
order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from oborona.journal import rows
from oborona.journal.entry import JournalEntry
from oborona.policy.fact_table import KEPT
from oborona.recheck.facts_at_delivery import facts_then

ROW = Path(__file__).with_name("earlier_row.msgpack")
"""Columns of the verdict, columns of the evidence, names of the facts: of a letter with a link and
a PDF.
"""

EXPECTED = {
    "time_now": 1_795_170_000.0,
    "client_country": None,
    "lists_client": frozenset({"ZEN"}),
    "sender_proved": "ann@a.example",
    "repuser_first": True,
    "spf_result": "pass",
    "recipients": 1,
    "message_tree": "multipart/mixed(text/html,application/pdf)",
    "subject": "win 1000 now",
    "subject_capitals": 0.5,
    "reply_to_differs": True,
    "text_language": "en",
    "links_domains": frozenset({"one.example"}),
    "attachments_names": frozenset({"invoice.pdf"}),
    "dmarc_aligned": True,
    "model_content": None,
    "mass_recipients": 0,
}


def earlier() -> tuple[JournalEntry, list[str]]:
    verdict, evidence, names = msgspec.msgpack.decode(ROW.read_bytes())
    return rows.unpack(
        rows.widen(tuple(verdict)), tuple(evidence), rows.names_json(tuple(names))
    ), names


def test_an_entry_of_an_earlier_version_is_read_whole() -> None:
    entry, names = earlier()
    facts = facts_then(entry)
    assert facts is not None
    assert {name: getattr(facts, name) for name in EXPECTED} == EXPECTED
    for name in names:
        value: Any = getattr(facts, name)
        stored: Any = entry.facts[name]
        # what is not kept fails when it is compared
        assert value == (frozenset(stored) if isinstance(stored, list) else stored), name


def test_names_of_facts_are_stored_in_the_order_of_earlier_versions() -> None:
    _, names = earlier()
    assert [name for name in KEPT if name in names] == [
        name for name in names if name != "text_raw"
    ]
    assert not {"known", "text", "text_raw", "rspamd_symbols", "spamd_symbols"} & set(KEPT)
