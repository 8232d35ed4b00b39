"""Passkeys at the desk: made known, signed in by, shown after a password, refused where hostile."""

from __future__ import annotations

import json
import random
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pyotp
import pytest
import pytest_asyncio

from oborona.desk.passkeys.relying_party import RelyingParty, relying_party
from oborona.people.challenge_book import MOST_OF_NETWORK
from oborona.people.link_book import LinkBook
from oborona.people.person import PersonState
from oborona.people.rights import Role
from oborona.people.store import new_person
from tests.desk.login_desk import LoginDesk, login_desk
from tests.desk.soft_authenticator import SoftAuthenticator, decoded, encoded
from tests.people.conftest import cheap_passwords

__all__ = ["cheap_passwords"]  # for each test
ORIGIN = "https://mx.example.org"
PASSWORD = "four words that nobody guesses"
BROWSER, OTHER = "a browser of anna 1", "a browser of eve 22"
SETTINGS = {
    "console.enabled": "true",
    "console.url": ORIGIN,
    "console.second_step": "required",
}


class KeyedDesk:
    """A desk with people who have passkeys.

    Args:
        desk: of a site.
    """

    def __init__(self, desk: LoginDesk) -> None:
        self.desk, self.call = desk, desk.call

    async def add(self, name: str, *roles: Role) -> str:
        """Add somebody, and return the token of their session."""
        nothing = frozenset[str]()
        with self.desk.people() as store:
            person = store.add(
                new_person(
                    name, roles=frozenset(roles), domains=nothing, addresses=nothing,
                    language="", made_by="root", now=time.time(),
                )
            )  # fmt: skip
            link = LinkBook(store).make(person, time.time())
        status, begun = await self.call("login.link", token=link, password=PASSWORD)
        assert status == 200, begun
        return str(begun["token"])

    async def register(self, token: str, key: SoftAuthenticator, name: str = "phone") -> Any:
        status, begun = await self.call("me.passkey_begin", bearer=token)
        assert status == 200, begun
        answer = json.dumps(key.make(begun["options"]))
        status, kept = await self.call("me.passkey_add", bearer=token, answer=answer, name=name)
        assert status == 200, kept
        return kept

    async def asked(self, browser: str = BROWSER, *, step: bool = False) -> Any:
        status, begun = await self.call("login.passkey_begin", browser=browser, step=step)
        assert status == 200, begun
        return begun["options"]

    async def shown(
        self,
        answer: object,
        browser: str = BROWSER,
        *,
        step: bool = False,
        place: str = "192.0.2.1",
    ) -> tuple[int, Any]:
        told = answer if isinstance(answer, str) else json.dumps(answer)
        return await self.call(
            "login.passkey", browser=browser, answer=told, step=step, place=place
        )

    async def password(self, name: str = "anna", code: str = "") -> tuple[int, Any]:
        return await self.call(
            "login.password", name=name, password=PASSWORD, code=code, browser=BROWSER
        )

    def write(self, sql: str, *values: object) -> None:
        with self.desk.people() as store, store.transaction() as db:
            db.execute(sql, values)


@pytest_asyncio.fixture
async def keyed(tmp_path: Path) -> AsyncIterator[KeyedDesk]:
    async with login_desk(tmp_path, SETTINGS) as desk:
        yield KeyedDesk(desk)


