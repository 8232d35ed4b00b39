"""Words of the desk for readers, which pages translate.

They stand here as the desk writes them: pages load nothing of what judges mail.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from oborona.console.language import marked

BECAUSE: Final = (
    marked("its mail server was asked to come again later"),
    marked("its mail server is known for sending unwanted mail"),
    marked("it was not accepted for your address"),
    marked("it looks like a mass mailing"),
    marked("it looks like an attempt to get at passwords or money"),
    marked("its sender could not be confirmed"),
    marked("it is built as programs for unwanted mail build it"),
    marked("it is written as unwanted mail is"),
    marked("it looks like unwanted mail"),
)
"""Why mail was kept away, where the site's policy has no words of its own."""

REFUSED: Final = (
    marked(
        "this letter was not taken in, so it is not here: allow its sender, and ask them to send "
        "it again"
    ),
    marked(
        "this letter holds a file that may harm your computer, so it stays where it is; ask who "
        "runs the mail server if you need it"
    ),
    marked(
        "who runs the mail server has decided about this sender, for everybody; only they can "
        "change it"
    ),
    marked("there is no such letter of yours, or it is no longer known"),
    marked("that is your own address"),
    marked("you have said no such thing"),
)
"""Why an act of a reader is not done."""

FATES: Final = {
    "moves": marked("It goes to your inbox in a moment, unless you have opened it by then."),
    "moved": marked("It was moved to your inbox before."),
    "inbox": marked("It is in your inbox already."),
    "by_hand": marked("What you said is kept. Move the letter in your mail program."),
    "stays": marked(
        "What you said is kept. The letter could not be moved again: move it in your mail program."
    ),
}
"""What becomes of a copy that is no spam."""

KINDS: Final = {
    "address": marked("address"),
    "claimed": marked("address that is not proved"),
    "sender": marked("sender of the envelope"),
    "list": marked("mailing list"),
    "domain": marked("domain"),
    "text": marked("letters with a text like one you marked"),
}
"""What entries of lists are about."""


class StrictnessChoice(NamedTuple):
    """How strictly mail is looked at."""

    name: str
    factor: float
    text: str


STRICTNESS: Final = (
    StrictnessChoice("stricter", 0.75, marked("stricter: more goes to Junk")),
    StrictnessChoice("site", 1.0, marked("as everybody here")),
    StrictnessChoice("milder", 1.5, marked("milder: less goes to Junk")),
)
