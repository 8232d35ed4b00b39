"""What each command is: an ask, which only reads; an act, which has its rows in the audit log; or
exempt, and why.

A test holds that every command stands here.  An act's parameters but its reason are its arguments.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Ask(NamedTuple):
    """A command that only reads."""

    calls: tuple[str, ...]  # asks of the desk that tell the same


class ActCommand(NamedTuple):
    """A command that changes something."""

    act: str  # as of `oborona.audit.declarations`
    about: tuple[str, ...] = ()  # parameters that say what it is about
    when: str = ""  # the parameter with which it is an act, and else an ask; empty = it always is
    other: tuple[str, str] = ("", "")  # a parameter with which it is another act, and which
    alone: str = ""  # why no call of the desk does it: it is done at the terminal alone


class Exempt(NamedTuple):
    """A command that no call of the desk does, and that has no rows in the audit log."""

    why: str


_PROCESS: Final = Exempt("a process that runs until it is stopped: its log tells what it does")
_BY_UNIT: Final = Exempt("units run it: it does what earlier acts ask for, which have rows")
_OWN_FILES: Final = Exempt("it writes the files that it is told to, and nothing of the site")
_QUEUE: Final = "only root may touch the mail server's queue, and the desk starts no programs"
_MAIN_CF: Final = "it changes the mail server's own files, which are root's, and reloads it"
_STOPPED: Final = "the daemon of this machine has to be stopped, and the desk with it"
_COMPUTES: Final = (
    "it loads the packages of event logs (150 MiB), which the desk does without, and computes or "
    "checks with them"
)
_OLD_FILES: Final = "it reads files of another filter, which who is at the terminal has laid there"

KINDS: Final[dict[str, Ask | ActCommand | Exempt]] = {
    "serve": _PROCESS,
    "worker": _PROCESS,
    "writer": _PROCESS,
    "keeper": _PROCESS,
    "reader": _PROCESS,
    "trainer": _PROCESS,
    "intake": _PROCESS,
    "desk": _PROCESS,
    "console": _PROCESS,
    "check": Ask(("scan.try",)),
    "move-in compare": Ask(("engines.compare",)),
    "move-in rspamd": ActCommand("move_in.rspamd", ("folder",), alone=_OLD_FILES),
    "move-in spamassassin": ActCommand("move_in.spamassassin", ("folder",), alone=_OLD_FILES),
    "move-in mailcow": ActCommand("move_in.mailcow", ("folder",), alone=_OLD_FILES),
    "move-in amavis": ActCommand("move_in.amavis", ("folder",), alone=_OLD_FILES),
    "find": Ask(("messages.find",)),
    "explain": Ask(("messages.explain", "messages.story")),
    "dissect": Ask(("messages.dissect",)),
    "policy check": Ask(("policy.lint", "policy.test")),
    "policy diff": Ask(("policy.diff",)),
    "policy feed": Exempt(
        "it shows files of the feed's own folder; its updates are acts of the terminal"
    ),
    "policy feed-key": _OWN_FILES,
    "policy feed-make": _OWN_FILES,
    "policy history": Ask(("policy.history",)),
    "chart": Ask(("charts.read", "charts.series")),
    "policy limits": Ask(("policy.limits",)),
    "policy migrate": ActCommand(
        "policy.migrate",
        alone="once, at an upgrade, it moves files of the policy folder that are the admin's own",
    ),
    "policy publish": ActCommand("policy.publish", ("draft",)),
    "policy reload": ActCommand("policy.reload"),
    "policy replay": Ask(("policy.preview",)),
    "policy roll-back": ActCommand("policy.roll_back", ("version",)),
    "policy schema": Ask(("policy.schema",)),
    "policy share": ActCommand("policy.share"),
    "policy show": Ask(("policy.settings",)),
    "policy stats": Ask(("policy.rules",)),
    "policy status": Ask(("policy.status",)),
    "policy update": ActCommand(
        "feed.update",
        ("back",),
        other=("back", "feed.roll_back"),
        alone="a timer runs it, and it asks a server, which the desk never does",
    ),
    "list add": ActCommand("lists.add", ("name", "entries")),
    "list import": ActCommand("lists.import", ("name",)),
    "list remove": ActCommand("lists.remove", ("name", "entries")),
    "list show": Ask(("lists.show",)),
    "list undo": ActCommand("lists.undo", ("name",)),
    "signature accept": ActCommand("signatures.accept", ("names",)),
    "signature add": ActCommand("signatures.add", ("value",)),
    "signature decline": ActCommand("signatures.decline", ("names",)),
    "signature expire": ActCommand("signatures.expire", ("name",)),
    "signature export": ActCommand(
        "signatures.export",
        alone="it writes a file of this machine; signatures.content tells the same",
    ),
    "signature import": ActCommand("signatures.import"),
    "signature list": Ask(("signatures.list",)),
    "signature proposals": Ask(("signatures.proposals",)),
    "signature propose": ActCommand("signatures.propose"),
    "signature remove": ActCommand("signatures.remove", ("names",)),
    "signature show": Ask(("signatures.show",)),
    "signature test": Ask(("signatures.test",)),
    "learn": ActCommand("teach", ("kind", "paths")),
    "feedback list": Ask(("events.list",)),
    "feedback person": Ask(("events.person",)),
    "feedback persons": Ask(("events.persons",)),
    "feedback rules": Ask(("events.rules",)),
    "feedback show": Ask(("events.show", "events.raw")),
    "feedback take-back": ActCommand("events.take_back", ("ids", "by")),
    "feedback thresholds": Ask(("events.thresholds",)),
    "model anew": ActCommand("model.anew"),
    "model export": ActCommand("model.export"),
    "model final auto": ActCommand("model.final_auto"),
    "model final install": ActCommand("model.final_install"),
    "model final remove": ActCommand("model.final_remove"),
    "model final rollback": ActCommand("model.final_rollback"),
    "model final status": Ask(("model.final_status",)),
    "model history": Ask(("model.history",)),
    "model import": ActCommand("model.import"),
    "model rollback": ActCommand("model.rollback", ("snapshot",)),
    "model status": Ask(("model.status",)),
    "model train": _OWN_FILES,
    "model unlearn": ActCommand("model.unlearn", ("words", "person")),
    "model words": Ask(("model.words",)),
    "personal allow": ActCommand("personal.allow", ("person", "what")),
    "personal deny": ActCommand("personal.deny", ("person", "what")),
    "personal export": Ask(("personal.export",)),
    "personal import": ActCommand("personal.import", ("person",)),
    "personal remove": ActCommand("personal.remove", ("person", "what")),
    "personal show": Ask(("personal.show",)),
    "personal strict": ActCommand("personal.strict", ("person",)),
    "counters bench": _OWN_FILES,
    "counters compact": ActCommand(
        "counters.compact", alone="the writer has to be stopped for it, as root, and started again"
    ),
    "counters forget": ActCommand("counters.forget", ("shingle",)),
    "counters show": Ask(("counters.show",)),
    "counters stats": Ask(("counters.stats",)),
    "counters top": Ask(("counters.top",)),
    "counters verify": Ask(("counters.verify",)),
    "reputation clear": ActCommand("reputation.clear", ("entity",)),
    "reputation export": ActCommand("reputation.export", ("file",)),
    "reputation forgive": ActCommand("reputation.forgive", ("ident",)),
    "reputation import": ActCommand("reputation.import"),
    "reputation log": Ask(("reputation.log",)),
    "reputation note": ActCommand("reputation.note", ("entity",)),
    "reputation set": ActCommand("reputation.set", ("entity",)),
    "reputation show": Ask(("reputation.show",)),
    "reputation stats": Ask(("reputation.stats",)),
    "reputation top": Ask(("reputation.top",)),
    "recheck discard": ActCommand("recheck.discard"),
    "recheck look": ActCommand("recheck.look", ("what",)),
    "recheck moves": Ask(("recheck.moves",)),
    "recheck resume": ActCommand("recheck.resume"),
    "recheck status": Ask(("recheck.status",)),
    "recheck undo": ActCommand("recheck.undo", ("idents",)),
    "account ban": ActCommand("account.ban", ("name",)),
    "account explain": Ask(("account.explain",)),
    "account forget": ActCommand("account.forget", ("name",)),
    "account import": ActCommand("account.import"),
    "account limit": ActCommand("account.limit", ("name",)),
    "account list": Ask(("account.list",)),
    "account show": Ask(("account.show",)),
    "account trust": ActCommand("account.trust", ("name",)),
    "account unban": ActCommand("account.unban", ("name",)),
    "account untrust": ActCommand("account.untrust", ("name",)),
    "incident close": ActCommand("incident.close", ("ident",)),
    "incident list": Ask(("incident.list",)),
    "incident report": ActCommand("incident.report"),
    "incident run-hooks": _BY_UNIT,
    "incident show": Ask(("incident.show",)),
    "incident stats": Ask(("incident.stats",)),
    "incident take": ActCommand("incident.take", ("ident",)),
    "incident undo": ActCommand("incident.undo", ("ident",)),
    "flows run": _PROCESS,
    "flows status": Ask(("flows.status",)),
    "eventlog backfill": ActCommand(
        "eventlog.backfill",
        ("log", "name"),
        other=("remove", "eventlog.backfill_remove"),
        alone=_COMPUTES,
    ),
    "eventlog forget": ActCommand("eventlog.forget", ("person",), when="person"),
    "eventlog model install": ActCommand("eventlog.install_model", ("log",), alone=_COMPUTES),
    "eventlog model remove": ActCommand("eventlog.remove_model", ("log",), alone=_COMPUTES),
    "eventlog model status": Exempt(_COMPUTES),
    "eventlog pass": ActCommand("eventlog.pass", ("log",)),
    "eventlog person": ActCommand("eventlog.say", ("log", "person"), when="said"),
    "eventlog replay": Exempt(_COMPUTES),
    "eventlog report": _OWN_FILES,
    "eventlog run": _PROCESS,
    "eventlog status": Ask(("eventlog.status",)),
    "eventlog suppress": ActCommand("eventlog.suppress", ("log", "person")),
    "eventlog suppressed": Ask(("eventlog.suppressed",)),
    "eventlog thresholds": Ask(("eventlog.thresholds",)),
    "eventlog unsuppress": ActCommand("eventlog.unsuppress", ("log", "person")),
    "address": ActCommand("addresses.assign", ("address",), when="assign"),
    "outgoing drop": ActCommand("outgoing.drop", ("idents", "login"), alone=_QUEUE),
    "outgoing held": Exempt(f"{_QUEUE}; outgoing.held tells how much is held"),
    "outgoing hold-banned": _BY_UNIT,
    "outgoing hold-queue": ActCommand("outgoing.hold", ("login",), alone=_QUEUE),
    "outgoing release": ActCommand("outgoing.release", ("idents", "login"), alone=_QUEUE),
    "outgoing reset": ActCommand("outgoing.reset", ("login",)),
    "export": ActCommand("export.write"),
    "set-apart list": Ask(("set_apart.list",)),
    "set-apart remove": ActCommand("set_apart.remove", ("message",)),
    "alarm test": ActCommand("alarm.test"),
    "attach": ActCommand("mail_server.attach", ("server",), alone=_MAIN_CF),
    "detach": ActCommand("mail_server.detach", alone=_MAIN_CF),
    "backup": ActCommand(
        "site.backup",
        ("folder",),
        alone="a folder of this machine gets a copy of all, the site's secret and settings too",
    ),
    "restore": ActCommand(
        "site.restore", ("folder",), alone="the daemon, and the desk with it, has to be stopped"
    ),
    "site begin": ActCommand("site.begin", alone=_STOPPED),
    "site check": Exempt(
        "it copies each common store beside it, which takes minutes and room; site.machines tells "
        "how far each is"
    ),
    "site forget": ActCommand(
        "site.forget", ("machine",), alone="it is of who knows that a machine will not come back"
    ),
    "site join": ActCommand("site.join", alone=_STOPPED),
    "site leave": ActCommand("site.leave", alone=_STOPPED),
    "site status": Ask(("site.machines",)),
    "audit show": Ask(("audit.find",)),
    "audit verify": Ask(("audit.verify",)),
    "people add": ActCommand("people.add", ("name",)),
    "people forget": ActCommand("people.forget", ("name",)),
    "people key add": ActCommand("keys.add", ("person", "name")),
    "people key list": Ask(("keys.list",)),
    "people key remove": ActCommand("keys.remove", ("person", "name")),
    "people link": ActCommand("people.link", ("name",)),
    "people list": Ask(("people.list",)),
    "people off": ActCommand("people.off", ("name",)),
    "people on": ActCommand("people.on", ("name",)),
    "people passkey list": Ask(("passkeys.list",)),
    "people passkey remove": ActCommand("passkeys.remove", ("name", "passkey")),
    "people roles": ActCommand("people.roles", ("name",)),
    "people sessions": ActCommand("people.end_session", ("name", "end"), when="end"),
    "people show": Ask(("people.show",)),
    "doctor": Ask(("doctor.report",)),
    "auth": Ask(("messages.authenticate",)),
    "desk-certificate": Exempt("the first time it makes a key, as every start of a desk does"),
    "unit addresses": _BY_UNIT,
    "unit give": _BY_UNIT,
    "metrics": Ask(("status.metrics",)),
    "completion": Exempt("it prints a script for the shell of who calls it, and asks no site"),
    "opensmtpd-filter": _PROCESS,
}
