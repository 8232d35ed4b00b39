"""Every act on a site: its name in the audit log, whether it can be tried first, what undoes it.

An act changes something: the site's stores, its policy, the mail server, or files that it is told
to write.  What only reads is an ask, and has no row.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple


class RowNeed(Enum):
    """What becomes of an act whose row can't be begun."""

    FIRST = "refused"
    ROOM = "done, as it frees a full disk; its row is written after it"
    ROOT = "refused, but to who may not write it: they are shown the change, and can't make it"
    STATE = "done, as it puts the state back; its row is written into what was put back"


class ActDeclaration(NamedTuple):
    """An act."""

    dry: bool = False  # it can be tried: it says what it would do, and does nothing
    undo: str = ""  # the act that takes it back; empty = none does exactly that
    need: RowNeed = RowNeed.FIRST


ACTS: Final = {
    "account.ban": ActDeclaration(dry=True, undo="account.unban"),
    "account.forget": ActDeclaration(dry=True),
    "account.import": ActDeclaration(),
    "account.limit": ActDeclaration(dry=True, undo="account.unban"),
    "account.trust": ActDeclaration(dry=True, undo="account.untrust"),
    "account.unban": ActDeclaration(dry=True, undo="account.ban"),
    "account.untrust": ActDeclaration(dry=True, undo="account.trust"),
    "addresses.assign": ActDeclaration(),
    "alarm.test": ActDeclaration(dry=True),
    "appeals.answer": ActDeclaration(dry=True, undo="appeals.reopen"),
    "appeals.reopen": ActDeclaration(dry=True, undo="appeals.answer"),
    "appeals.send": ActDeclaration(),
    "campaigns.decide": ActDeclaration(dry=True, undo="campaigns.undecide"),
    "campaigns.take": ActDeclaration(dry=True, undo="campaigns.take"),
    "campaigns.undecide": ActDeclaration(dry=True, undo="campaigns.decide"),
    "cases.note": ActDeclaration(dry=True),
    "cases.snooze": ActDeclaration(dry=True, undo="cases.snooze"),
    "counters.compact": ActDeclaration(need=RowNeed.ROOM),
    "counters.forget": ActDeclaration(dry=True),
    "eventlog.backfill": ActDeclaration(),
    "eventlog.backfill_remove": ActDeclaration(need=RowNeed.ROOM),
    "eventlog.forget": ActDeclaration(),
    "eventlog.install_model": ActDeclaration(undo="eventlog.remove_model"),
    "eventlog.pass": ActDeclaration(),
    "eventlog.remove_model": ActDeclaration(undo="eventlog.install_model"),
    "eventlog.say": ActDeclaration(dry=True, undo="eventlog.say"),
    "eventlog.suppress": ActDeclaration(dry=True, undo="eventlog.unsuppress"),
    "eventlog.unsuppress": ActDeclaration(dry=True, undo="eventlog.suppress"),
    "events.restore": ActDeclaration(dry=True, undo="events.take_back"),
    "events.take_back": ActDeclaration(dry=True, undo="events.restore"),
    "export.write": ActDeclaration(dry=True),
    "feed.roll_back": ActDeclaration(dry=True, undo="feed.update"),
    "feed.update": ActDeclaration(dry=True, undo="feed.roll_back"),
    "incident.close": ActDeclaration(dry=True),
    "incident.report": ActDeclaration(),
    "incident.take": ActDeclaration(dry=True),
    "incident.undo": ActDeclaration(dry=True),
    "keys.add": ActDeclaration(dry=True, undo="keys.remove"),
    "keys.remove": ActDeclaration(dry=True),
    "lists.add": ActDeclaration(dry=True, undo="lists.undo"),
    "lists.import": ActDeclaration(dry=True, undo="lists.undo"),
    "lists.remove": ActDeclaration(dry=True, undo="lists.undo"),
    "lists.undo": ActDeclaration(dry=True, undo="lists.undo"),
    "mail_server.attach": ActDeclaration(True, "mail_server.detach", RowNeed.ROOT),
    "mail_server.detach": ActDeclaration(True, "mail_server.attach", RowNeed.ROOT),
    "model.anew": ActDeclaration(dry=True),
    "model.export": ActDeclaration(),
    "model.final_auto": ActDeclaration(dry=True),
    "model.final_install": ActDeclaration(dry=True, undo="model.final_rollback"),
    "model.final_remove": ActDeclaration(dry=True, undo="model.final_rollback"),
    "model.final_rollback": ActDeclaration(dry=True, undo="model.final_rollback"),
    "model.import": ActDeclaration(dry=True),
    "model.rollback": ActDeclaration(dry=True),
    "model.unlearn": ActDeclaration(dry=True, undo="teach"),
    "move_in.amavis": ActDeclaration(dry=True),
    "move_in.mailcow": ActDeclaration(dry=True),
    "move_in.rspamd": ActDeclaration(dry=True),
    "move_in.spamassassin": ActDeclaration(dry=True),
    "outgoing.drop": ActDeclaration(need=RowNeed.ROOM),
    "outgoing.hold": ActDeclaration(dry=True, undo="outgoing.release"),
    "outgoing.release": ActDeclaration(),
    "outgoing.reset": ActDeclaration(dry=True),
    "own.allow": ActDeclaration(dry=True, undo="own.restore"),
    "own.deny": ActDeclaration(dry=True, undo="own.restore"),
    "own.digest": ActDeclaration(dry=True, undo="own.digest"),
    "own.not_spam": ActDeclaration(dry=True, undo="own.take_back"),
    "own.remove": ActDeclaration(dry=True, undo="own.restore"),
    "own.restore": ActDeclaration(dry=True, undo="own.restore"),
    "own.say_again": ActDeclaration(dry=True, undo="own.take_back"),
    "own.strict": ActDeclaration(dry=True, undo="own.strict"),
    "own.take_back": ActDeclaration(dry=True, undo="own.say_again"),
    "passkeys.remove": ActDeclaration(dry=True),
    "people.add": ActDeclaration(dry=True, undo="people.forget"),
    "people.end_session": ActDeclaration(dry=True),
    "people.forget": ActDeclaration(dry=True),
    "people.link": ActDeclaration(dry=True),
    "people.off": ActDeclaration(dry=True, undo="people.on"),
    "people.on": ActDeclaration(dry=True, undo="people.off"),
    "people.roles": ActDeclaration(dry=True, undo="people.roles"),
    "personal.allow": ActDeclaration(dry=True, undo="personal.remove"),
    "personal.deny": ActDeclaration(dry=True, undo="personal.remove"),
    "personal.import": ActDeclaration(dry=True),
    "personal.remove": ActDeclaration(dry=True, undo="personal.import"),
    "personal.strict": ActDeclaration(dry=True, undo="personal.strict"),
    "policy.approve": ActDeclaration(dry=True, undo="policy.roll_back"),
    "policy.decline": ActDeclaration(dry=True),
    "policy.draft_drop": ActDeclaration(dry=True),
    "policy.draft_entry": ActDeclaration(dry=True, undo="policy.draft_entry"),
    "policy.draft_new": ActDeclaration(dry=True, undo="policy.draft_drop"),
    "policy.draft_rebase": ActDeclaration(dry=True),
    "policy.draft_set": ActDeclaration(dry=True, undo="policy.draft_set"),
    "policy.draft_test": ActDeclaration(dry=True, undo="policy.draft_write"),
    "policy.draft_write": ActDeclaration(dry=True, undo="policy.draft_write"),
    "policy.migrate": ActDeclaration(dry=True),
    "policy.propose": ActDeclaration(dry=True, undo="policy.decline"),
    "policy.publish": ActDeclaration(dry=True, undo="policy.roll_back"),
    "policy.reload": ActDeclaration(),
    "policy.share": ActDeclaration(dry=True, undo="policy.roll_back"),
    "policy.roll_back": ActDeclaration(dry=True, undo="policy.roll_back"),
    "recheck.discard": ActDeclaration(dry=True),
    "recheck.look": ActDeclaration(dry=True, undo="recheck.undo"),
    "recheck.resume": ActDeclaration(dry=True),
    "recheck.undo": ActDeclaration(dry=True),
    "reputation.clear": ActDeclaration(dry=True, undo="reputation.set"),
    "reputation.export": ActDeclaration(dry=True),
    "reputation.forgive": ActDeclaration(dry=True),
    "reputation.import": ActDeclaration(dry=True),
    "reputation.note": ActDeclaration(dry=True),
    "reputation.set": ActDeclaration(dry=True, undo="reputation.clear"),
    "set_apart.remove": ActDeclaration(dry=True, need=RowNeed.ROOM),
    "signatures.accept": ActDeclaration(dry=True, undo="signatures.remove"),
    "signatures.add": ActDeclaration(dry=True, undo="signatures.remove"),
    "signatures.decline": ActDeclaration(dry=True, undo="signatures.reopen"),
    "signatures.expire": ActDeclaration(dry=True, undo="signatures.expire"),
    "signatures.export": ActDeclaration(),
    "signatures.import": ActDeclaration(dry=True, undo="signatures.remove"),
    "signatures.mode": ActDeclaration(dry=True, undo="signatures.mode"),
    "signatures.propose": ActDeclaration(dry=True, undo="signatures.decline"),
    "signatures.remove": ActDeclaration(dry=True, undo="signatures.import"),
    "signatures.reopen": ActDeclaration(dry=True, undo="signatures.decline"),
    "site.backup": ActDeclaration(),
    "site.begin": ActDeclaration(undo="site.leave"),
    "site.forget": ActDeclaration(),
    "site.join": ActDeclaration(undo="site.leave"),
    "site.leave": ActDeclaration(undo="site.join"),
    "site.restore": ActDeclaration(need=RowNeed.STATE),
    "teach": ActDeclaration(dry=True, undo="model.unlearn"),
}
