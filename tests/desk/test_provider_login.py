"""Signing in at a real OpenID provider; what it tells amiss is refused with one answer."""

import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import pytest_asyncio
from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey

from oborona.config.console import ConsoleSettings
from oborona.desk.provider.attempt_seal import ATTEMPT_S, AttemptSeal
from oborona.desk.provider.claims import claim_of, roles_of, vouched_person
from oborona.desk.provider.id_token import TokenRefusedError, UnknownKeyError, read_id_token
from oborona.desk.provider.provider_client import ProviderClient, ProviderError, check_url
from oborona.errors import ConfigError
from oborona.people.person import PersonState
from oborona.people.rights import Role
from oborona.people.store import new_person
from tests.desk.login_desk import LoginDesk, login_desk
from tests.peers.oidc_provider import SECRET, OidcProvider

URL = "http://127.0.0.1:8891"
ISSUER, CLIENT, NONCE = "https://sso.example", "oborona", "n0nce"
NOW = 1_800_000_000
KEY = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})
REFUSED = {"error": "name, password or code is wrong"}


@pytest.fixture(scope="module")
def provider() -> Iterator[OidcProvider]:
    with OidcProvider(f"{URL}/sign-in/provider/back") as running:
        yield running


@pytest_asyncio.fixture
async def desk(tmp_path: Path, provider: OidcProvider) -> AsyncIterator[LoginDesk]:
    (tmp_path / "secret").write_text(SECRET + "\n")
    settings = {
        "console.oidc_issuer": provider.issuer,
        "console.oidc_secret_file": str(tmp_path / "secret"),
        "console.oidc_roles": "chiefs=admin staff=support",
        "console.url": URL,
        "console.second_step": "required",
    }
    async with login_desk(tmp_path, settings) as found:
        yield found


async def came_back(desk: LoginDesk, provider: OidcProvider, login: str) -> dict[str, str]:
    """Sign in at the provider; return what the console tells the desk then."""
    status, start = await desk.call("login.provider_begin")
    assert status == 200, start
    url = await provider.signed_in(start["url"], login)
    words = dict(parse_qsl(urlsplit(url).query))
    return {
        "attempt": start["attempt"], "state": words["state"], "code": words["code"],
        "issuer": words["iss"],
    }  # fmt: skip


@pytest.mark.asyncio
async def test_somebody_signs_in_with_the_roles_of_their_groups(
    desk: LoginDesk, provider: OidcProvider
) -> None:
    _, ways = await desk.call("login.ways")
    assert ways == {
        "provider": f"127.0.0.1:{provider.port}", "mail": False, "mailbox": False, "passkey": False,
    }  # fmt: skip
    back = await came_back(desk, provider, "anna+staff+chiefs")
    status, started = await desk.call("login.provider", **back)
    assert status == 200, started
    caller = started["caller"]
    assert (caller["name"], caller["roles"]) == ("anna", ["admin", "support"])
    # the second step is the provider's; and what hurts wants more than a session there
    assert (caller["must_enrol"], caller["fresh"]) == (False, False)
    token = started["token"]
    _, shown = await desk.call("me.sessions", bearer=token)
    assert [one["way"] for one in shown["sessions"]] == ["provider"]
    _, tries = await desk.call("me.attempts", bearer=token)
    assert [(one["outcome"], one["way"]) for one in tries["attempts"]] == [("done", "provider")]
    with desk.people() as store:
        assert store.named("anna").addresses == {"anna@shop.example"}
    # no password opens it
    assert (await desk.call("login.password", name="anna", password=""))[0] == 401
    # the same state, the same code, once more
    assert await desk.call("login.provider", **back) == (401, REFUSED)


@pytest.mark.asyncio
async def test_who_shows_once_more_who_they_are_is_fresh(
    desk: LoginDesk, provider: OidcProvider
) -> None:
    _, start = await desk.call("login.provider_begin", again=True)
    words = dict(parse_qsl(urlsplit(start["url"]).query))
    assert (words["prompt"], words["max_age"]) == ("login", "0")
    url = await provider.signed_in(start["url"], "anna+chiefs")
    told = dict(parse_qsl(urlsplit(url).query))
    status, started = await desk.call(
        "login.provider", attempt=start["attempt"], state=told["state"], code=told["code"],
        issuer=told["iss"],
    )  # fmt: skip
    assert (status, started["caller"]["fresh"]) == (200, True)


@pytest.mark.asyncio
async def test_whoever_has_no_role_is_told_so_and_is_not_kept(
    desk: LoginDesk, provider: OidcProvider
) -> None:
    status, words = await desk.call("login.provider", **await came_back(desk, provider, "eve"))
    assert (status, "no role" in words["error"]) == (403, True)
    with desk.people() as store:
        assert store.find("eve") is None


@pytest.mark.asyncio
async def test_a_name_that_somebody_has_is_nobody_elses(
    desk: LoginDesk, provider: OidcProvider
) -> None:
    with desk.people() as store:
        store.add(_local("admin", Role.ADMIN))
    back = await came_back(desk, provider, "admin+staff")
    status, words = await desk.call("login.provider", **back)
    assert (status, words["error"]) == (
        403, "somebody else has your name here; ask your administrator",
    )  # fmt: skip


