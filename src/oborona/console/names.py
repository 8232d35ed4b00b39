"""Names of roles and rights for people, translated where they are shown."""

from __future__ import annotations

from typing import Final

from oborona.console.language import marked
from oborona.people.rights import Right, Role

ROLES: Final = {
    Role.READER: marked("reader"),
    Role.SUPPORT: marked("support"),
    Role.ANALYST: marked("analyst"),
    Role.DUTY: marked("duty officer"),
    Role.ADMIN: marked("administrator"),
    Role.AUDITOR: marked("auditor"),
}
RIGHTS: Final = {
    Right.OWN: marked("see and change what concerns your own mail"),
    Right.TRACK: marked("see messages and refusals"),
    Right.CONTENT: marked("read text that was kept"),
    Right.TEACH: marked("report messages and decide on campaigns"),
    Right.NOTE: marked("write notes"),
    Right.ENTITY: marked("override reputations"),
    Right.SIGNATURE: marked("change signatures"),
    Right.MOVE_ONE: marked("undo one move"),
    Right.MOVE: marked("undo moves"),
    Right.MOVE_ALL: marked("resume and discard moves that are paused"),
    Right.PERSON_SEE: marked("see the lists of others"),
    Right.PERSON: marked("change the lists of others"),
    Right.POLICY_SEE: marked("see the policy"),
    Right.POLICY_DRAFT: marked("draft and try a policy"),
    Right.POLICY_SHADOW: marked("publish rules on trial"),
    Right.POLICY_PUBLISH: marked("publish a policy"),
    Right.ACCOUNT_SEE: marked("see accounts"),
    Right.ACCOUNT: marked("change accounts"),
    Right.STATUS: marked("see the state of the system"),
    Right.RELOAD: marked("load the policy again"),
    Right.SYSTEM: marked("change the system"),
    Right.PEOPLE_SEE: marked("see people and their roles"),
    Right.PEOPLE: marked("change people and their roles"),
    Right.AUDIT_OWN: marked("see your own acts"),
    Right.AUDIT: marked("see the audit log"),
}
