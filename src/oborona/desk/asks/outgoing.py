"""The ask about outgoing mail that is held, as who may look into the queue wrote it down.

The desk starts no programs, and the queue is the mail server's.
"""

from __future__ import annotations

from typing import Final

import msgspec

from oborona import state_files
from oborona.accounts.held_mail import HeldMail
from oborona.desk.call import ask
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.people.caller import Caller
from oborona.people.rights import Right

LARGEST: Final = 1 << 16  # octets
_MAIL: Final = msgspec.json.Decoder(HeldMail)


class HeldMailQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What is held."""


class HeldMailAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What was held when it was last written down; None = it never was."""

    held: HeldMail | None


@ask("outgoing.held", Right.ACCOUNT_SEE)
def show_held_mail(site: Site, _caller: Caller, asked: HeldMailQuestion) -> HeldMailAnswer:
    """Return how much is held of which accounts, and since when."""
    assert asked is not None
    path = site.state / state_files.QUEUE_HELD
    try:
        with path.open("rb") as file:
            return HeldMailAnswer(held=_MAIL.decode(file.read(LARGEST)))
    except FileNotFoundError:
        return HeldMailAnswer(held=None)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError(f"{path}: damaged; it is written again within a day") from error
