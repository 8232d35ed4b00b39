# shellcheck shell=bash
# What `./setup install`, `remove` and `purge` do, as root; `setup` reads it. Each step says what it does, and a second run does no harm.
#
#   /opt/oborona/venv              the program: a link to the newest of the folders beside it; one before it is kept
#   /usr/local/bin/oborona         the command
#   /usr/local/share               man pages, completion
#   /etc/oborona                   settings and policy of the admin; nothing that is there is changed
#   /etc/systemd/system            the units; what is yours goes into drop-ins (systemctl edit), for an upgrade replaces them
#   /usr/lib/{sysusers,tmpfiles}.d the user, and how long the spool keeps what nobody takes
#   /var/lib/oborona               counters, journal, the site's secret: made by the daemon

. systemd/program.sh
. systemd/steps.sh
command=$site_command

run_install() {
    umask 022 # the daemon's user reads what root installs
    not_beside_the_package
    install_program
    install_user_and_settings
    install_units
    start_service
}

not_beside_the_package() {
    [ "$(dpkg-query --show --showformat='${db:Status-Abbrev}' oborona 2>/dev/null)" != "ii " ] || {
        say "Oborona is here as a Debian package, which apt upgrades and removes"
        exit 1
    }
}

install_program() {
    local release work
    release=$home/$(date -u +%Y%m%d-%H%M%S)
    work=$(mktemp -d)
    # shellcheck disable=SC2064
    trap "rm -rf '$work' '$release'" EXIT # of a run that did not come to its end
    mkdir -p $home
    chmod 755 $home
    make_builder "$work/builder"
    told "making $release" "$python" -m venv "$release" # with pip: parts are added by hand (docs/operate/eventlog.md)
    add_libraries "$work/builder" "$release" requirements-ocr.lock
    # what the program had beside them it keeps: without, a daemon whose settings want it would not start
    for extra in ml:catboost eventlog:duckdb; do
        "$home/venv/bin/python" -c "import ${extra#*:}" 2>/dev/null || continue
        add_libraries "$work/builder" "$release" "requirements-${extra%:*}.lock"
    done
    make_wheel "$work/builder" "$work/wheel"
    add_wheel "$work/builder" "$release" "$work"/wheel/oborona-*.whl
    drop_needless "$release"
    told "compiling it" "$release/bin/python" -m compileall -q -j 0 "$release/lib"
    "$release/bin/oborona" --version >/dev/null

    [ -L $home/venv ] || [ ! -e $home/venv ] || mv $home/venv "$home/00000000-000000" # of the time before the links
    ln -sfn "$release" $home/venv.new
    mv -T $home/venv.new $home/venv # at once: a process that runs goes on with its own folder
    trap - EXIT
    rm -rf "$work"
    drop_releases 2
    ln -sfn $home/venv/bin/oborona $command
    drop_site_books # of commands that there were
    add_books $home/venv $site_share site-functions
}

install_user_and_settings() {
    say "users oborona and oborona-console, /etc/oborona"
    install -m 0644 -D systemd/oborona.sysusers.conf /usr/lib/sysusers.d/oborona.conf
    install -m 0644 -D systemd/oborona.tmpfiles.conf /usr/lib/tmpfiles.d/oborona.conf
    make_users
    make_settings etc/oborona.toml
}

install_units() {
    say "units: $site_units/oborona*"
    local part
    for part in $parts; do install -m 0644 "systemd/$part" $site_units/; done
    systemctl daemon-reload
}

start_service() {
    local unit
    unit=$(chosen_unit)
    agree "$unit" || exit
    say "starting $unit"
    systemctl enable --quiet "$unit" oborona-queue.path oborona-hook.path
    systemctl start oborona-queue.path oborona-hook.path
    systemctl restart "$unit" || {
        journalctl --unit 'oborona*' --lines 20 --no-pager --output cat >&2
        exit 1
    }
    say "$($command --version) runs. Next: oborona attach"
}

# --- and back -----------------------------------------------------------------------------------------------------------------------------

run_remove() {
    not_beside_the_package
    leave_mail || exit
    remove_program
    say "kept: /etc/oborona, /var/lib/oborona and the users oborona and oborona-console; ./setup purge removes them"
}

run_purge() {
    not_beside_the_package
    leave_mail || exit
    remove_program
    drop_settings
    drop_state
    rm -f /usr/lib/sysusers.d/oborona.conf
}

remove_program() {
    say "units, $home, $command"
    drop_site_units
    local part
    for part in $parts; do rm -rf "${site_units:?}/$part.d"; done
    drop_site_program
    rm -f /usr/lib/tmpfiles.d/oborona.conf
    leave_run
}
