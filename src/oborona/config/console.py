"""Settings of the console: its pages, and the desk that answers them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

from msgspec import Meta

from oborona import state_files
from oborona.config.address import EXAMPLES, InetAddress, UnixAddress, parse_address
from oborona.config.doors import ListenSettings, check_networks, check_optional_address
from oborona.errors import ConfigError

ROLES: Final = ("reader", "support", "analyst", "duty", "admin", "auditor")


def oidc_roles(value: str) -> None:
    """Check which groups have which role."""
    for pair in value.split():
        group, _, role = pair.rpartition("=")
        if not group or role not in ROLES:
            raise ValueError(f"{pair!r}: write group=role; roles are {', '.join(ROLES)}")


def imap(value: str) -> None:
    """Check where an IMAP server listens."""
    if not value:
        return
    try:
        parse_address(f"inet:{value}")
    except ConfigError:
        raise ValueError(f"{value!r} is no IMAP server; write HOST:PORT") from None


class ConsoleSettings(ListenSettings, frozen=True, kw_only=True):
    """Pages for people, and the API behind them (docs/operate/console.md)."""

    enabled: Annotated[
        bool, Meta(description="Serve pages, and the desk that answers them and programs.")
    ] = False
    listen: Annotated[
        str,
        Meta(
            max_length=300,
            description="Where pages are served, without TLS: a port of this machine, or a socket "
            "file; a proxy with TLS stands before it. Empty: no pages, the desk alone.",
            extra={"allowed": f'{EXAMPLES}, or ""', "check": check_optional_address},
        ),
    ] = "inet:127.0.0.1:8891"
    desk: Annotated[
        str,
        Meta(
            max_length=300,
            description="The socket file of the desk, which reads and changes stores for pages and "
            "programs that show who they are for. Empty: desk.sock in the state folder.",
            extra={
                "allowed": 'a socket file, such as "unix:/run/oborona-desk/desk.sock", or ""',
                "check": check_optional_address,
            },
        ),
    ] = ""
    url: Annotated[
        str,
        Meta(
            pattern=r"\A(https?://[^\s/]+(/[^\s]*)?)?\Z",
            max_length=300,
            description="How people reach the pages, for links that are sent or printed. Empty: "
            "as they are listened on.",
            extra={"allowed": 'such as "https://mx.example.org", or ""'},
        ),
    ] = ""
    second_step: Annotated[
        Literal["optional", "required"],
        Meta(
            description="Who signs in by a code of a telephone beside the password: whoever wants "
            "to, or every admin; required, an admin without one may do nothing but begin one."
        ),
    ] = "optional"

    oidc_issuer: Annotated[
        str,
        Meta(
            pattern=r"\A(https?://[^\s/?#]+(/[^\s?#]*)?)?\Z",
            max_length=300,
            description="The OpenID provider by which people sign in, as it calls itself; it needs "
            "the extra `login` of the package (docs/operate/sign-in.md). Empty: there is none.",
            extra={"allowed": 'such as "https://sso.example.org/realms/staff", or ""'},
        ),
    ] = ""
    oidc_client_id: Annotated[
        str,
        Meta(
            pattern=r"\A[!-~]*\Z",
            max_length=300,
            description="The name by which that provider knows the console.",
            extra={"allowed": "text without spaces"},
        ),
    ] = "oborona"
    oidc_secret_file: Annotated[
        str,
        Meta(
            pattern=r"\A(/[^\x00-\x1f\x7f]+)?\Z",
            max_length=4096,
            description="File that holds the console's secret there, and nothing else. Empty: it "
            "has none (a public client).",
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
    oidc_roles: Annotated[
        str,
        Meta(
            max_length=4000,
            description="Which groups of the provider have which role, as group=role with spaces "
            "between; * is whoever signs in there. Who is in none of them may nothing.",
            extra={
                "allowed": 'such as "mail-admins=admin helpdesk=support *=reader", or ""',
                "check": oidc_roles,
            },
        ),
    ] = ""
    oidc_groups: Annotated[
        str,
        Meta(
            pattern=r"\A[!-~]+\Z",
            max_length=200,
            description="The claim of ID tokens that has the groups; dots lead into objects.",
            extra={"allowed": 'such as "groups" or "realm_access.roles"'},
        ),
    ] = "groups"
    oidc_name: Annotated[
        str,
        Meta(
            pattern=r"\A[!-~]+\Z",
            max_length=200,
            description="The claim that has a person's name.",
            extra={"allowed": 'such as "preferred_username" or "email"'},
        ),
    ] = "preferred_username"
    oidc_addresses: Annotated[
        str,
        Meta(
            pattern=r"\A[!-~]*\Z",
            max_length=200,
            description="The claim that has the mail addresses of readers; `email` counts only "
            "where the provider has verified it. Empty: none.",
            extra={"allowed": 'such as "email", or ""'},
        ),
    ] = "email"

    trusted_proxies: Annotated[
        str,
        Meta(
            max_length=2000,
            description="Networks of proxies that say whose browser asks (X-Forwarded-For), with "
            "spaces between. Empty: this machine alone. Whoever comes by a socket file is one.",
            extra={"allowed": 'such as "192.0.2.7/32", or ""', "check": check_networks},
        ),
    ] = ""
    proxy_secret_file: Annotated[
        str,
        Meta(
            pattern=r"\A(/[^\x00-\x1f\x7f]+)?\Z",
            max_length=4096,
            description="File that holds the secret by which these proxies say who is signed in: "
            "X-Remote-User counts beside X-Proxy-Secret with it. Empty: they say nothing of it.",
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""

    readers: Annotated[
        Literal["none", "mail"],
        Meta(
            description="How readers sign in without a password: not at all, or by a link that "
            "goes to their mailbox, through alarm.mail_server."
        ),
    ] = "none"
    reader_domains: Annotated[
        str,
        Meta(
            max_length=20_000,
            pattern=r"\A([a-z0-9]([a-z0-9.-]*[a-z0-9])?( |\Z))*\Z",
            description="Domains of this site's own mailboxes, with spaces between: whoever shows "
            "that one is theirs, by a link or its password, is a reader. Empty: those alone that "
            "were added by `oborona people add`.",
            extra={"allowed": 'domains in lower case with single spaces between, or ""'},
        ),
    ] = ""
    imap: Annotated[
        str,
        Meta(
            max_length=300,
            description="The IMAP server at which readers sign in with the password of their "
            "mailbox. Empty: they do not.",
            extra={"allowed": 'HOST:PORT, such as "mail.example.org:993", or ""', "check": imap},
        ),
    ] = ""
    imap_tls: Annotated[
        Literal["tls", "starttls", "none"],
        Meta(
            description="TLS from the start, after STARTTLS, or none, which is for an IMAP server "
            "on this machine alone."
        ),
    ] = "tls"
    imap_certificates: Annotated[
        str,
        Meta(
            pattern=r"\A(/[^\x00-\x1f\x7f]+)?\Z",
            max_length=4096,
            description="File of the certificates that vouch for that server. Empty: those that "
            "the system trusts.",
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
    digest: Annotated[
        Literal["off", "daily"],
        Meta(
            description="Mail people who may log in and have addresses what was kept from them, at "
            "most once a day, through alarm.mail_server (docs/people/my-mail.md). It needs url."
        ),
    ] = "off"
    digest_hour: Annotated[
        int,
        Meta(
            ge=0,
            le=23,
            description="From this hour of the server's clock on, for those who chose no other.",
        ),
    ] = 7

    policy: Annotated[
        Literal["overlay", "read", "write"],
        Meta(
            description="What drafts of the policy may be published to: the file 90-console.toml "
            "of the policy folder alone, nothing, or all files of that folder."
        ),
    ] = "overlay"

    two_persons: Annotated[
        bool,
        Meta(
            description="Publish the policy live by two persons alone: one proposes a draft, "
            "another approves it (docs/policy/drafts.md). Rolling back needs one."
        ),
    ] = False

    def desk_path(self, state: Path) -> Path:
        """Return the socket file of the desk.

        Args:
            state: the state folder.

        Raises:
            ConfigError: `desk` is a port: whoever reaches it may try tokens.
        """
        if not self.desk:
            return state / state_files.DESK_SOCKET
        address = parse_address(self.desk)
        if not isinstance(address, UnixAddress):
            raise ConfigError("console.desk: write a socket file: unix:PATH")
        return Path(address.path)

    @property
    def imap_server(self) -> InetAddress:
        """`imap`, parsed."""
        server = parse_address(f"inet:{self.imap}")
        assert isinstance(server, InetAddress)
        return server

    @property
    def pages_url(self) -> str:
        """How people reach the pages, without a slash at its end; empty: it can't be told."""
        if self.url or not self.listen or not isinstance(self.address, InetAddress):
            return self.url.rstrip("/")
        host = f"[{self.address.host}]" if ":" in self.address.host else self.address.host
        return f"http://{host}:{self.address.port}"
