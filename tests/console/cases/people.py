"""Pages of people and of API keys."""

from typing import Any

import msgspec

from oborona.desk.acts.keys import NewKey, RemovedKey
from oborona.desk.acts.people import ForgottenPerson, PersonAnswer, PersonLink
from oborona.desk.acts.sessions import EndedSessions
from oborona.desk.asks.people import KeyList, PeopleList
from oborona.desk.people.views import KeyView, PersonDetails, PersonView
from oborona.people.person import PersonState
from oborona.people.rights import Right, Role
from tests.console.page_case import PageCase
from tests.console.stub_desk import NOW, SESSIONS, TRIES, DeskRefusalError

SUE = PersonView(
    name="sue",
    roles=[Role.SUPPORT],
    domains=["example.org"],
    addresses=["sue@example.org"],
    whole_site=False,
    language="en",
    state=PersonState.ACTIVE,
    password=True,
    second_step=True,
    made=NOW - 90_000,
    made_by="anna",
    came=NOW - 60,
)
NEW = msgspec.structs.replace(
    SUE, name="bob@example.org", domains=[], whole_site=True, state=PersonState.OFF,
    password=False, second_step=False, came=0,
)  # fmt: skip
KEY = KeyView(
    person="anna",
    name="grafana <b>",
    rights=[Right.STATUS, Right.TRACK],
    domains=["example.org"],
    made=NOW - 90_000,
    until=NOW + 90_000,
    last=NOW,
    place="192.0.2.9",
)
UNUSED = msgspec.structs.replace(KEY, name="new", last=0, domains=[])


def told(**answers: object) -> dict[str, Any]:
    return {name.replace("_", ".", 1): msgspec.to_builtins(one) for name, one in answers.items()}


def details(person: PersonView, *, empty: bool = False) -> dict[str, Any]:
    shown = PersonDetails(
        person=person,
        sessions=[] if empty else SESSIONS,
        keys=[] if empty else [KEY],
        tries=[] if empty else TRIES,
    )
    return told(people_show=shown)


FORM = {"name": "sue", "role-support": "1", "domains": "example.org, example.net", "addresses": ""}
DO = {"step": "do", "reason": "she begins today", "key": "k1"}
LINK = PersonLink(person=SUE, path="/link/t0ken", until=NOW + 86_400)
TRIED = PersonLink(person=SUE, path="", until=NOW + 86_400)
NOBODY = DeskRefusalError(404, "there is nobody called 'x'")

CASES = [
    PageCase(
        name="people",
        path="/people",
        answers=told(people_list=PeopleList(people=[NEW, SUE])),
        texts=("Add a person", "sue", "the whole site", "no password yet", "never"),
    ),
    PageCase(
        name="people-auditor",
        path="/people?role=auditor",
        role=Role.AUDITOR,
        answers=told(people_list=PeopleList(people=[])),
        texts=("Nobody has this role.",),
    ),
    PageCase(name="people-duty", path="/people", role=Role.DUTY, status=403),
    PageCase(name="people-reader", path="/people", role=Role.READER, status=404),
    PageCase(
        name="people-new", path="/people/new", texts=("Add a person", "Domains of recipients")
    ),
    PageCase(
        name="people-add",
        path="/people/add",
        form=FORM,
        answers=told(people_add=TRIED),
        texts=("What would be done", "it is shown once"),
    ),
    PageCase(
        name="people-added",
        path="/people/add",
        form=FORM | DO,
        answers=told(people_add=LINK),
        texts=("/link/t0ken", "only now"),
    ),
    PageCase(
        name="people-add-twice",
        path="/people/add",
        form=FORM | DO,
        answers={
            "people.add": DeskRefusalError(409, "this order was done; its answer was told once")
        },
        status=422,
        texts=("its answer was told once",),
    ),
    PageCase(
        name="person",
        path="/people/sue",
        answers=details(SUE),
        texts=("sue", "Let them sign in no more", "right password, no code", "1 API key."),
    ),
    PageCase(
        name="person-off",
        path="/people/bob%40example.org",
        answers=details(NEW, empty=True),
        texts=("Let them sign in again", "They are signed in nowhere."),
    ),
    PageCase(name="person-auditor", path="/people/sue", role=Role.AUDITOR, answers=details(SUE)),
    PageCase(name="person-none", path="/people/x", answers={"people.show": NOBODY}, status=404),
    PageCase(
        name="people-roles",
        path="/people/roles",
        form=FORM,
        answers=told(people_roles=PersonAnswer(person=SUE)),
        texts=("Change what a person may", "Their sessions end by this."),
    ),
    PageCase(
        name="people-last",
        path="/people/off",
        form={"name": "anna"},
        answers={"people.off": DeskRefusalError(422, "anna is the last admin")},
        status=422,
        texts=("anna is the last admin",),
    ),
    PageCase(
        name="people-off",
        path="/people/off",
        form={"name": "sue"} | DO,
        answers=told(people_off=PersonAnswer(person=SUE)),
        texts=("Done", "Undo"),
    ),
    PageCase(
        name="people-on",
        path="/people/on",
        form={"name": "sue"},
        answers=told(people_on=PersonAnswer(person=SUE)),
    ),
    PageCase(
        name="people-link",
        path="/people/link",
        form={"name": "sue", "without_step": "1"} | DO,
        answers=told(people_link=LINK),
        texts=("/link/t0ken",),
    ),
    PageCase(
        name="people-end",
        path="/people/end",
        form={"name": "sue", "session": "s16"} | DO,
        answers=told(people_end_session=EndedSessions(ended=1)),
        texts=("1 session.",),
    ),
    PageCase(
        name="people-forget",
        path="/people/forget",
        form={"name": "sue"},
        answers=told(people_forget=ForgottenPerson(name="sue")),
        texts=("Nothing brings them back.",),
    ),
    PageCase(
        name="keys",
        path="/keys",
        answers=told(keys_list=KeyList(keys=[KEY, UNUSED])),
        texts=("grafana <b>", "see messages and refusals", "Remove", "Make a key for yourself"),
    ),
    PageCase(
        name="keys-none",
        path="/keys",
        role=Role.AUDITOR,
        answers=told(keys_list=KeyList(keys=[])),
        texts=("None yet",),
    ),
    PageCase(
        name="keys-add",
        path="/keys/add",
        form={"name": "grafana", "right-status": "1", "days": "30"},
        answers=told(keys_add=NewKey(person="admin", name="grafana", key="", until=NOW)),
        texts=("it is shown once",),
    ),
    PageCase(
        name="keys-added",
        path="/keys/add",
        form={"name": "grafana", "right-status": "1", "days": "x"} | DO,
        answers=told(keys_add=NewKey(person="admin", name="grafana", key="obk_abc", until=NOW)),
        texts=("obk_abc", "only now"),
    ),
    PageCase(
        name="keys-remove",
        path="/keys/remove",
        form={"person": "anna", "name": "grafana"},
        answers=told(keys_remove=RemovedKey(person="anna", name="grafana")),
        texts=("It works no more.",),
    ),
]