def _local(name: str, role: Role) -> Any:
    nothing = frozenset[str]()
    return new_person(
        name, roles=frozenset({role}), domains=nothing, addresses=nothing, language="",
        made_by="root", now=time.time(),
    )  # fmt: skip


@pytest.mark.asyncio
async def test_who_loses_their_groups_loses_role_and_sessions(
    desk: LoginDesk, provider: OidcProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, started = await desk.call("login.provider", **await came_back(desk, provider, "bert+staff"))
    back = await came_back(desk, provider, "bert+staff")
    monkeypatch.setattr("oborona.desk.provider.claims.roles_of", lambda *_: frozenset())
    assert (await desk.call("login.provider", **back))[0] == 403
    assert (await desk.call("me.show", bearer=started["token"]))[0] == 401
    with desk.people() as store:
        person = store.named("bert")
    assert (person.roles, person.state) == (frozenset(), PersonState.ACTIVE)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "change",
    [
        {"state": "another"}, {"attempt": "another"}, {"attempt": ""}, {"code": ""},
        {"code": "x" * 5000}, {"code": "not of this provider"}, {"issuer": "https://evil.example"},
        {"issuer": ""}, {"state": "\u0000\u202e"}, {"attempt": "a." + "9" * 100 + ".b"},
    ],
    ids=str,
)  # fmt: skip
async def test_what_comes_back_amiss_has_one_answer(
    desk: LoginDesk, provider: OidcProvider, change: dict[str, str]
) -> None:
    back = await came_back(desk, provider, "anna+chiefs") | change
    assert await desk.call("login.provider", **back) == (401, REFUSED)
    with desk.people() as store:
        assert store.find("anna") is None


@pytest.mark.asyncio
async def test_an_answer_of_another_browser_is_none_of_this_one(
    desk: LoginDesk, provider: OidcProvider
) -> None:
    """Who sends somebody else the address that they were sent back to signs nobody in as them."""
    theirs = await came_back(desk, provider, "eve+staff")
    _, start = await desk.call("login.provider_begin")
    mixed = theirs | {"attempt": start["attempt"]}
    assert await desk.call("login.provider", **mixed) == (401, REFUSED)


@pytest.mark.asyncio
async def test_an_altered_token_has_the_same_answer(
    desk: LoginDesk, provider: OidcProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ProviderClient.token_for

    def altered(client: ProviderClient, *told: str) -> str:
        head, body, seal = real(client, *told).split(".")
        return f"{head}.{body[:-4]}AAAA.{seal}"

    monkeypatch.setattr(ProviderClient, "token_for", altered)
    back = await came_back(desk, provider, "anna+chiefs")
    assert await desk.call("login.provider", **back) == (401, REFUSED)


@pytest.mark.asyncio
async def test_who_fails_too_often_waits(desk: LoginDesk) -> None:
    statuses = [(await desk.call("login.provider", attempt="x"))[0] for _ in range(12)]
    assert statuses[:11] == [401] * 11
    assert statuses[11] == 429


@pytest.mark.asyncio
async def test_a_provider_that_is_away_is_told_so(tmp_path: Path) -> None:
    settings = {"console.oidc_issuer": "http://127.0.0.1:9", "console.url": URL}
    async with login_desk(tmp_path, settings) as desk:
        for _ in range(12):  # and nobody waits for it
            status, words = await desk.call("login.provider_begin")
            assert (status, "can't be asked" in words["error"]) == (503, True)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"console.oidc_issuer": "http://sso.example.org"}, "https"),
        ({"console.oidc_secret_file": "/nowhere/it/is"}, "oidc_secret_file"),
        ({"console.listen": "unix:/run/x.sock", "console.url": ""}, "console.url"),
        ({"console.oidc_roles": "staff=king"}, "roles are"),
    ],
)
async def test_settings_that_can_not_work_are_refused(
    tmp_path: Path, settings: dict[str, str], told: str
) -> None:
    whole = {"console.oidc_issuer": "https://sso.example.org"} | settings
    with pytest.raises(ConfigError, match=told):
        async with login_desk(tmp_path, whole):
            pass


# tokens


def claims(**changed: Any) -> dict[str, Any]:
    told = {
        "iss": ISSUER, "aud": CLIENT, "sub": "17", "exp": NOW + 300, "iat": NOW - 1,
        "nonce": NONCE,
    } | changed  # fmt: skip
    return {name: value for name, value in told.items() if value is not None}


def signed(told: dict[str, Any], key: Any = KEY, **header: str) -> str:
    head = {"alg": "RS256", "kid": "one"} | header
    return jwt.encode(head, told, key, algorithms=[head["alg"]])


def read(token: str, keys: Any = None) -> dict[str, Any]:
    jwks = keys if keys is not None else KeySet([KEY]).as_dict()
    return read_id_token(token, jwks, issuer=ISSUER, client_id=CLIENT, nonce=NONCE, now=NOW)


