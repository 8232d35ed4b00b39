"""What `oborona doctor` says of a Postfix that asks us by its policy protocol."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from oborona.config import Address, UnixAddress
from oborona.config.doors import PolicyServiceSettings
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.postfix.instance import PostfixInstance, Smtpd
from oborona.desk.postfix.reach import leads_to, means, word_for

SUBJECT: Final = "policy client"
RESTRICTIONS: Final = tuple(
    f"smtpd_{stage}_restrictions"
    for stage in ("client", "helo", "sender", "relay", "recipient", "data", "end_of_data")
)
AT_THE_END: Final = RESTRICTIONS[-1]
ELSEWHERE: Final = "inet:127.0.0.1:8891"  # is the same in every chroot
_CHECK: Final = re.compile(r"\bcheck_policy_service[\s,{]+([^\s,{}]+)")
_NOBODY: Final = (Smtpd("smtp/inet", chroot=False, milters="", own=False),)


def policy_service(
    door: PolicyServiceSettings, instance: PostfixInstance, *, by_milter: bool
) -> CheckReport:
    """Tell where Postfix asks the policy service, and what is wrong with that.

    Args:
        door: its settings.
        instance: of Postfix.
        by_milter: it asks the milter, too.
    """
    address, smtpds = door.address, instance.smtpds or _NOBODY
    restrictions = instance.values(*RESTRICTIONS)
    asked = {name: _CHECK.findall(restrictions.get(name, "")) for name in RESTRICTIONS}
    asking = [
        name
        for name, words in asked.items()
        if any(leads_to(word, address, one, instance.queue) for word in words for one in smtpds)
    ]
    entry = _entry(word_for(address, instance.queue))
    if not asking:
        return CheckReport(SUBJECT, *_not_asked(address, asked, instance, entry))
    names = " and ".join(asking)
    if door.limits and AT_THE_END not in asking:
        words = (
            f"Postfix asks us in {names}, and not at the end of a message: nothing is counted for "
            f"limits; write into main.cf: {AT_THE_END} = {entry}"
        )
        return CheckReport(SUBJECT, CheckState.WARN, words)
    if by_milter:
        counted = ", mail of your people counted twice" if door.limits else ""
        words = (
            f"Postfix asks us in {names} and as a milter: each client is judged twice{counted}; "
            f"one of both is enough"
        )
        return CheckReport(SUBJECT, CheckState.WARN, words)
    return CheckReport(SUBJECT, CheckState.OK, f"Postfix asks us in {names}")


def _not_asked(
    address: Address, asked: dict[str, list[str]], instance: PostfixInstance, entry: str
) -> tuple[CheckState, str]:
    """Say why nobody asks: the words stand there and lead elsewhere, or there are none."""
    chrooted = [smtpd.name for smtpd in instance.smtpds if smtpd.chroot]
    hidden = (
        isinstance(address, UnixAddress)
        and chrooted
        and not Path(address.path).is_relative_to(instance.queue)
    )
    cure = (
        f'listen = "{ELSEWHERE}" in [doors.policy_service], and in main.cf {_entry(ELSEWHERE)}'
        if hidden
        else entry
    )
    for name, words in asked.items():
        for word in words:
            if means(word, address):
                where = f", for {', '.join(chrooted)} in a chroot" if hidden else ""
                return CheckState.FAIL, (
                    f"Postfix asks {word} in {name}, which is another place than ours{where}: "
                    f"nobody is asked; {cure}"
                )
    return (
        CheckState.WARN,
        f"Postfix does not ask us; put last into smtpd_recipient_restrictions: {cure}",
    )


def _entry(word: str) -> str:
    return f"check_policy_service {{ {word}, timeout=25s, default_action=DUNNO }}"
