"""Searches for mail, and what they find."""

from oborona.ident import first_id_at, to_text
from oborona.journal.refusal import Told
from oborona.people.rights import Role
from oborona.types import Action
from tests.console.page_case import PageCase
from tests.console.stub_desk import NOW, DeskRefusalError
from tests.console.track_answers import ID, found_mail, found_message, refused_message

BOTH = found_mail(found_message(), refused_message())

CASES = [
    PageCase(
        name="track",
        path="/track?q=from%3Abank.example+to%3Ajoe+since%3A7d",
        answers=BOTH,
        texts=(
            "2 rows.",
            "Searched as far back as you asked.",
            "Junk 112 / 100",
            "joe@shop.example was moved to INBOX",
            "joe@shop.example says: not spam",
            "refused at RCPT TO",
            "7 times, until",
            "the text came 312 times",
            "Your card <b>",
            "A file has the newest 2 000 rows at most.",
        ),
    ),
    PageCase(
        name="track-bounce",
        path="/track",
        role=Role.AUDITOR,
        answers=found_mail(
            found_message(
                sender="", login="ann", recipients=tuple(f"p{n}@shop.example" for n in range(9))
            ),
            refused_message(recipients=(), verdict=Action.TEMPFAIL, told=Told.NEVER),
            found_message(verdict=Action.ACCEPT, moves=(), said=()),
        ),
        texts=("no sender", "and 6 more", "signed in as ann", "put off it left", "inbox"),
    ),
    PageCase(
        name="track-older",
        path="/track?moved=yes&q=verdict%3Ajunk",
        answers=found_mail(
            *(found_message(id=to_text(first_id_at(NOW - n))) for n in range(50)), older=ID
        ),
        texts=("50 rows, and there are more.", "Older", "only moved"),
    ),
    PageCase(
        name="track-none",
        path="/track?q=to%3Ajoe%40shop.example+%22a%27b%22&moved=yes",
        answers=found_mail(read_whole=("2026-11-14", "2026-11-15")),
        texts=(
            "None found",
            "Three things look alike",
            "grep -iF -- joe@shop.example /var/log/mail.log | grep -iF -- 'a'\"'\"'b'",
            "2026-11-14, 2026-11-15",
            "a copy was moved",
        ),
    ),
    PageCase(
        name="track-empty",
        path="/track",
        answers=found_mail(since=None, refusals_since=None),
        texts=("None yet", "The journal is empty."),
    ),
    PageCase(
        name="track-slow",
        path="/track?q=nothing",
        answers=found_mail(older=ID, reached=ID),
        texts=("longer than usual", "Nothing was found so far.", "Go on", "Searched 0 days"),
    ),
    PageCase(
        name="track-bad",
        path="/track?q=score%3E%3Cb%3E",
        answers={"messages.find": DeskRefusalError(422, "score: '<b>' is no number")},
        status=422,
        texts=("score: '<b>' is no number",),
    ),
    PageCase(
        name="track-away",
        path="/track",
        answers={"messages.find": DeskRefusalError(503, "the journal is away")},
        status=503,
        texts=("Not available now",),
    ),
]
