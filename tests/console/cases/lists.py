"""The site's lists."""

import msgspec

from oborona.desk.acts.lists import ChangedList
from oborona.desk.asks.lists import ShownListEntry, SiteLists
from oborona.desk.call import UndoCall
from tests.console.page_case import PageCase

ENTRY = ShownListEntry(name="allow", entry="\u202ebank.example<b>", comment="anna <i>")
ADDED = ChangedList(
    name="allow",
    called="allow",
    path="allow.txt",
    changed=["bank.example"],
    same=[],
    warnings=["wide <b>"],
    undo=UndoCall(call="lists.undo", asked={"name": "allow"}),
)

CASES = [
    PageCase(
        name="lists",
        path="/lists",
        answers={"lists.show": msgspec.to_builtins(SiteLists(to_begin={"deny": "deny"}))},
        texts=("begins with its first entry",),
    ),
    PageCase(
        name="lists-entries",
        path="/lists?name=allow",
        answers={"lists.show": msgspec.to_builtins(SiteLists(entries=[ENTRY]))},
        texts=("U+202Ebank.example<b>", "anna <i>", "Add entries"),
    ),
    PageCase(
        name="lists-added",
        path="/lists/add",
        form={"name": "allow", "entries": "bank.example", "step": "do", "reason": "r", "key": "k"},
        answers={"lists.add": msgspec.to_builtins(ADDED)},
        texts=("Done", "Undo", "wide <b>"),
    ),
]
