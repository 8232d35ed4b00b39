"""One Postfix as postconf(1) tells it: its parameters, the services that take mail by SMTP, and
what each of them overrides.

Nothing is read past Postfix's own tool, so that included files, `$name` and folded lines mean what
they mean to it.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from oborona.desk.programs import ProgramError, program, run
from oborona.errors import ConfigError

MILTERS: Final = "smtpd_milters"
LOGINS: Final = "smtpd_sasl_auth_enable"
TOLD_AT_MAIL: Final = "milter_mail_macros"
OLDEST: Final = (3, 0)  # the first that takes options of one milter, in braces

_USED: Final = (
    MILTERS, "compatibility_level", "config_directory", "mail_owner", "mail_version", "multi_instance_directories",
    "non_smtpd_milters", "queue_directory", LOGINS, TOLD_AT_MAIL,
)  # fmt: skip
"""Asked for at once: a start of postconf costs more than what it says."""

_SETTING: Final = re.compile(r"([^\s/]+/[^\s/]+)/(\S+) = ?(.*)")


class PostfixError(ConfigError):
    """Postfix is not here, or can't be asked, or is set up so that it does not do what it was asked
    for.
    """


class Smtpd(NamedTuple):
    """A service that takes mail by SMTP."""

    name: str  # "smtp/inet", as `postconf -M` has it
    chroot: bool
    milters: str  # expanded: of its own, else those of main.cf
    own: bool  # they stand in master.cf, and what main.cf says does not reach it
    logins: bool = False  # people log in here

    @property
    def public(self) -> bool:
        """Whether the mail of strangers comes here: port 25, or what postscreen passes on."""
        name, _, kind = self.name.rpartition("/")
        return kind == "pass" or name.rpartition(":")[2] in ("smtp", "25")


class PostfixInstance:
    """A Postfix of this machine.

    Args:
        folder: of main.cf; None: the one that Postfix's tools take by themselves.

    What it says is asked for once: after a change, make another.

    Raises:
        PostfixError: there is no Postfix here, or it can't be asked.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._asked = folder
        self._values: dict[str, str] = {}
        self._postconf = program("postconf")
        if self._postconf is None:
            raise PostfixError("no Postfix here (no postconf)")
        # not config_directory of a folder that is named: a copy of main.cf may still name the place
        # that it came from
        self.folder = folder or Path(self.value("config_directory"))

    def value(self, name: str) -> str:
        """Return a parameter of main.cf, with what it names filled in."""
        return self.values(name)[name]

    def values(self, *names: str) -> dict[str, str]:
        """Return several parameters of main.cf, with what they name filled in."""
        if not self._values.keys() >= set(names):
            lines = (line.partition(" =") for line in self._ask("-x", *_USED, *names).splitlines())
            self._values |= {name: value.strip() for name, _, value in lines}
        return {name: self._values.get(name, "") for name in names}

    def raw(self, name: str) -> str:
        """Return a parameter of main.cf as it is written there, or its default."""
        return self._ask("-h", name).rstrip("\n")

    @property
    def version(self) -> tuple[int, int]:
        """Its version, such as (3, 7); (0, 0) where it can't be read."""
        match = re.match(r"(\d+)\.(\d+)", self.value("mail_version"))
        return (int(match[1]), int(match[2])) if match else (0, 0)

    @property
    def queue(self) -> Path:
        """Its queue directory: the working directory of its daemons, and the root of those in a
        chroot.
        """
        return Path(self.value("queue_directory"))

    @property
    def owner(self) -> str:
        """The user as whom smtpd speaks to milters."""
        return self.value("mail_owner")

    @property
    def others(self) -> tuple[str, ...]:
        """Folders of further instances that this one starts."""
        return tuple(filter(None, re.split(r"[\s,]+", self.value("multi_instance_directories"))))

    @cached_property
    def smtpds(self) -> tuple[Smtpd, ...]:
        """The services of master.cf that take mail by SMTP, in its order."""
        columns = self._of_services("-F")
        own = self._of_services("-Px")
        return tuple(
            Smtpd(
                name,
                self._in_chroot(columns.get((name, "chroot"), "-")),
                own.get((name, MILTERS), self.value(MILTERS)),
                (name, MILTERS) in own,
                own.get((name, LOGINS), self.value(LOGINS)) == "yes",
            )
            for (name, column), command in columns.items()
            if column == "command" and command.partition(" ")[0] == "smtpd"
        )

    def _in_chroot(self, column: str) -> bool:
        """Tell what the fifth column means: "-" is yes only to a compatibility level below 1.

        Source: master(5).
        """
        return column == "y" or (
            column == "-" and self.value("compatibility_level").partition(".")[0] in ("", "0")
        )

    def _of_services(self, option: str) -> dict[tuple[str, str], str]:
        """Return what postconf says of services, by their name and the name of a column or
        parameter.
        """
        matches = (_SETTING.fullmatch(line) for line in self._ask(option).splitlines())
        return {(match[1], match[2]): match[3].strip() for match in matches if match}

    def _ask(self, *words: str) -> str:
        assert self._postconf is not None
        folder = [] if self._asked is None else ["-c", str(self._asked)]
        return _run([self._postconf, *folder, *words])

    def run(self, tool: str, *words: str, said: str = "") -> str:
        """Run one of Postfix's tools on this instance, and return what it says.

        Args:
            tool: its name.
            words: its arguments.
            said: to it, on standard input.

        Raises:
            PostfixError: it is not here, or says that it failed; the text has its words.
        """
        path = program(tool)
        if path is None:
            raise PostfixError(f"no {tool} here")
        return _run([path, "-c", str(self.folder), *words], said)


def _run(command: list[str], said: str = "") -> str:
    try:
        return run(command, said)
    except ProgramError as error:
        raise PostfixError(str(error)) from error
