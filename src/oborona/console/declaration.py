"""Pages, each declared once: its route, who may open it, its place in the menu.

    @page("GET", "/track", Right.TRACK, menu=marked("Track"), order=20)
    async def show_track(visit: Visit) -> web.Response: ...

A `{part}` of a path is one segment of it, in `visit.parts`.  A page of GET changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from aiohttp import web

from oborona.people.rights import Right

if TYPE_CHECKING:
    from oborona.console.visit import Visit

FORM_BYTES: Final = 64 * 1024  # of a form without files

Handler = Callable[["Visit"], Awaitable[web.Response]]
_Handler = TypeVar("_Handler", bound=Handler)

_PART: Final = re.compile(r"\{([a-z_]+)\}")


class PageDeclaration(NamedTuple):
    """A page.

    Args:
        method: GET or POST.
        path: with its parts in braces.
        handler: makes it.
        needs: one of these rights; none: whoever is signed in.
        public: who is not signed in may open it, too.
        menu: its name there, in English; empty: it is not in it.
        order: its place there.
        max_bytes: of a form.
        signed: its path itself says who may, as a mail program follows it: no form of ours.
        enrols: who has to set up a second step first is let in, too.
        whole: it stands in the menu of those alone who see the mail of the whole site.
    """

    method: str
    path: str
    handler: Handler
    needs: tuple[Right, ...] = ()
    public: bool = False
    menu: str = ""
    order: int = 100
    max_bytes: int = FORM_BYTES
    signed: bool = False
    enrols: bool = False
    whole: bool = False

    def is_for(self, rights: Iterable[Right]) -> bool:
        """Return whether who has these rights may open it."""
        return not self.needs or not set(self.needs).isdisjoint(rights)


PAGES: Final[list[PageDeclaration]] = []
"""All of them, once `oborona.console.page_list.load_pages` ran."""


def page(
    method: str,
    path: str,
    *needs: Right,
    public: bool = False,
    menu: str = "",
    order: int = 100,
    max_bytes: int = FORM_BYTES,
    signed: bool = False,
    enrols: bool = False,
    whole: bool = False,
) -> Callable[[_Handler], _Handler]:
    """Declare a function as a page."""
    assert method in {"GET", "POST"}, "a browser's forms know no others"
    assert public or not signed, f"{path}: who is signed in sends forms of ours"
    assert not (needs and public), f"{path}: who is not signed in has no rights"

    def declare(handler: _Handler) -> _Handler:
        known = {(one.method, _PART.sub("{}", one.path)) for one in PAGES}
        assert (method, _PART.sub("{}", path)) not in known, f"{method} {path} is declared twice"
        PAGES.append(
            PageDeclaration(
                method, path, handler, needs, public, menu, order, max_bytes, signed, enrols, whole
            )
        )
        return handler

    return declare
