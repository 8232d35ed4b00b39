"""Signing in at the site's provider."""

from tests.console.page_case import PageCase
from tests.console.stub_desk import DeskRefusalError

BACK = "/sign-in/provider/back?code=c&state=s"
WAYS = {"login.ways": {"provider": "sso.shop.example"}}

CASES = [
    PageCase(
        name="sign-in-ways",
        path="/sign-in?next=/me",
        role=None,
        answers=WAYS,
        texts=("Or by your organisation", "Sign in at sso.shop.example"),
    ),
    PageCase(
        name="provider-leave",
        path="/sign-in/provider?next=/me",
        role=None,
        answers={"login.provider_begin": {"url": "https://sso.shop.example/", "attempt": "a.1.b"}},
        status=303,
    ),
    PageCase(
        name="provider-away",
        path="/sign-in/provider",
        role=None,
        answers=WAYS | {"login.provider_begin": DeskRefusalError(503, "away")},
        status=503,
        texts=("can't be reached now",),
    ),
    PageCase(
        name="provider-refused",
        path=BACK,
        role=None,
        answers=WAYS | {"login.provider": DeskRefusalError(401, "wrong")},
        status=403,
        texts=("Signing in did not work. Begin again.",),
    ),
    PageCase(
        name="provider-no-role",
        path=BACK,
        role=None,
        answers=WAYS | {"login.provider": DeskRefusalError(403, "you have no role here")},
        status=403,
        texts=("you have no role here",),
    ),
]
