"""The table of rights and roles, as the design has it, against what roles may."""

from __future__ import annotations

import pytest

from oborona.people.rights import ROLE_RIGHTS, Right, Role, needs_reason, rights_of

# what a row of the table is of rights; "own" and "own acts" are rights over one's own
TABLE = """
right     | reader | support     | analyst | duty   | admin       | auditor
own       | yes    | -           | -       | -      | -           | -
track     | -      | yes         | yes     | yes    | yes         | yes
content   | -      | with reason | yes     | yes    | with reason | -
teach     | -      | -           | yes     | yes    | yes         | -
entity    | -      | note        | yes     | yes    | yes         | -
signature | -      | -           | yes     | yes    | yes         | -
move      | -      | undo one    | yes     | all    | all         | -
person    | -      | yes         | see     | see    | yes         | see
policy    | -      | see         | draft   | shadow | yes         | see
system    | -      | -           | -       | reload | yes         | -
people    | -      | -           | -       | -      | yes         | see
audit     | own    | own         | own     | yes    | yes         | yes
"""
CELLS = {
    ("own", "yes"): {Right.OWN},
    ("track", "yes"): {Right.TRACK},
    ("content", "yes"): {Right.CONTENT},
    ("content", "with reason"): {Right.CONTENT},
    ("teach", "yes"): {Right.TEACH},
    ("entity", "note"): {Right.NOTE},
    ("entity", "yes"): {Right.NOTE, Right.ENTITY},
    ("signature", "yes"): {Right.SIGNATURE},
    ("move", "undo one"): {Right.MOVE_ONE},
    ("move", "yes"): {Right.MOVE_ONE, Right.MOVE},
    ("move", "all"): {Right.MOVE_ONE, Right.MOVE, Right.MOVE_ALL},
    ("person", "see"): {Right.PERSON_SEE},
    ("person", "yes"): {Right.PERSON_SEE, Right.PERSON},
    ("policy", "see"): {Right.POLICY_SEE},
    ("policy", "draft"): {Right.POLICY_SEE, Right.POLICY_DRAFT},
    ("policy", "shadow"): {Right.POLICY_SEE, Right.POLICY_DRAFT, Right.POLICY_SHADOW},
    ("policy", "yes"): {
        Right.POLICY_SEE,
        Right.POLICY_DRAFT,
        Right.POLICY_SHADOW,
        Right.POLICY_PUBLISH,
    },
    ("system", "reload"): {Right.RELOAD},
    ("system", "yes"): {Right.RELOAD, Right.SYSTEM},
    ("people", "see"): {Right.PEOPLE_SEE},
    ("people", "yes"): {Right.PEOPLE_SEE, Right.PEOPLE},
    ("audit", "own"): {Right.AUDIT_OWN},
    ("audit", "yes"): {Right.AUDIT_OWN, Right.AUDIT},
}
BESIDE = {Right.ACCOUNT_SEE, Right.ACCOUNT, Right.STATUS}  # of which the table has no row


def cells(role: Role) -> dict[str, str]:
    head, *lines = ([cell.strip() for cell in line.split("|")] for line in TABLE.split("\n")[1:-1])
    column = head.index(role.value)
    return {line[0]: line[column] for line in lines}


@pytest.mark.parametrize("role", Role)
def test_a_role_may_what_the_table_says_and_no_more(role: Role) -> None:
    said = set[Right]().union(
        *(CELLS[row, cell] for row, cell in cells(role).items() if cell != "-")
    )
    assert ROLE_RIGHTS[role] - BESIDE == said


@pytest.mark.parametrize("role", Role)
def test_who_must_say_why_is_in_the_table(role: Role) -> None:
    said = {Right.CONTENT} if cells(role)["content"] == "with reason" else set()
    assert {right for right in Right if needs_reason(frozenset({role}), right)} == said


def test_every_right_stands_in_the_table_or_beside_it() -> None:
    assert set[Right]().union(*CELLS.values()) | BESIDE == set(Right)
    assert not BESIDE & set[Right]().union(*CELLS.values())


def test_staff_alone_sees_accounts_and_the_state_of_the_daemon() -> None:
    staff = set(Role) - {Role.READER}
    for right in (Right.ACCOUNT_SEE, Right.STATUS):
        assert {role for role in Role if right in ROLE_RIGHTS[role]} == staff
    having = {role for role in Role if Right.ACCOUNT in ROLE_RIGHTS[role]}
    assert having == {Role.DUTY, Role.ADMIN}


def test_two_roles_may_what_either_may_and_the_milder_one_says_about_reasons() -> None:
    both = frozenset({Role.ADMIN, Role.ANALYST})
    assert rights_of(both) == ROLE_RIGHTS[Role.ADMIN] | ROLE_RIGHTS[Role.ANALYST]
    assert not needs_reason(both, Right.CONTENT)
    assert needs_reason(frozenset({Role.ADMIN, Role.SUPPORT}), Right.CONTENT)
    assert rights_of(frozenset()) == frozenset()
