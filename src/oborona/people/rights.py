"""Rights, and the roles that are sets of them.

A right is what a call needs; a role is what a person is given.  A scope narrows both
(`oborona.people.caller`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Right(StrEnum):
    """What a call may need."""

    OWN = "own"  # one's own mail: why, lists, strictness, moves of one's own copies
    TRACK = "track"  # messages and refusals, without their text
    CONTENT = "content"  # text that was kept, and the scan of an upload
    TEACH = "teach"  # words, decisions on campaigns, events taken back
    NOTE = "note"  # notes on an entity
    ENTITY = "entity"  # pins, forgiveness
    SIGNATURE = "signature"
    MOVE_ONE = "move-one"  # undo one move
    MOVE = "move"  # undo moves, look again
    MOVE_ALL = "move-all"  # resume and discard what was paused
    PERSON_SEE = "person-see"  # others' lists, and how far they are believed
    PERSON = "person"  # change others' lists
    POLICY_SEE = "policy-see"
    POLICY_DRAFT = "policy-draft"
    POLICY_SHADOW = "policy-shadow"  # publish on trial
    POLICY_PUBLISH = "policy-publish"
    ACCOUNT_SEE = "account-see"  # accounts of the site's own senders, and incidents
    ACCOUNT = "account"
    STATUS = "status"  # what the daemon does, charts, models, settings without secrets
    RELOAD = "reload"
    SYSTEM = "system"  # models rolled back, counts forgotten, alarms
    PEOPLE_SEE = "people-see"
    PEOPLE = "people"  # people, roles, keys
    AUDIT_OWN = "audit-own"
    AUDIT = "audit"


class Role(StrEnum):
    """What a person is given."""

    READER = "reader"
    SUPPORT = "support"
    ANALYST = "analyst"
    DUTY = "duty"
    ADMIN = "admin"
    AUDITOR = "auditor"


_ANALYST: Final = frozenset(
    {
        Right.TRACK,
        Right.CONTENT,
        Right.TEACH,
        Right.NOTE,
        Right.ENTITY,
        Right.SIGNATURE,
        Right.MOVE_ONE,
        Right.MOVE,
        Right.PERSON_SEE,
        Right.POLICY_SEE,
        Right.POLICY_DRAFT,
        Right.ACCOUNT_SEE,
        Right.STATUS,
        Right.AUDIT_OWN,
    }
)
_DUTY: Final = _ANALYST | {
    Right.MOVE_ALL,
    Right.POLICY_SHADOW,
    Right.ACCOUNT,
    Right.RELOAD,
    Right.AUDIT,
}
ROLE_RIGHTS: Final = {
    Role.READER: frozenset({Right.OWN, Right.AUDIT_OWN}),
    Role.SUPPORT: frozenset(
        {
            Right.TRACK,
            Right.CONTENT,
            Right.NOTE,
            Right.MOVE_ONE,
            Right.PERSON_SEE,
            Right.PERSON,
            Right.POLICY_SEE,
            Right.ACCOUNT_SEE,
            Right.STATUS,
            Right.AUDIT_OWN,
        }
    ),
    Role.ANALYST: _ANALYST,
    Role.DUTY: _DUTY,
    Role.ADMIN: _DUTY
    | {Right.PERSON, Right.POLICY_PUBLISH, Right.SYSTEM, Right.PEOPLE_SEE, Right.PEOPLE},
    Role.AUDITOR: frozenset(
        {
            Right.TRACK,
            Right.PERSON_SEE,
            Right.POLICY_SEE,
            Right.ACCOUNT_SEE,
            Right.STATUS,
            Right.PEOPLE_SEE,
            Right.AUDIT_OWN,
            Right.AUDIT,
        }
    ),
}
REASON_NEEDED: Final = {
    Role.SUPPORT: frozenset({Right.CONTENT}),
    Role.ADMIN: frozenset({Right.CONTENT}),
}
"""Rights that a role has only for a call that says why."""

NO_REASON: Final = frozenset({Right.OWN, Right.AUDIT_OWN, Right.POLICY_DRAFT})
"""Rights to acts on what is one's own, which need not say why."""
FRESH_NEEDED: Final = frozenset({Right.SYSTEM, Right.PEOPLE, Right.POLICY_PUBLISH})
"""Rights to acts that hurt: on pages they ask for the password once more, if it was given more than
ten minutes ago.
"""


def rights_of(roles: frozenset[Role]) -> frozenset[Right]:
    """Return what roles may do together."""
    return frozenset[Right]().union(*(ROLE_RIGHTS[role] for role in roles))


def needs_reason(roles: frozenset[Role], right: Right) -> bool:
    """Return whether every one of the roles that have this right has it only with a reason."""
    having = [role for role in roles if right in ROLE_RIGHTS[role]]
    return bool(having) and all(right in REASON_NEEDED.get(role, ()) for role in having)