@pytest.mark.asyncio
async def test_a_passkey_is_enough(keyed: KeyedDesk) -> None:
    token, key = await keyed.add("anna", Role.ADMIN), SoftAuthenticator(ORIGIN)
    assert (await keyed.call("me.show", bearer=token))[1]["must_enrol"]
    kept = await keyed.register(token, key)
    assert not (await keyed.call("me.show", bearer=token))[1]["must_enrol"]
    options = await keyed.asked()
    assert (options["userVerification"], options["rpId"]) == ("required", "mx.example.org")
    status, begun = await keyed.shown(key.sign(options))
    assert status == 200, begun
    caller = begun["caller"]
    told = (caller["name"], caller["way"], caller["fresh"], caller["must_enrol"])
    assert told == ("anna", "passkey", True, False)
    token = begun["token"]
    listed = (await keyed.call("me.passkeys", bearer=token))[1]
    assert [(one["ident"], one["name"]) for one in listed["passkeys"]] == [(kept["ident"], "phone")]
    assert listed["passkeys"][0]["last"] > 0
    tries = (await keyed.call("me.attempts", bearer=token))[1]["attempts"]
    assert (tries[0]["way"], tries[0]["outcome"]) == ("passkey", "done")
    # removed, it is nobody's
    assert (await keyed.call("me.passkey_remove", bearer=token, ident="x"))[0] == 404
    assert (await keyed.call("me.passkey_remove", bearer=token, ident=kept["ident"]))[0] == 200
    assert (await keyed.shown(key.sign(await keyed.asked())))[0] == 401


@pytest.mark.asyncio
async def test_after_a_password_it_is_the_second_step(keyed: KeyedDesk) -> None:
    token, key = await keyed.add("anna", Role.ADMIN), SoftAuthenticator(ORIGIN, verifies=False)
    assert (await keyed.call("login.passkey_begin", browser=BROWSER, step=True))[0] == 404
    await keyed.register(token, key)
    for code in ("", "000000"):  # of who has no codes none is any
        status, words = await keyed.password(code=code)
        assert (status, words["needs"]) == (401, "passkey")
    options = await keyed.asked(step=True)
    assert [decoded(one["id"]) for one in options["allowCredentials"]] == [key.credential]
    status, begun = await keyed.shown(key.sign(options), step=True)
    assert (status, begun["caller"]["way"]) == (200, "password")
    # one that does not check who holds it is not enough alone
    assert (await keyed.shown(key.sign(await keyed.asked())))[0] == 401
    # codes beside it: either will do
    token = begun["token"]
    secret = (await keyed.call("me.begin_step", bearer=token))[1]["secret"]
    code = pyotp.TOTP(secret).now()
    assert (await keyed.call("me.confirm_step", bearer=token, code=code))[0] == 200
    assert (await keyed.password())[1]["needs"] == "code or passkey"
    later = pyotp.TOTP(secret).at(time.time() + 30)
    assert (await keyed.password(code=later))[0] == 200
    assert (await keyed.password())[1]["needs"] == "code or passkey"
    assert (await keyed.shown(key.sign(await keyed.asked(step=True)), step=True))[0] == 200
    # and the password is asked for anew each time
    assert (await keyed.call("login.passkey_begin", browser=BROWSER, step=True))[0] == 404


@pytest.mark.asyncio
async def test_what_is_fresh_is_so_by_a_passkey_too(keyed: KeyedDesk) -> None:
    token, key = await keyed.add("anna", Role.ADMIN), SoftAuthenticator(ORIGIN)
    assert (await keyed.call("me.confirm_begin", bearer=token))[0] == 404
    await keyed.register(token, key)
    keyed.write("UPDATE session SET fresh = 0")
    for call in ("me.passkey_begin", "me.passkey_add", "me.passkey_remove"):
        status, words = await keyed.call(call, bearer=token)
        assert (status, words["needs"]) == (403, "password")
    options = (await keyed.call("me.confirm_begin", bearer=token))[1]["options"]
    held = SoftAuthenticator(**{**vars(key), "verifies": False, "counts": 7})
    unverified = json.dumps(held.sign(options))
    assert (await keyed.call("me.confirm_passkey", bearer=token, answer=unverified))[0] == 422
    answer = json.dumps(key.sign(options))
    # the first answer has used the challenge up
    assert (await keyed.call("me.confirm_passkey", bearer=token, answer=answer))[0] == 422
    options = (await keyed.call("me.confirm_begin", bearer=token))[1]["options"]
    answer = json.dumps(key.sign(options))
    assert (await keyed.call("me.confirm_passkey", bearer=token, answer=answer))[0] == 200
    assert (await keyed.call("me.passkey_begin", bearer=token))[0] == 200


