"""Comments that stand beside entries, and what an admin would wonder about later."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from oborona.desk.lists.files import SiteList, implicit_list
from oborona.desk.site import Site
from oborona.reputation.locallists import ListAction
from oborona.reputation.subject import ListSubject


def note_of(reason: str, author: str) -> str:
    """Return the comment beside what somebody added: one printable line."""
    who = f"{author}, {time.strftime('%Y-%m-%d')}"
    return printable(f"{reason.strip()} ({who})" if reason.strip() else who)


def printable(text: str) -> str:
    """Return a text as one line."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def warnings_of(site: Site, site_list: SiteList, added: Sequence[str]) -> Iterator[str]:
    """Yield what an admin would wonder about later: an entry that another list outweighs, or that
    counts only when proved.
    """
    lists = site.policy().local_lists
    implicit = implicit_list(site_list.name)
    action = (
        site_list.list.action
        if site_list.list is not None
        else implicit.action
        if implicit is not None
        else None
    )
    for entry in added:
        of = (
            ListSubject.FROM
            if "@" in entry
            else ListSubject.CLIENT
            if _numeric(entry)
            else ListSubject.RDNS
        )
        probe = entry if not entry.startswith("@") else f"x{entry}"
        listing = lists.look(of, probe.removeprefix(".").partition("/")[0])
        if listing is not None and listing.action is not action:
            yield (
                f"{listing.list} has {listing.entry} and would {listing.action.value}: "
                f"the narrower decides, of equals the denial"
            )
    if action is ListAction.ALLOW and any(not _numeric(entry) for entry in added):
        yield (
            "a name or mail address is let in when SPF, DKIM or the client's own "
            "name proves it; where it was not, oborona explain ID says so"
        )


def _numeric(entry: str) -> bool:
    return ":" in entry or entry.replace(".", "").replace("/", "").isdigit()
