"""What is said of stores: one that was not begun yet is empty, and each says how it gets filled;
one that can't be used is told as what it is, so that nobody takes it for a desk that is down.
"""

from __future__ import annotations

from typing import Final

from oborona.console.desk_client import DeskError
from oborona.console.language import gettext, marked

NOT_BEGUN: Final = marked("Nothing of this kind has happened on this site yet.")
EMPTY: Final = {
    "journal.db": marked("No message has come here yet: what comes is found a second later."),
    "counters": marked("Nothing is counted yet: counts begin with the first message."),
    "secret": marked("Oborona has not run here yet: what it needs is made when it starts."),
    "audit.db": marked("Nobody has done anything here yet that the log would hold."),
    "accounts.db": marked("No account was imported yet; `oborona account import` does it."),
    "recheck.db": marked(
        "Nothing was moved yet: the recheck moves a message when it is judged otherwise later."
    ),
    "events.db": marked("Nobody has reported a message yet."),
    "feedback.db": marked("The content model was taught nothing yet."),
    "flows.db": marked("No flows of the network were read yet."),
    "chart.db": marked("There are no charts yet: the keeper draws them, every ten minutes."),
    "signatures.db": marked("There are no signatures yet."),
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
