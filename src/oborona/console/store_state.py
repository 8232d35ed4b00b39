"""What is said of stores: one that was not begun yet is empty, and each says how it gets filled;
one that can't be used is told as what it is, so that nobody takes it for a desk that is down.
"""

from __future__ import annotations

from typing import Final

from oborona import state_files
from oborona.console.desk_client import DeskError
from oborona.console.language import gettext, marked

NOT_BEGUN: Final = marked("Nothing of this kind has happened on this site yet.")
EMPTY: Final = {
    state_files.JOURNAL: marked(
        "No message has come here yet: what comes is found a second later."
    ),
    state_files.COUNTERS: marked("Nothing is counted yet: counts begin with the first message."),
    state_files.SECRET: marked(
        "Oborona has not run here yet: what it needs is made when it starts."
    ),
    state_files.AUDIT: marked("Nobody has done anything here yet that the log would hold."),
    state_files.ACCOUNTS: marked("No account was imported yet; `oborona account import` does it."),
    state_files.MOVES: marked(
        "Nothing was moved yet: the recheck moves a message when it is judged otherwise later."
    ),
    state_files.EVENTS: marked("Nobody has reported a message yet."),
    state_files.FEEDBACK: marked("The content model was taught nothing yet."),
    state_files.FLOWS: marked("No flows of the network were read yet."),
    state_files.CHARTS: marked(
        "There are no charts yet: the keeper draws them, every ten minutes."
    ),
    state_files.SIGNATURES: marked("There are no signatures yet."),
}
"""How stores get filled, by the names of their files."""
TROUBLE: Final = {
    "newer": marked(
        "A store was written by a newer Oborona than the one that runs here, and is left as it is."
        " Mail is filtered all the same."
    ),
    "damaged": marked(
        "A store is damaged, and is left as it is. Mail is filtered all the same. The page Health"
        " and `oborona doctor` say how it is mended."
    ),
    "foreign": marked(
        "A store is another site's, or another backup's. The page Health and `oborona doctor` say"
        " more."
    ),
    "forbidden": marked(
        "The desk may not read a store: its file belongs to somebody else. Mail is filtered all"
        " the same."
    ),
    "full": marked("No room is left on the disk of the server. Nothing that is written is lost."),
    "held": marked("Another process holds a store just now. Please try again in a moment."),
    "unusable": marked("A store can't be used now. Mail is filtered all the same."),
    "busy": marked("The desk is asked too much at once. Please try again in a moment."),
}
"""Why a page is not available, by the desk's word for it."""


def empty_words(store: str) -> str:
    """Return how a store gets filled that was not begun yet, translated."""
    return gettext(EMPTY.get(store, NOT_BEGUN))


def trouble_words(error: DeskError) -> str:
    """Return what is wrong with a store, translated; empty: it is not a store's fault."""
    known = TROUBLE.get(error.why)
    return gettext(known) if known else ""
