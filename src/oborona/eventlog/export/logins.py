"""The log `logins`: who logged in, and who could not, as mail servers report it at the HTTP door.

It is one of ours that comes by the spool of events, as those of others do (`event_spool.py`). Its
person is the account, by the name that was tried, in small letters.
"""

from __future__ import annotations

from typing import Final

from oborona.eventlog.declared_log import DeclaredLog
from oborona.eventlog.ruled_logs import own_schema
from oborona.eventlog.schema import FraudLine, LogSchema
from oborona.policy import own_event_logs
from oborona.policy.event_columns import ColumnKind

LOGIN, FAILURE = own_event_logs.LOGINS.events
PERSON_PREFIX: Final = "account "
AT, EVENT, PERSON = "at", "event", "person"
"""Of a record: when, what, and who with the prefix; its other members are columns."""
_NOBODY: Final = 1e12  # rows of a day

SCHEMA: Final = own_schema(
    own_event_logs.LOGINS,
    id_kind=ColumnKind.TEXT,  # its batch of the spool and the place in it
    thresholds={LOGIN: 5000.0, FAILURE: 1000.0},
    # strangers fail at anybody's account: nobody is caught for it
    fraud=FraudLine(share=1.0, least=_NOBODY, many=_NOBODY),
)
DECLARED: Final = DeclaredLog(
    schema=SCHEMA,
    folder=None,
    source={
        AT: ColumnKind.TIME,
        EVENT: ColumnKind.TEXT,
        PERSON: ColumnKind.TEXT,
        **own_event_logs.LOGINS.columns,
    },
    id="",
    time=AT,
    event=EVENT,
    person=(PERSON,),
    info=None,
)


class LoginLog:
    """What is to be known of the log without its tables."""

    schema: Final[LogSchema] = SCHEMA

    @classmethod
    def person_names(cls, name: str) -> tuple[str, ...]:
        """Return what the log may call a person whom people call so: a login."""
        return (f"{PERSON_PREFIX}{name}",)
