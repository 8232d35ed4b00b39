"""`oborona completion`: the script by which a shell completes commands, options and their
values.
"""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import get_completion_class

from oborona.cli.output import echo

VARIABLE: Final = "_OBORONA_COMPLETE"  # as click finds it for a program of this name
_AUTOLOADED: Final = ("$zsh_eval_context[-1] == loadautofunc", "$funcstack[1] == _oborona")
"""How a script knows that zsh runs it for a key press: click's way, and ours."""
_PLACES: Final = {
    "bash": "oborona completion bash > /etc/bash_completion.d/oborona       (for all; needs the "
    "package bash-completion)\n"
    '#     eval "$(oborona completion bash)"                              (in ~/.bashrc, for one '
    "user)",
    "zsh": "oborona completion zsh > /usr/local/share/zsh/site-functions/_oborona\n"
    '#     eval "$(oborona completion zsh)"                               (in ~/.zshrc, after '
    "compinit)",
    "fish": "oborona completion fish > ~/.config/fish/completions/oborona.fish",
}
"""Shell → where its script goes."""


@click.command()
@click.argument("shell", type=click.Choice(list(_PLACES)))
def completion(shell: str) -> None:
    """Print the script that completes commands, options and files with the TAB key.

    The first lines of the script say where it goes; an upgrade needs no new one.
    """
    heading = (
        f"# Completion of oborona for {shell}. Put it in its place by one of:\n#     "
        f"{_PLACES[shell]}"
    )
    source = completion_script(shell)
    if shell == "zsh":  # zsh looks for this in the first line
        first, _, rest = source.partition("\n")
        echo(f"{first}\n{heading}\n{rest}")
    else:
        echo(f"{heading}\n{source}")


def completion_script(shell: str) -> str:
    """Return the script of a shell, as a package has it.

    Raises:
        click.UsageError: there is none for this shell.
    """
    kind = get_completion_class(shell)
    if kind is None:  # the names are click's own
        raise click.UsageError(f"no completion for {shell}")
    source = kind(click.Group(), {}, "oborona", VARIABLE).source().strip()
    # click's test holds at the first key press of a session alone, and the second completes nothing
    return source.replace(*_AUTOLOADED)
