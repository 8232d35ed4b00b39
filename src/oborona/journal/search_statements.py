"""What a search asks SQLite: columns, tables, and conditions on them."""

from __future__ import annotations

from typing import Final

from oborona import ident
from oborona.journal.query import JournalQuery, QueryField
from oborona.journal.recipient_scope import NOBODY
from oborona.journal.search_condition import Condition, condition
from oborona.types import Action

COLUMNS: Final = (
    "id, time, verdict, score, line, decided_by, queue_id, message_id, client_ip, helo, sender, "
    "header_from, recipients, login,"
    " subject, size, rules, door"
)
REFUSALS: Final = (
    "(SELECT *, NULL AS message_id, NULL AS message_key, '' AS header_from, '' AS subject, "
    "0 AS size FROM refusal) AS r"
)
_SEEN: Final = COLUMNS.replace("recipients", "seen(recipients) AS recipients, recipients AS named")
SEEN_MESSAGES: Final = f"(SELECT {_SEEN}, message_key FROM verdict) AS verdict"  # noqa: S608 - names of ours
SEEN_REFUSALS: Final = (
    "(SELECT id, time, verdict, score, line, decided_by, queue_id, client_ip, helo, sender, login, "
    "rules, door, head, stage, told, network, seen(recipients) AS recipients, recipients AS named, "
    "NULL AS message_id, "
    "NULL AS message_key, '' AS header_from, '' AS subject, 0 AS size FROM refusal) AS r"
)
SEEN_COLUMNS: Final = f"{COLUMNS}, head, stage, told, '', 1, time"
LAST: Final = "ifnull((SELECT h.last FROM refusal h WHERE h.id = r.head), time)"
_TIMES: Final = "ifnull((SELECT h.times FROM refusal h WHERE h.id = r.head), 1)"
REFUSAL_COLUMNS: Final = f"{COLUMNS}, head, stage, told, network, {_TIMES}, {LAST}"
_LET_IN: Final = (Action.ACCEPT.value, Action.SPAM.value)


def seen_condition(query: JournalQuery, where: str, values: list[object]) -> Condition:
    """Return a condition on rows with recipients that may be seen.

    Whoever is asked for must be named at all: that is asked first, for it calls nobody back.
    """
    to = tuple(term for term in query.terms if term.field is QueryField.TO and not term.negated)
    near, first = condition(JournalQuery(terms=to))
    near = near.replace("recipients", "named")
    return f"{near} AND {where} AND recipients <> '{NOBODY}'", [*first, *values]


def asked_range(query: JournalQuery) -> tuple[int, int]:
    """Return the id after which a question begins, and the last one that it asks for."""
    first = -1 if query.since is None else ident.first_id_at(query.since) - 1
    first = first if query.after is None else max(first, query.after)
    last = ident.HIGHEST if query.until is None else ident.first_id_at(query.until) - 1
    return first, last if query.before is None else min(last, query.before - 1)


def asks_of_content(query: JournalQuery) -> bool:
    """Tell whether no refusal before the content can answer a question."""
    return (
        bool(query.sizes)
        or query.among is not None
        or any(
            not term.negated
            and (
                term.field in (QueryField.SUBJECT, QueryField.MESSAGE, QueryField.LIST)
                or (term.field is QueryField.VERDICT and term.text in _LET_IN)
            )
            for term in query.terms
        )
    )
