"""What a column of a log of events holds: the one list of kinds, for tables and for rules."""

from __future__ import annotations

from enum import StrEnum


class ColumnKind(StrEnum):
    """What a column of a log holds; what is not known is none in all of them."""

    INTEGER = "integer"  # 64 bits, signed; rules calculate with it as a double
    NUMBER = "number"  # a double
    TEXT = "text"
    FLAG = "flag"  # true or false
    TIME = "time"  # a rule sees seconds since 1970; before that and from 2100 on it is none
    HASHED = "hashed"  # a keyed hash: rules count how many distinct ones there are, and no more
    SET = "set"  # a set of texts; one that is not known is empty
    ADDRESS = "address"  # a network address, as a text