@pytest.mark.asyncio
async def test_what_was_signed_counts_once_for_whom_and_where_it_was_asked(
    keyed: KeyedDesk,
) -> None:
    anna, key = await keyed.add("anna", Role.ADMIN), SoftAuthenticator(ORIGIN)
    await keyed.register(anna, key)
    eve, hers = await keyed.add("eve", Role.SUPPORT), SoftAuthenticator(ORIGIN)
    await keyed.register(eve, hers)

    async def refused(answer: object, browser: str = BROWSER, *, step: bool = False) -> None:
        keyed.write("DELETE FROM wait")
        status, words = await keyed.shown(answer, browser, step=step)
        assert (status, words["error"]) == (401, "name, password or code is wrong")

    answer = key.sign(await keyed.asked())
    assert (await keyed.shown(answer))[0] == 200
    await refused(answer)  # again
    options = await keyed.asked()
    await refused(answer)  # to another challenge
    answer = key.sign(await keyed.asked())
    await refused(answer, OTHER)  # by another browser
    assert (await keyed.shown(answer))[0] == 200
    answer = key.sign(await keyed.asked())
    keyed.write("UPDATE challenge SET until = until - 301")
    await refused(answer)  # too late
    await refused(key.sign(options))  # of one that another took the place of
    # another's key after anna's password, and the other way round
    await keyed.password()
    await refused(hers.sign(await keyed.asked(step=True)), step=True)
    await keyed.password()
    await refused(key.sign(await keyed.asked(step=True)))  # as if no password had been asked for
    mixed = key.sign(await keyed.asked())
    mixed["response"]["userHandle"] = encoded(hers.handle)
    await refused(mixed)
    mixed = key.sign(await keyed.asked())
    mixed["id"] = mixed["rawId"] = encoded(hers.credential)
    mixed["response"]["userHandle"] = encoded(hers.handle)
    await refused(mixed)
    # one's own answer in another's session
    begun = (await keyed.call("me.confirm_begin", bearer=anna))[1]["options"]
    for token, signed in ((eve, key), (eve, hers), (anna, hers)):
        told = json.dumps(signed.sign(begun))
        assert (await keyed.call("me.confirm_passkey", bearer=token, answer=told))[0] == 422
    # a key is known once, whoever brings it
    begun = (await keyed.call("me.passkey_begin", bearer=eve))[1]["options"]
    told = json.dumps(SoftAuthenticator(ORIGIN, credential=key.credential).make(begun))
    status, words = await keyed.call("me.passkey_add", bearer=eve, answer=told, name="x")
    assert (status, words["error"]) == (422, "this passkey is known already")


FOREIGN: dict[str, Callable[[SoftAuthenticator], None]] = {
    "another origin": lambda key: setattr(key, "origin", "https://mx.example.org.evil.example"),
    "without tls": lambda key: setattr(key, "origin", "http://mx.example.org"),
    "another port": lambda key: setattr(key, "origin", "https://mx.example.org:8443"),
    "for another party": lambda key: setattr(key, "party", "example.org"),
    "not verified": lambda key: setattr(key, "verifies", False),
    "copied": lambda key: setattr(key, "counts", 1),
    "counts no more": lambda key: setattr(key, "counts", None),
    "another key": lambda key: setattr(key, "key", SoftAuthenticator(ORIGIN).key),
}


@pytest.mark.asyncio
@pytest.mark.parametrize("fault", FOREIGN)
async def test_a_foreign_answer_is_refused(keyed: KeyedDesk, fault: str) -> None:
    token, key = await keyed.add("anna", Role.ADMIN), SoftAuthenticator(ORIGIN, counts=5)
    await keyed.register(token, key)
    assert (await keyed.shown(key.sign(await keyed.asked())))[0] == 200
    FOREIGN[fault](key)
    assert (await keyed.shown(key.sign(await keyed.asked())))[0] == 401
    if fault in {"another origin", "without tls", "another port", "for another party"}:
        begun = (await keyed.call("me.passkey_begin", bearer=token))[1]["options"]
        key.credential = b"new" * 10
        told = json.dumps(key.make(begun))
        assert (await keyed.call("me.passkey_add", bearer=token, answer=told, name="x"))[0] == 422


