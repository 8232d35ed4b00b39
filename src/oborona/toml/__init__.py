"""TOML files that an admin writes: read whole, with the place of every key and value.

`read` and `parse` give a `TomlDocument`; `table` checks one of its tables against a msgspec Struct.
Whatever is wrong becomes a `ConfigError` (or the subclass asked for) that names file, line, column
and what would be right.
"""

from oborona.toml.document import MAX_FILE_BYTES, TomlDocument, octets, parse, read
from oborona.toml.place import TomlPlace
from oborona.toml.spelling import did_you_mean
from oborona.toml.table import GivenValue, allowed, convert, hints, show, table

__all__ = [
    "MAX_FILE_BYTES",
    "GivenValue",
    "TomlDocument",
    "TomlPlace",
    "allowed",
    "convert",
    "did_you_mean",
    "hints",
    "octets",
    "parse",
    "read",
    "show",
    "table",
]
