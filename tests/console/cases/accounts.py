"""Accounts: many, none, away; one that is well, one that is banned; what is said of them."""

from msgspec import to_builtins

from oborona.accounts.account import (
    Account,
    AccountBlock,
    AccountNetwork,
    AccountState,
    Customer,
    Trust,
)
from oborona.accounts.held_mail import HeldMail
from oborona.accounts.rating.rating import Penalty
from oborona.accounts.store.rows import AccountDeed, DeedKind
from oborona.desk.acts.accounts import AccountOutcome, ForgottenAccount
from oborona.desk.asks.accounts import (
    AccountDetails,
    AccountPage,
    AccountStanding,
    RatingExplanation,
)
from oborona.desk.asks.incidents import IncidentList
from oborona.desk.asks.outgoing import HeldMailAnswer
from oborona.desk.call import UndoCall
from oborona.people.rights import Role
from oborona.types import RuleMode
from tests.console.cases.incidents import LISTED
from tests.console.page_case import PageCase
from tests.console.stub_desk import NOW, DeskRefusalError

WELL = Account(
    id="anna@a.example",
    name="",
    since=0.0,
    first_seen=NOW - 900_000,
    rating=100,
    customer=None,
    logins=("anna@a.example",),
    networks=(),
    registration=None,
    trust=Trust(by="duty", at=NOW - 60, until=0.0, why="a customer for ten years"),
    block=None,
)
BANNED = Account(
    id="joe\u202e<b>/x",
    name="Joe's <i>",
    since=NOW - 900_000,
    first_seen=NOW - 900_000,
    rating=35,
    customer=Customer(id="c17", name="Shop\u202e <b>", contact="shop@a.example"),
    logins=("joe", "joe2"),
    networks=(AccountNetwork(network="192.0.2.0/28"),),
    registration=None,
    trust=None,
    block=AccountBlock(
        account="joe",
        state=AccountState.BANNED,
        until=NOW + 86_400,
        why="sends spam <b>",
        by="anna",
        incident=17,
    ),
)
GOOD = AccountStanding(account=WELL, state=AccountState.OPEN, trusted=True)
BAD = AccountStanding(account=BANNED, state=AccountState.BANNED, trusted=False)
RATING = RatingExplanation(
    account="joe",
    rating=35,
    stored=35,
    penalties=(
        Penalty(test="NEW", points=40, say="new <b>", mode=RuleMode.LIVE, at=NOW, until=0.0),
        Penalty(test="PHONE", points=25, say="phone", mode=RuleMode.SHADOW, at=NOW, until=NOW),
    ),
    facts={},
    changes=(),
)
CALM = RatingExplanation(account="anna", rating=100, stored=100, penalties=(), facts={}, changes=())
HELD = HeldMail(at=NOW, number=3, oldest=NOW - 7200, accounts=(("joe\u202e<b>", 3),))
AWAY = DeskRefusalError(503, "the store is away")
DONE = {"step": "do", "reason": "asked by phone", "key": "k1"}
UNBAN = UndoCall(call="account.unban", asked={"name": "joe"})
PAGES = {
    "account.list": to_builtins(AccountPage(accounts=(GOOD, BAD), next="joe")),
    "outgoing.held": to_builtins(HeldMailAnswer(held=HELD)),
}


def outcome(*, undo: UndoCall | None = None, done: bool = True, new: bool = False) -> object:
    """Return what the desk says of an act."""
    told = AccountOutcome(
        standing=None if new else BAD, done=done, new=new, until=NOW + 86_400, undo=undo
    )
    return to_builtins(told)