@pytest.mark.asyncio
async def test_who_is_off_or_has_no_password_does_not_come_in(keyed: KeyedDesk) -> None:
    for name, role in (("root", Role.ADMIN), ("anna", Role.SUPPORT)):
        token = await keyed.add(name, role)
    key = SoftAuthenticator(ORIGIN)
    await keyed.register(token, key)
    with keyed.desk.people() as store:
        anna = store.named("anna")
        store.change(msgspec.structs.replace(anna, state=PersonState.OFF), ends=True)
        assert (await keyed.shown(key.sign(await keyed.asked())))[0] == 401
        store.change(anna, ends=True)
        store.void_password(anna)
        assert (await keyed.shown(key.sign(await keyed.asked())))[0] == 401
        link = LinkBook(store).make(anna, time.time())
        status, begun = await keyed.call("login.link", token=link, password=PASSWORD)
        assert (status, begun["token"]) == (200, "")  # the passkey is their second step
        assert (await keyed.shown(key.sign(await keyed.asked())))[0] == 200
        store.forget(anna)
    assert (await keyed.shown(key.sign(await keyed.asked())))[0] == 401


def broken(answer: Any, dice: random.Random) -> str:
    """Return an answer with something wrong in it."""
    octets = {
        "attestationObject", "clientDataJSON", "authenticatorData", "signature", "userHandle",
    }  # fmt: skip
    copy = json.loads(json.dumps(answer))
    response = copy["response"]
    name = dice.choice([name for name in response if name in octets])
    raw = bytearray(decoded(response[name]))
    match dice.randrange(8):
        case 0:
            raw[dice.randrange(len(raw))] ^= 1 << dice.randrange(8)
            response[name] = encoded(bytes(raw))
        case 1:
            response[name] = encoded(bytes(raw[: dice.randrange(len(raw))]))
        case 2:
            response[name] = encoded(bytes(raw) + dice.randbytes(dice.randrange(1, 2000)))
        case 3:
            response[name] = dice.choice([None, 7, [], {}, "", "=", "\u0430", "A" * 70_000])
        case 4:
            where = dice.choice([copy, response])
            del where[dice.choice(list(where))]
        case 5:
            copy[dice.choice(["id", "rawId", "type"])] = dice.choice(["", "x", None, "A" * 3000])
        case 6:
            response[name] = encoded(dice.randbytes(dice.randrange(300)))
        case _:
            text = json.dumps(copy)
            return text[: dice.randrange(len(text))] + dice.choice(["", "[" * 5000, "\0", "}"])
    return json.dumps(copy)


@pytest.mark.asyncio
async def test_broken_answers_are_refused_and_never_an_error(keyed: KeyedDesk) -> None:
    """Whatever comes is refused as wrong or as none: nothing raises, and nobody is signed in."""
    token, key = await keyed.add("anna", Role.ADMIN), SoftAuthenticator(ORIGIN)
    await keyed.register(token, key)
    dice, harmless = random.Random(7), {"clientExtensionResults", "authenticatorAttachment"}
    for _ in range(80):
        begun = (await keyed.call("me.passkey_begin", bearer=token))[1]["options"]
        new = SoftAuthenticator(ORIGIN)
        made = new.make(begun)
        told = broken({name: made[name] for name in made if name not in harmless}, dice)
        status, words = await keyed.call("me.passkey_add", bearer=token, answer=told, name="x")
        # bits of its flags and its counter may be what they like: nobody vouches for a new key
        assert status in {200, 422}, (told, words)
        keyed.write("DELETE FROM wait")
        keyed.write("DELETE FROM passkey WHERE credential <> ?", key.credential)
        shown = key.sign(await keyed.asked())
        told = broken({name: shown[name] for name in shown if name not in harmless}, dice)
        status, words = await keyed.shown(told)
        assert status == 401, (told, words)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "answer", ["", "null", "[]", '"x"', "{", "\0", "x" * 100_000, "[" * 50_000]
)
async def test_no_answer_is_none(keyed: KeyedDesk, answer: str) -> None:
    token = await keyed.add("anna", Role.ADMIN)
    await keyed.asked()
    assert (await keyed.shown(answer))[0] == 401
    await keyed.call("me.passkey_begin", bearer=token)
    told = await keyed.call("me.passkey_add", bearer=token, answer=answer, name="x")
    assert told == (422, {"error": "this passkey was not taken: begin again"})


