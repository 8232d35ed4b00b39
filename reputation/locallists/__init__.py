"""Lists that a site keeps itself: networks, names and mail addresses that are let in or kept out.

`read` turns the bytes of a list file into a `ListTable`, `entries` the entries written into a
policy file; `LocalLists.look` says which entry of which list is the narrowest around a client, a
name or a mail address.
"""

from oborona.reputation.locallists.entry import MAX_LINE
from oborona.reputation.locallists.lists import (
    SUBJECTS,
    ListAction,
    LocalList,
    LocalListMatch,
    LocalLists,
)
from oborona.reputation.locallists.read import MAX_ENTRIES, BrokenLine, entries, read
from oborona.reputation.locallists.table import ListEntryType, ListTable

__all__ = [
    "MAX_ENTRIES",
    "MAX_LINE",
    "SUBJECTS",
    "BrokenLine",
    "ListAction",
    "ListEntryType",
    "ListTable",
    "LocalList",
    "LocalListMatch",
    "LocalLists",
    "entries",
    "read",
]
