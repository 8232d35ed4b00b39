"""Why mail was refused, in words for who sent it: what the matter is, and what he may mend."""

from __future__ import annotations

from typing import Final, NamedTuple

from oborona.console.language import gettext, marked


class ReasonText(NamedTuple):
    """A kind of reason."""

    name: str  # for the site's own people
    what: str
    mend: str


REASONS: Final = {
    "listed": ReasonText(
        marked("listed client"),
        marked(
            "The mail server that sent it is on a list of servers from which unwanted mail comes, "
            "or much of it came from there before."
        ),
        marked(
            "Have who runs that server look whether it stands on public block lists, end what sent "
            "unwanted mail, and ask the list to take it off."
        ),
    ),
    "site-list": ReasonText(
        marked("list of the site"),
        marked("This site takes no mail from that server, address or domain."),
        marked("If that is a mistake, appeal."),
    ),
    "sender": ReasonText(
        marked("sender not proved"),
        marked("It could not be proved that the mail comes from whom it names as its sender."),
        marked(
            "Have who runs your domain check its SPF record, its DKIM signatures and its DMARC "
            "policy: the server that sent the mail has to be one that your domain allows. Mail "
            "that was forwarded on its way often fails here."
        ),
    ),
    "name": ReasonText(
        marked("name of the server"),
        marked("The mail server that sent it has no good name in the DNS."),
        marked(
            "Its address needs a name (reverse DNS, PTR) that leads back to the same address, and "
            "it should say such a name when it greets (HELO)."
        ),
    ),
    "content": ReasonText(
        marked("content"),
        marked("The message, taken with how it was sent, looks like unwanted mail."),
        marked(
            "Write to those alone who want it. Short links, links to fresh domains, pictures in "
            "the place of text, and attached programs or archives do harm."
        ),
    ),
    "account": ReasonText(
        marked("blocked account"),
        marked("The account that sent it may send no mail through this site now."),
        marked(
            "Somebody else may have its password: change it, and ask who runs the account what was "
            "sent by it."
        ),
    ),
    "limit": ReasonText(
        marked("limit"),
        marked("More was sent within a while than may be."),
        marked("Send less at a time, and the rest later."),
    ),
    "greylisted": ReasonText(
        marked("greylisting"),
        marked("Mail that nothing is known of is asked to come once more."),
        marked(
            "Nothing is to be done: your mail server tries again by itself. If it does not, ask who "
            "runs it."
        ),
    ),
    "busy": ReasonText(
        marked("too much at once"),
        marked("Too many messages or connections came at that moment."),
        marked("Nothing is to be done: your mail server tries again by itself."),
    ),
    "form": ReasonText(
        marked("form"),
        marked("The message has more header lines than mail has."),
        marked("Send it anew, by another program."),
    ),
}
"""By the desk's names of kinds."""
STATES: Final = {
    "waiting": marked("waits"),
    "pardoned": marked("pardoned"),
    "declined": marked("declined"),
}
"""What became of an appeal, for the site's own people."""


def reason_names(kinds: list[str]) -> str:
    """Return kinds in a few words."""
    return ", ".join(gettext(REASONS[kind].name) for kind in kinds if kind in REASONS)