def test_a_whole_token_is_read() -> None:
    assert read(signed(claims(groups=["a"])))["groups"] == ["a"]
    assert read(signed(claims(exp=NOW - 30)))  # clocks differ
    assert read(signed(claims(aud=[CLIENT, "other"], azp=CLIENT)))


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://evil.example"}, {"iss": ISSUER + "/"}, {"iss": None}, {"aud": "other"},
        {"aud": None}, {"aud": ["other"]}, {"aud": [CLIENT, "other"]}, {"aud": []},
        {"azp": "other"}, {"exp": NOW - 120}, {"exp": None}, {"exp": "soon"}, {"iat": NOW + 120},
        {"iat": NOW - 3600}, {"iat": None}, {"nbf": NOW + 120}, {"nonce": "other"},
        {"nonce": None}, {"nonce": 7}, {"sub": None}, {"sub": 17}, {"iss": 7}, {"exp": True},
        {"iat": [1]}, {"nonce": "\u0430"},
    ],
    ids=str,
)  # fmt: skip
def test_a_token_that_says_something_else_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(TokenRefusedError):
        read(signed(claims(**changed)))


def test_a_token_of_another_key_or_of_none_is_refused() -> None:
    other = RSAKey.generate_key(2048, {"kid": "one"})
    unknown = RSAKey.generate_key(2048, {"kid": "two"})
    with pytest.raises(TokenRefusedError):
        read(signed(claims(), other))
    with pytest.raises(UnknownKeyError):
        read(signed(claims(), unknown, kid="two"))
    # our own public key, or secret, as that of an HMAC
    hs = signed(claims(), OctKey.import_key(b"k" * 32), alg="HS256")
    with pytest.raises(TokenRefusedError):
        read(hs, {"keys": [OctKey.import_key(b"k" * 32, {"kid": "one"}).as_dict()]})
    with pytest.raises(TokenRefusedError):
        read(hs)
    head, body, seal = signed(claims()).split(".")
    none = "eyJhbGciOiJub25lIiwia2lkIjoib25lIn0"
    for token in (
        f"{none}.{body}.", f"{none}.{body}.{seal}", f"{head}.{body}.", f"{head}.{body}", "", "...",
        "\u202e", "a" * 300_000, f"{head}.{'A' * 5000}.{seal}",
    ):  # fmt: skip
        with pytest.raises(TokenRefusedError):
            read(token)


@pytest.mark.parametrize("keys", [{"keys": []}, {"keys": [7, {}]}, {"keys": [{"kty": "RSA"}]}])
def test_keys_of_no_use_are_a_refusal(keys: Any) -> None:
    with pytest.raises(TokenRefusedError):
        read(signed(claims()), keys)


def test_an_attempt_is_good_once_and_for_a_while() -> None:
    seal = AttemptSeal()
    one, other = seal.begin(NOW), seal.begin(NOW)
    assert seal.take(one.text, other.state, NOW) is None
    assert seal.take(one.text, one.state, NOW + ATTEMPT_S + 1) is None
    assert seal.take(one.text, one.state, NOW - ATTEMPT_S) is None
    assert seal.take(one.text, one.state, NOW) == one
    assert seal.take(one.text, one.state, NOW) is None
    assert AttemptSeal().take(other.text, other.state, NOW) is None
    assert len({one.state, one.nonce, one.verifier, other.nonce}) == 4


def test_roles_come_of_groups() -> None:
    table = "a=admin b=support a=analyst *=reader x=y=duty"
    assert roles_of(["a"], table) == {Role.ADMIN, Role.ANALYST, Role.READER}
    assert roles_of([], table) == {Role.READER}
    assert roles_of(["x=y", "*"], table) == {Role.DUTY, Role.READER}
    assert roles_of(["A", "ab"], "a=admin") == frozenset()


def test_claims_are_read_as_they_are_told() -> None:
    told: dict[str, Any] = {"a": {"b": {"c": [1]}}, "a.b": "short", "iss": "i", "sub": "s"}
    assert claim_of(told, "a.b.c") == [1]
    assert claim_of(told, "a.b") == "short"
    assert claim_of(told, "a.x.c") is None
    settings = ConsoleSettings(oidc_roles="g=support *=reader")
    told = {"iss": "i", "sub": "s", "groups": {"g": 1}, "preferred_username": 7}
    assert vouched_person(told, settings).roles == {Role.READER}
    assert vouched_person(told, settings).name == ""
    mail = told | {"email": "A@Shop.example"}
    assert vouched_person(mail, settings).addresses == frozenset()
    assert vouched_person(mail | {"email_verified": "true"}, settings).addresses == frozenset()
    assert vouched_person(mail | {"email_verified": True}, settings).addresses == {"a@shop.example"}


@pytest.mark.parametrize(
    "url", ["http://sso.example", "ftp://127.0.0.1", "https//x", "", "http://[", "javascript:1"]
)
def test_a_provider_is_asked_by_https_alone(url: str) -> None:
    with pytest.raises(ProviderError):
        check_url(url)
