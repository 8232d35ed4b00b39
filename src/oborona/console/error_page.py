"""Pages of what can't be shown, in one vocabulary: not found, not yours, purged, wrong, too much,
slow, away, broken.
"""

from __future__ import annotations

from typing import Final

from aiohttp import web

from oborona.console.desk_client import AWAY, SLOW, DeskError
from oborona.console.language import gettext, marked
from oborona.console.names import RIGHTS
from oborona.console.store_state import empty_words, trouble_words
from oborona.console.visit import Visit
from oborona.people.rights import Right

TITLES: Final = {
    400: marked("This can't be read"),
    403: marked("Not yours to see"),
    404: marked("None found"),
    405: marked("Not done this way"),
    409: marked("Somebody was quicker"),
    410: marked("Purged"),
    413: marked("Too large"),
    422: marked("This can't be done"),
    429: marked("Too much at once"),
    500: marked("A fault of ours"),
    502: marked("A fault of ours"),
    AWAY: marked("Not available now"),
    SLOW: marked("This takes longer than usual"),
}
TEXTS: Final = {
    400: marked("What your browser sent is not what this page takes."),
    403: marked("Your roles do not include this."),
    404: marked("There is nothing under this address, or it is not within what you may see."),
    405: marked("This address is for a form, or has none."),
    410: marked("It was here and is no longer kept."),
    413: marked("This is more than the page takes."),
    429: marked("Please wait a moment, and try again."),
    500: marked("Nothing of what you asked is lost. The log of the server has what happened."),
    502: marked("Nothing of what you asked is lost. The log of the server has what happened."),
    AWAY: marked(
        "The desk, which answers for this console, can't be reached. Mail is filtered all the same."
    ),
    SLOW: marked("No answer came in time. Mail is filtered all the same."),
}
KNOWN: Final = 500  # other statuses are shown as this one


def error_page(
    visit: Visit,
    status: int,
    told: str = "",
    *,
    text: str = "",
    wait_s: float = 0.0,
    **headers: str,
) -> web.Response:
    """Return a page that says why there is no other.

    Args:
        visit: who asked.
        status: of HTTP.
        told: why, in the desk's words.
        text: why, translated; empty: what is said of all with this status.
        wait_s: seconds after which it may be tried again; 0: nothing is said of that.
        headers: of the answer.
    """
    known = status if status in TITLES else KNOWN
    answer = visit.render(
        "state.html",
        status,
        status=known,
        title=gettext(TITLES[known]),
        text=text or (gettext(TEXTS[known]) if known in TEXTS else ""),
        told=told,
        wait_s=round(wait_s),
    )
    answer.headers.update(headers)
    if wait_s:
        answer.headers["Retry-After"] = str(round(wait_s))
    return answer


def desk_error_page(visit: Visit, error: DeskError) -> web.Response:
    """Return the page of a call that has no answer."""
    if error.status == 403 and visit.person is not None and not visit.person.is_staff:
        return error_page(visit, 404)
    if error.not_yet:
        return _not_yet_page(visit, error.store)
    trouble, staff = trouble_words(error), visit.person is not None and visit.person.is_staff
    silent = error.status in {AWAY, SLOW, 502} and not (trouble and staff)
    told = "" if silent else error.text
    return error_page(visit, error.status, told, text=trouble, wait_s=error.wait_s)


def _not_yet_page(visit: Visit, store: str) -> web.Response:
    """Return the page of what is empty as its store was not begun; a table of it is none."""
    words, status = empty_words(store), 404 if visit.query("as") else 200
    return visit.render("not_yet.html", status, text=words)


def not_yours(visit: Visit, needs: tuple[Right, ...]) -> web.Response:
    """Return the page of somebody whose rights are too few; readers hear that there is none."""
    if visit.person is None or not visit.person.is_staff:
        return error_page(visit, 404)
    rights = ", ".join(gettext(RIGHTS[right]) for right in needs)
    return error_page(
        visit, 403, gettext("It needs the right to: %(rights)s.") % {"rights": rights}
    )