CASES = [
    PageCase(
        name="accounts",
        path="/accounts",
        answers=PAGES,
        texts=("anna@a.example", "banned: its mail is refused", "3 messages", "Older"),
    ),
    PageCase(
        name="accounts-none",
        path="/accounts?state=banned&customer=%22%3E%3Cb%3E",
        answers={
            "account.list": to_builtins(AccountPage(accounts=(), next=None)),
            "outgoing.held": to_builtins(HeldMailAnswer(held=None)),
        },
        texts=("No account is so.", "Nobody has looked into"),
    ),
    PageCase(
        name="accounts-none-yet",
        path="/accounts",
        answers={
            "account.list": to_builtins(AccountPage(accounts=(), next=None)),
            "outgoing.held": AWAY,
        },
        texts=("None yet", "What is held can't be read now."),
    ),
    PageCase(
        name="accounts-away",
        path="/accounts",
        answers=PAGES | {"account.list": AWAY},
        texts=("There is no file of accounts yet", "3 messages"),
    ),
    PageCase(name="accounts-named", path="/accounts?name=joe%2Fx", status=303),
    PageCase(
        name="account-banned",
        path="/account/joe%E2%80%AE%3Cb%3E%2Fx",
        answers={
            "account.show": to_builtins(
                AccountDetails(
                    standing=BAD,
                    deeds=(
                        AccountDeed(
                            at=NOW, by="anna", what=DeedKind.BAN, until=NOW + 60, why="spam <b>"
                        ),
                        AccountDeed(at=NOW, by="site", what=DeedKind.IMPORT),
                    ),
                )
            ),
            "account.explain": to_builtins(RATING),
            "incident.list": to_builtins(LISTED),
        },
        texts=(
            "The client is told: sends spam <b>",
            "incident 17",
            "Take its mail again",
            "on trial: takes nothing",
            "HOURLY",
        ),
    ),
    PageCase(
        name="account-well",
        path="/account/anna%40a.example",
        role=Role.AUDITOR,
        answers={
            "account.show": to_builtins(AccountDetails(standing=GOOD, deeds=())),
            "account.explain": to_builtins(CALM),
            "incident.list": to_builtins(IncidentList(incidents=(), next=None)),
        },
        texts=("a customer for ten years", "Nothing speaks against it."),
    ),
    PageCase(
        name="account-parts-away",
        path="/account/anna%40a.example",
        answers={
            "account.show": to_builtins(AccountDetails(standing=GOOD, deeds=())),
            "account.explain": AWAY,
            "incident.list": AWAY,
        },
        texts=("The rating can't be explained now.", "Trust no more", "Forget"),
    ),
    PageCase(
        name="account-none",
        path="/account/nobody",
        answers={"account.show": DeskRefusalError(404, "there is no account 'nobody'")},
        status=404,
        texts=("None found",),
    ),
    PageCase(
        name="account-ban",
        path="/accounts/act",
        form={"deed": "ban", "name": "joe\u202e<b>", "span": "1d"},
        answers={"account.ban": outcome()},
        texts=("What would be done", "Until", "Do it"),
    ),
    PageCase(
        name="account-ban-new",
        path="/accounts/act",
        form={"deed": "ban", "name": "joe", "span": ""},
        answers={"account.ban": outcome(new=True)},
        texts=("it was no account yet",),
    ),
    PageCase(
        name="account-ban-refused",
        path="/accounts/act",
        form={"deed": "limit", "name": "joe", "until": "inf", **DONE},
        answers={"account.limit": DeskRefusalError(422, "say until when it is limited <b>")},
        status=422,
        texts=("say until when it is limited <b>",),
    ),
    PageCase(
        name="account-banned-now",
        path="/accounts/act",
        form={"deed": "ban", "name": "joe", "span": "1d", **DONE},
        answers={"account.ban": outcome(undo=UNBAN)},
        texts=("Done", "Undo"),
    ),
    PageCase(
        name="account-nothing-done",
        path="/accounts/act",
        form={"deed": "unban", "name": "joe", **DONE},
        answers={"account.unban": outcome(done=False)},
        texts=("there is nothing to be done", "Back"),
    ),
    PageCase(
        name="account-forget",
        path="/accounts/act",
        form={"deed": "forget", "name": "joe"},
        answers={"account.forget": to_builtins(ForgottenAccount(account="joe"))},
        texts=("nothing brings it back",),
    ),
    PageCase(
        name="account-no-act",
        path="/accounts/act",
        form={"deed": "show", "name": "joe"},
        status=404,
        texts=("None found",),
    ),
]
