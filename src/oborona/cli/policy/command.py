"""`oborona policy`: the group; each command has a file of its own."""

from __future__ import annotations

import click

from oborona.cli.policy.check import check
from oborona.cli.policy.feed import feed
from oborona.cli.policy.feed_make import feed_key, feed_make
from oborona.cli.policy.limits import limits
from oborona.cli.policy.migrate import migrate
from oborona.cli.policy.publish import publish
from oborona.cli.policy.reload import reload
from oborona.cli.policy.replay import replay
from oborona.cli.policy.schema import schema
from oborona.cli.policy.show import show
from oborona.cli.policy.site_policy import share, status
from oborona.cli.policy.stats import stats
from oborona.cli.policy.update import update
from oborona.cli.policy.versions import diff, history, roll_back


@click.group()
def policy() -> None:
    """Check, show, reload, measure and replay the policy (rules and lists), and its versions."""


for command in (
    check,
    diff,
    feed,
    feed_key,
    feed_make,
    history,
    limits,
    migrate,
    publish,
    reload,
    replay,
    roll_back,
    schema,
    share,
    show,
    stats,
    status,
    update,
):
    policy.add_command(command)
