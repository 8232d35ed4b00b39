"""rspamd's settings: what it does for some senders or recipients in another way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from oborona.desk.move_in.json_files import number_of, table_of, texts_of
from oborona.desk.move_in.plan import MovePlan
from oborona.desk.move_in.plan_parts import OldProgram, SourcePlace
from oborona.desk.move_in.their_addresses import entry_of, personal_entry
from oborona.reputation.locallists import ListAction
from oborona.reputation.personal import EntryAction, mail_address
from oborona.reputation.subject import ListSubject

ADD_HEADER: Final = 6.0  # the score from which rspamd marks a message, as it ships
_WHO: Final = {
    "from": (ListSubject.SENDER, ListSubject.FROM),
    "from_mime": (ListSubject.FROM,),
    "ip": (ListSubject.CLIENT,),
    "client_ip": (ListSubject.CLIENT,),
    "rcpt": (ListSubject.RECIPIENT,),
    "rcpt_mime": (ListSubject.RECIPIENT,),
}
_BESIDE: Final = frozenset({"priority", "name", "id", "whitelist", "want_spam", "apply", "enabled"})
_ALLOWED: Final = (
    "settings that let somebody pass unscanned become an allow: From and MAIL FROM count when they "
    "are proved"
)


def read_settings(settings: Any, dump: str, plan: MovePlan, *, now: float) -> None:
    """Take all rules of the settings.

    Args:
        settings: of the dump.
        dump: name of its file.
        plan: takes what becomes of them.
        now: Unix seconds.
    """
    if isinstance(settings, str):
        why = "is fetched by rspamd from elsewhere: save it as `settings` of the dump"
        plan.leave(SourcePlace(f"{dump} settings"), settings, why)
        return
    for name, value in sorted(table_of(settings).items()):
        place = SourcePlace(f"{dump} settings.{name}")
        try:
            _take(name, table_of(value), place, plan, now)
        except ValueError as fault:
            plan.leave(place, name, str(fault))


def _take(
    name: str, rule: Mapping[str, Any], place: SourcePlace, plan: MovePlan, now: float
) -> None:
    who = {key: texts_of(rule[key]) for key in _WHO if rule.get(key)}
    others = rule.keys() - _BESIDE - _WHO.keys()
    if others:
        raise ValueError(f"asks for {min(others)}, which no list here knows")
    if not any(who.values()):
        raise ValueError("is about nobody that a list here knows")
    if rule.get("whitelist") or rule.get("want_spam"):
        _allow(name, who, place, plan, now)
        return
    applied = table_of(rule.get("apply"))
    actions = table_of(applied.get("actions"))
    line = number_of(actions.get("add header", actions.get("add_header")))
    if applied.keys() - {"actions"} or line is None or line <= 0:
        raise ValueError("changes symbols, groups or scores of theirs, which are none of ours")
    if who.keys() - {"rcpt", "rcpt_mime"}:
        raise ValueError("another line for some senders: here a line is a recipient's")
    for text in [*who.get("rcpt", ()), *who.get("rcpt_mime", ())]:
        person = mail_address(text)
        if person:
            plan.set_strictness(person, line / ADD_HEADER, place)
        else:
            plan.leave(place, text, "is not one person: strictness is one person's here")
    for action in actions.keys() - {"add header", "add_header"}:
        plan.leave(place, f"{action} = {actions[action]}", "a person has one line here, of spam")


def _allow(
    name: str, who: Mapping[str, list[str]], place: SourcePlace, plan: MovePlan, now: float
) -> None:
    plan.tell(_ALLOWED)
    recipients = [*who.get("rcpt", ()), *who.get("rcpt_mime", ())]
    senders = {key: texts for key, texts in who.items() if not key.startswith("rcpt")}
    if recipients and senders:
        if senders.keys() - {"from", "from_mime"}:
            raise ValueError("a client for some recipients: a person's list has senders")
        for person in map(mail_address, recipients):
            for text in (text for texts in senders.values() for text in texts):
                if not person:
                    raise ValueError("recipients that are not one person have no list of their own")
                note = f"from {OldProgram.RSPAMD}, {name}"
                entry = personal_entry(EntryAction.ALLOW, _plain(text), note, now)
                plan.put(person, entry, place)
        return
    for key, texts in who.items():
        planned = plan.begin_list(
            name, ListAction.ALLOW, _WHO[key], why=f"settings of rspamd, {name}"
        )
        for text in texts:
            try:
                plan.enter(planned, entry_of(_plain(text)).entry, place)
            except ValueError as fault:
                plan.leave(place, text, str(fault))


def _plain(text: str) -> str:
    """Return an address or domain; in settings @example.com is a domain, /re/ an expression.

    Raises:
        ValueError: it is an expression.
    """
    if text.startswith("/"):
        raise ValueError("an expression names no sender: lists have whole names")
    return text