@pytest.mark.asyncio
async def test_names_and_numbers_are_bounded(keyed: KeyedDesk) -> None:
    token = await keyed.add("anna", Role.ADMIN)
    for name in ("", " ", "x" * 61, "x" * 100_000, "a\u202eb", "a\0b"):
        status, words = await keyed.call("me.passkey_add", bearer=token, answer="{}", name=name)
        assert (status, "a name of at most" in words["error"]) == (422, True)
    for browser in ("", "short", "x" * 201):
        assert (await keyed.call("login.passkey_begin", browser=browser))[0] == 422
    for _ in range(20):
        await keyed.register(token, SoftAuthenticator(ORIGIN))
    begun = (await keyed.call("me.passkey_begin", bearer=token))[1]["options"]
    told = json.dumps(SoftAuthenticator(ORIGIN).make(begun))
    status, words = await keyed.call("me.passkey_add", bearer=token, answer=told, name="x")
    assert (status, words["error"]) == (422, "there are 20 passkeys; remove one first")
    # whoever fills the file drives out what their own network has asked
    key = SoftAuthenticator(ORIGIN)
    keyed.write("DELETE FROM passkey")
    await keyed.register(token, key)
    options = await keyed.asked()
    for number in range(MOST_OF_NETWORK + 20):
        await keyed.call(
            "login.passkey_begin", browser=f"a browser of eve {number}", place="198.51.100.9"
        )
    with keyed.desk.people() as store:
        assert store.rows("SELECT count(*) FROM challenge") == [(MOST_OF_NETWORK + 1,)]
    assert (await keyed.shown(key.sign(options)))[0] == 200


@pytest.mark.asyncio
async def test_guesses_wait(keyed: KeyedDesk) -> None:
    statuses = [(await keyed.shown("{}"))[0] for _ in range(12)]
    assert statuses[0] == 401
    assert statuses[-1] == 429


@pytest.mark.asyncio
@pytest.mark.parametrize("url", ["http://mx.example.org", "https://192.0.2.1", "http://[::1]:8891"])
async def test_without_a_name_and_tls_there_are_none(tmp_path: Path, url: str) -> None:
    async with login_desk(tmp_path, {**SETTINGS, "console.url": url}) as desk:
        keyed = KeyedDesk(desk)
        token = await keyed.add("anna", Role.ADMIN)
        assert not (await desk.call("login.ways"))[1]["passkey"]
        assert "console.url" in (await desk.call("me.passkeys", bearer=token))[1]["trouble"]
        for call, told in (
            ("login.passkey_begin", {"browser": BROWSER}),
            ("login.passkey", {"browser": BROWSER, "answer": "{}"}),
            ("me.passkey_begin", {}),
        ):
            status, words = await desk.call(call, bearer=token, **told)
            assert (status, "console.url" in words["error"]) == (422, True)


def test_whom_passkeys_are_for() -> None:
    def origin(url: str) -> str:
        party = relying_party(url, "mx")
        return party.origin if isinstance(party, RelyingParty) else ""

    assert origin("https://MX.example.org/console") == "https://mx.example.org"
    assert origin("https://mx.example.org:443") == "https://mx.example.org"
    assert origin("https://mx.example.org:8443") == "https://mx.example.org:8443"
    assert origin("http://localhost:8891") == "http://localhost:8891"
    for url in ("", "https://mx.example.org:99999", "https://[::1", "http://127.0.0.1:8891"):
        assert origin(url) == ""
