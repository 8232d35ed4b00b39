"""The site's own allow and deny lists, and the entries of one."""

from __future__ import annotations

import msgspec

from oborona.desk.call import ask
from oborona.desk.lists.files import OWN, contents, file_of, find_list
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.reputation.locallists import ListAction
from oborona.reputation.locallists.edit import lines
from oborona.reputation.subject import ListSubject
from oborona.types import RuleMode


class ListQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Whose entries are shown: allow, deny or a list's name; empty = which lists there are."""

    name: str = ""


class ShownList(msgspec.Struct, frozen=True, kw_only=True):
    """A list.

    Args:
        name: of it.
        action: what it does.
        of: what of a message its entries are about.
        entries: how many.
        mode: live, or shadow.
        file: that has them; None = they stand in the policy.
    """

    name: str = msgspec.field(name="list")
    action: ListAction
    of: list[ListSubject]
    entries: int
    mode: RuleMode
    file: str | None


class ShownListEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a list, with the comment beside it."""

    name: str = msgspec.field(name="list")
    entry: str
    comment: str


class SiteLists(msgspec.Struct, frozen=True, kw_only=True):
    """Lists of the site.

    Args:
        lists: that there are; none where one was asked for.
        to_begin: names of those that begin with their first entry, and what they are called.
        entries: of the one that was asked for.
    """

    lists: list[ShownList] = msgspec.field(default_factory=list)
    to_begin: dict[str, str] = msgspec.field(default_factory=dict)
    entries: list[ShownListEntry] = msgspec.field(default_factory=list)


@ask("lists.show", Right.POLICY_SEE)
def show_lists(site: Site, caller: Caller, asked: ListQuestion) -> SiteLists:
    """Return the lists that there are, or the entries of one.

    Raises:
        PolicyError: the policy can't be read.
        UnknownListError: there is no such list, or it has no file.
        UnreadableListError: its file can't be read.
    """
    if asked.name:
        site_list = find_list(site, asked.name)
        return SiteLists(
            entries=[
                ShownListEntry(name=site_list.name, entry=line.entry, comment=line.comment)
                for line in lines(contents(site_list.path))
            ]
        )
    policy = site.policy()
    shown = []
    for local_list in policy.local_lists.lists:
        file = file_of(policy, local_list.name)
        shown.append(
            ShownList(
                name=local_list.name,
                action=local_list.action,
                of=list(local_list.of),
                entries=sum(map(len, local_list.tables)),
                mode=local_list.mode,
                file=None if file is None else str(file),
            )
        )
    names = {row.name for row in shown}
    to_begin = {implicit.name: implicit.word for implicit in OWN if implicit.name not in names}
    return SiteLists(lists=shown, to_begin=to_begin)
