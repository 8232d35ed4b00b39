"""A site with a small policy of its own, and who calls, for tests of drafts and publications."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oborona.desk import calls
from oborona.desk.configured_site import SiteSource
from oborona.desk.site import Site
from oborona.people.caller import Caller, CallWay, Scope, with_roles
from oborona.people.rights import Role
from tests.cli.journaled import LINKS, WORDS, policy

OVERLAY = "90-console.toml"


def new_site(folder: Path, mode: str = "overlay", *pieces: str, two_persons: str = "false") -> Site:
    """Return a site whose policy folder holds LINKS and WORDS, and nothing that ships."""
    own = policy(folder / "policy.d", *(pieces or (LINKS, WORDS)))
    (folder / "state").mkdir(exist_ok=True)
    (folder / "state/oborona.toml").touch()
    return Site(
        SiteSource(
            folder / "state/oborona.toml",
            {
                "paths.state": str(folder / "state"),
                "paths.policy": str(own),
                "paths.shipped_policy": "none",
                "paths.event_logs": str(folder / "eventlog.d"),
                "console.policy": mode,
                "console.two_persons": two_persons,
            },
        ),
        lambda _: None,
    )


def person(role: Role = Role.ADMIN, name: str = "anna") -> Caller:
    """Return somebody of a role."""
    return with_roles(
        name, frozenset({role}), Scope(), way=CallWay.PAGE, source="test", place="here"
    )


def call(site: Site, name: str, caller: Caller | None = None, /, **asked: Any) -> Any:
    """Make a call as the desk does once it knows who may."""
    found = calls.CALLS[name]
    return found.function(site, caller or person(), found.asked(**asked))


def new_draft(site: Site, text: str = "", name: str = "mine") -> None:
    """Begin a draft; its overlay says what is given."""
    call(site, "policy.draft_new", draft=name)
    if text:
        call(site, "policy.draft_write", draft=name, file=OVERLAY, text=text)


def own_files(site: Site) -> dict[str, str]:
    """Return what the policy folder holds, hidden things too."""
    folder = site.policy_folders.own
    assert folder is not None
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}
