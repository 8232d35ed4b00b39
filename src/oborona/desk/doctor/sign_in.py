"""What `oborona doctor` says of signing in: can the OpenID provider be asked."""

from __future__ import annotations

from collections.abc import Iterator

from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.provider.provider_client import ProviderClient, ProviderError
from oborona.desk.site import Site


def sign_in(context: Site) -> Iterator[CheckReport]:
    """Ask the provider what it is, and for its keys, where people sign in by one."""
    console = context.loaded.settings.console
    if not (console.enabled and console.oidc_issuer):
        return
    client = ProviderClient(console.oidc_issuer, console.oidc_client_id, "")
    try:
        number = len(client.keys()["keys"])
    except ProviderError as error:
        yield CheckReport(
            "sign-in",
            CheckState.WARN,
            f"the OpenID provider can't be asked: {error}",
            "people with a password of the console can sign in; see docs/operate/sign-in.md",
        )
        return
    yield CheckReport("sign-in", CheckState.OK, f"{console.oidc_issuer}: {number} keys")
