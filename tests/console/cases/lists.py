"""The site's lists."""

import msgspec

from oborona.desk.acts.list_import import EntryForm, ImportedEntries
from oborona.desk.acts.lists import ChangedList, RestoredList
from oborona.desk.asks.lists import ShownList, ShownListEntry, SiteLists
from oborona.desk.call import UndoCall
from oborona.people.rights import Role
from oborona.reputation.locallists import ListAction
from oborona.reputation.locallists.foreign_formats import ForeignFormat
from oborona.reputation.subject import ListSubject
from oborona.types import RuleMode
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
UNDO = UndoCall(call="lists.undo", asked={"name": "allow"})
IMPORTED = ImportedEntries(
    name="SITE_ALLOW",
    called="allow",
    path="site-allow.list",
    changed=[f"a{number}.example" for number in range(130)],
    same=["bank.example"],
    warnings=["wide <b>"],
    undo=UNDO,
    form=ForeignFormat.RSPAMD,
    passed_over=[(7, '"/<b>\u202e/i" is no name'), *((n, "is none") for n in range(8, 120))],
    rewritten=[EntryForm(line=3, written="*.BAD.example", entry=".bad.example")],
    rewritten_more=200,
)
NOTHING = msgspec.structs.replace(
    IMPORTED, changed=[], passed_over=[], rewritten=[], rewritten_more=0, warnings=[], undo=None
)
SHOWN = [
    ShownList(
        name="SITE_ALLOW", action=ListAction.ALLOW, of=[ListSubject.CLIENT, ListSubject.FROM],
        entries=1_234, mode=RuleMode.LIVE, file="/etc/oborona/policy.d/site-allow.list",
    ),
    ShownList(
        name="<b>INLINE", action=ListAction.DENY, of=[ListSubject.RDNS], entries=1,
        mode=RuleMode.SHADOW, file=None,
    ),
]  # fmt: skip
MANY = [ShownListEntry(name="allow", entry=f"a{n}.example", comment="joe") for n in range(700)]

CASES = [
    PageCase(
        name="lists",
        path="/lists",
        answers={"lists.show": msgspec.to_builtins(SiteLists(to_begin={"deny": "deny"}))},
        texts=("begin with their first entry", "refuses"),
    ),
    PageCase(
        name="lists-many",
        path="/lists",
        answers={"lists.show": msgspec.to_builtins(SiteLists(lists=SHOWN))},
        texts=("lets in", "1 234", "on trial", "<b>INLINE", "stand in the policy"),
    ),
    PageCase(
        name="lists-cut",
        path="/lists?name=allow",
        answers={"lists.show": msgspec.to_builtins(SiteLists(entries=MANY))},
        texts=("The first 500 of 700 entries.",),
    ),
    PageCase(
        name="lists-found",
        path="/lists?name=allow&find=BANK",
        answers={"lists.show": msgspec.to_builtins(SiteLists(entries=[*MANY, ENTRY]))},
        texts=("1 entry", "All entries", "U+202Ebank.example<b>"),
    ),
    PageCase(
        name="lists-not-found",
        path="/lists?name=allow&find=none",
        answers={"lists.show": msgspec.to_builtins(SiteLists(entries=MANY))},
        texts=("None found",),
    ),
    PageCase(
        name="lists-auditor",
        path="/lists?name=allow",
        role=Role.AUDITOR,
        answers={"lists.show": msgspec.to_builtins(SiteLists(entries=[]))},
        texts=("None yet",),
    ),
    PageCase(
        name="lists-import",
        path="/lists/import",
        form={"name": "allow", "content": "*.BAD.example x\r\n/<b>/i\r\n", "form": "rspamd"},
        answers={"lists.import": msgspec.to_builtins(IMPORTED)},
        texts=(
            "What would be done",
            "Added130",
            "left as they are1",
            "Taken in another form201",
            "can't be used113",
            '"/<b>U+202E/i" is no name',
            "And 83 more.",
            "*.BAD.example",
            "And 30 more.",
            "Reason",
        ),
    ),
    PageCase(
        name="lists-imported",
        path="/lists/import",
        form={"name": "allow", "content": "a", "step": "do", "reason": "r", "key": "k"},
        answers={"lists.import": msgspec.to_builtins(IMPORTED)},
        texts=("Done", "Undo"),
    ),
    PageCase(
        name="lists-import-nothing",
        path="/lists/import",
        form={"name": "allow", "content": "bank.example", "step": "do", "reason": "r", "key": "k"},
        answers={"lists.import": msgspec.to_builtins(NOTHING)},
        texts=("Nothing changes.",),
    ),
    PageCase(
        name="lists-import-empty",
        path="/lists/import",
        form={"name": "allow", "content": " "},
        status=422,
        texts=("Choose a file, or paste entries.",),
    ),
    PageCase(
        name="lists-undone",
        path="/lists/undo",
        form={
            "call": "lists.undo",
            "asked": '{"name":"allow"}',
            "step": "do",
            "reason": "r",
            "key": "k",
        },
        answers={
            "lists.undo": msgspec.to_builtins(
                RestoredList(
                    name="SITE_ALLOW",
                    called="allow",
                    path="x",
                    entries=1_234,
                    back=1,
                    gone=0,
                    undo=UNDO,
                )
            )
        },
        texts=("Done", "It has 1 234 entries again."),
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
