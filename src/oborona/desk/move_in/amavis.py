"""amavisd's configuration: plain assignments alone are read, and no Perl is run."""

from __future__ import annotations

from typing import Final

from oborona.desk.move_in.amavis_maps import AmavisLists
from oborona.desk.move_in.perl_tokens import PerlKind, PerlWithoutEndError
from oborona.desk.move_in.perl_values import PerlStatement, PerlValue, statements_of, value_of
from oborona.desk.move_in.plan import MovePlan
from oborona.desk.move_in.plan_parts import SourcePlace
from oborona.desk.move_in.sources import NO_TEXT, SourceFolder
from oborona.errors import ConfigError

TAG2: Final = 6.31  # the score from which amavis of Debian calls a message spam, as it ships
KILL: Final = 6.31  # and from which it does with it what $final_spam_destiny says
_REFUSING: Final = frozenset({"D_REJECT", "D_BOUNCE", "D_DISCARD"})
_NOTHING: Final = frozenset({"use strict", "use utf8", "1"})
_ITSELF: Final = "a setting of amavis itself"
_REASONS: Final = (
    (("$banned", "@banned", "%banned"), "files by name: rules about attachments ship (docs/policy/facts.md)"),
    (("@av_scanners", "$virus", "@virus", "%virus", "$final_virus"), "ClamAV is `[engines.clamd]` (docs/mail-servers/engines.md)"),
    (("$enable_dkim_signing", "dkim_key", "@dkim"), "nothing is signed here: give the signing to OpenDKIM"),
    (("@mynetworks",), "networks of the site are `site.networks` in oborona.toml: say them there"),
    (("$sa_tag_level", "$sa_spam_subject", "$X_HEADER"), "headers and subjects are those of docs/operate/headers.md"),
    (("$sa_dsn", "$warn", "$final_bad_header", "$final_banned"), "no notices are sent, and a spam is filed or refused"),
    (("$QUARANTINE", "$quarantine", "$spam_quarantine"), "a quarantine is the reader's spam folder here"),
    (("$penpals", "$sql_", "@storage_sql", "@lookup_sql"), "what its database holds is not carried over"),
    (("$policy_bank", "%policy_bank"), "policy banks: a door or a list for each of them (docs/mail-servers/doors.md)"),
)  # fmt: skip


def read_amavis(folder: SourceFolder, plan: MovePlan, *, now: float) -> None:
    """Take what stands in the files of a folder.

    Args:
        folder: `/etc/amavis`, and the files that it reads.
        plan: takes it.
        now: Unix seconds.

    Raises:
        ConfigError: there is none, or one can't be read.
    """
    names = [
        name for name in folder.names
        if "conf.d/" in name or name.endswith(".conf") or ("/" not in name and name[:2].isdigit())
    ]  # fmt: skip
    if not names:
        raise ConfigError("holds neither conf.d nor amavisd.conf", file=str(folder.root))
    reader = _AmavisReader(folder, plan, now)
    for name in names:
        reader.read(name)
    reader.end()


class _AmavisReader:
    """Files in the order in which amavis reads them: what is said later holds."""

    def __init__(self, folder: SourceFolder, plan: MovePlan, now: float) -> None:
        self._folder = folder
        self._plan = plan
        self._lists = AmavisLists(folder, plan, now)
        self._levels: dict[str, tuple[str, SourcePlace]] = {}

    def read(self, name: str) -> None:
        """Take one file."""
        # comments of old files are often of another charset, and say nothing
        text = self._folder.octets(name).decode("utf-8", "replace")
        try:
            for statement in statements_of(text):
                self._take(name, statement)
        except PerlWithoutEndError as fault:
            raise ConfigError(str(fault), file=name, line=fault.line) from None

    def _take(self, name: str, statement: PerlStatement) -> None:
        place = SourcePlace(name, statement.line)
        tokens = statement.tokens
        if statement.text in _NOTHING:
            self._plan.carried.add(place)
            return
        if any(NO_TEXT in token.text for token in tokens):
            self._plan.leave(place, statement.text, "is not UTF-8")
            return
        try:
            if len(tokens) > 2 and tokens[0].kind is PerlKind.VARIABLE and tokens[1].text == "=":
                self._assign(tokens[0].text, value_of(tokens[2:]), place, statement.text)
            elif tokens[0].text == "read_hash":
                self._hash(value_of(tokens), place)
            else:
                self._plan.leave(place, statement.text, _reason(tokens[0].text))
        except ValueError as fault:
            why = _reason(tokens[0].text)
            self._plan.leave(place, statement.text, str(fault) if why == _ITSELF else why)

    def _assign(self, variable: str, value: PerlValue, place: SourcePlace, text: str) -> None:
        if variable in ("$sa_tag2_level_deflt", "$sa_kill_level_deflt", "$final_spam_destiny"):
            self._levels[variable] = value.text, place
            self._plan.carried.add(place)
        elif not self._lists.take(variable, value, place):
            self._plan.leave(place, text, _reason(variable))

    def _hash(self, value: PerlValue, place: SourcePlace) -> None:
        """Take what fills a hash from a file."""
        if len(value.members) != 2 or value.members[0].kind is not PerlKind.VARIABLE:
            raise ValueError("reads no hash that is known here")
        file = value._replace(members=value.members[1:])
        if not self._lists.take(value.members[0].text, file, place):
            raise ValueError("reads no hash that is known here")

    def end(self) -> None:
        """Take what is known at the end alone."""
        tag2, kill = self._score("$sa_tag2_level_deflt"), self._score("$sa_kill_level_deflt")
        destiny = self._levels.get("$final_spam_destiny", ("", None))[0]
        if tag2 is not None and tag2 != TAG2:
            self._plan.lines["shadow_spam_score"] = round(100 * tag2 / TAG2, 1)
        if kill is not None and kill != KILL and destiny in _REFUSING:
            self._plan.lines["shadow_reject_score"] = round(200 * kill / KILL, 1)
        self._lists.end(tag2 or TAG2)

    def _score(self, variable: str) -> float | None:
        known = self._levels.get(variable)
        if known is None:
            return None
        text, place = known
        try:
            score = float(text.replace("_", ""))
        except ValueError:
            score = 0.0
        if 0 < score < 1000:
            return score
        self._plan.leave(place, f"{variable} = {text}", "is no score to begin from")
        return None


def _reason(variable: str) -> str:
    return next((why for begins, why in _REASONS if variable.startswith(begins)), _ITSELF)
