# shellcheck shell=bash
# What `./setup install`, `remove` and `purge` do, as root; `setup` reads it. Each step says what it does, and a second run does no harm.
#
#   /opt/oborona/venv              the program: a link to the newest of the folders beside it; one before it is kept
#   /usr/local/bin/oborona         the command
#   /etc/oborona                   settings and policy of the admin; nothing that is there is changed
#   /etc/systemd/system            the units; what is yours goes into drop-ins (systemctl edit), for an upgrade replaces them
#   /usr/lib/{sysusers,tmpfiles}.d the user, and how long the spool keeps what nobody takes
#   /var/lib/oborona               counters, journal, the site's secret: made by the daemon

home=/opt/oborona
command=/usr/local/bin/oborona
units=/etc/systemd/system
parts="oborona.service oborona.target oborona-worker.service oborona-writer.service oborona-keeper.service oborona-reader.service oborona-trainer.service oborona-intake.service oborona-flows.service oborona-eventlog.service oborona-desk.service oborona-console.service oborona-queue.path oborona-queue.service oborona-hook.path oborona-hook.service"

run_install() {
    umask 022 # the daemon's user reads what root installs
    install_program
    install_user_and_settings
    install_units
    start_service
}

install_program() {
    local release source
    release=$home/$(date -u +%Y%m%d-%H%M%S)
    source=$(mktemp -d)
    # shellcheck disable=SC2064
    trap "rm -rf '$source' '$release'" EXIT # of a run that did not come to its end
    mkdir -p $home
    chmod 755 $home
    told "making $release" "$python" -m venv "$release"
    local pip=("$release/bin/python" -m pip --no-color --disable-pip-version-check)
    # pymilter comes as source: build it as a wheel, not by the installer's old way
    told "a pip that builds wheels" "${pip[@]}" install --progress-bar off --upgrade 'pip>=24'
    told "the libraries of requirements.lock" "${pip[@]}" install --progress-bar off --require-hashes -r requirements.lock
    # what the program had beside them it keeps: without, a daemon whose settings want it would not start
    for extra in ml:catboost eventlog:duckdb; do
        "$home/venv/bin/python" -c "import ${extra#*:}" 2>/dev/null || continue
        told "the libraries of requirements-${extra%:*}.lock" "${pip[@]}" install --progress-bar off --require-hashes -r "requirements-${extra%:*}.lock"
    done
    # built in a copy: a build leaves folders behind, and would pack what an older one left
    mapfile -t folders < <(find src/oborona -maxdepth 1 -type l -exec realpath --relative-to=. {} +)
    tar -c --exclude=__pycache__ --exclude='*.egg-info' --exclude='*.so' pyproject.toml setup.py README.md LICENSE src "${folders[@]}" | tar -x --no-same-owner -C "$source"
    told "the program" "${pip[@]}" wheel --no-deps --wheel-dir "$source/wheel" "$source"
    told "the program, into its place" "${pip[@]}" install --no-deps "$source"/wheel/oborona-*.whl
    "$release/bin/oborona" --version >/dev/null

    [ -L $home/venv ] || [ ! -e $home/venv ] || mv $home/venv "$home/00000000-000000" # of the time before the links
    ln -sfn "$release" $home/venv.new
    mv -T $home/venv.new $home/venv # at once: a process that runs goes on with its own folder
    trap - EXIT
    rm -rf "$source"
    drop_releases 2
    ln -sfn $home/venv/bin/oborona $command
}

drop_releases() { # all but the newest $1; whatever else lies beside them, such as a clone, is not ours
    find $home -mindepth 1 -maxdepth 1 -type d -regextype posix-extended -regex '.*/[0-9]{8}-[0-9]{6}' | sort | head -n "-$1" | xargs -r rm -rf
}

install_user_and_settings() {
    say "users oborona and oborona-console, /etc/oborona"
    install -m 0644 -D systemd/oborona.sysusers.conf /usr/lib/sysusers.d/oborona.conf
    install -m 0644 -D systemd/oborona.tmpfiles.conf /usr/lib/tmpfiles.d/oborona.conf
    systemd-sysusers /usr/lib/sysusers.d/oborona.conf
    install -d -m 0755 /etc/oborona /etc/oborona/policy.d
    [ -e /etc/oborona/oborona.toml ] || install -m 0644 etc/oborona.toml /etc/oborona/
}

install_units() {
    say "units: $units/oborona*"
    local part
    for part in $parts; do install -m 0644 "systemd/$part" $units/; done
    systemctl daemon-reload
}

start_service() {
    local unit=oborona.service
    systemctl is-enabled --quiet oborona.target 2>/dev/null && unit=oborona.target
    # of the time when the policy was copied there: what was changed by hand stays
    $command policy migrate || exit
    # a daemon that runs goes on with what it has until the new program agrees with settings and policy
    $command policy check >/dev/null || {
        say "nothing was started: mend what is said above, then: systemctl restart $unit"
        exit 78
    }
    say "starting $unit"
    systemctl enable --quiet $unit oborona-queue.path oborona-hook.path
    systemctl start oborona-queue.path oborona-hook.path
    systemctl restart $unit || {
        journalctl --unit 'oborona*' --lines 20 --no-pager --output cat >&2
        exit 1
    }
    say "$($command --version) runs. Next: oborona attach"
}

# --- and back -----------------------------------------------------------------------------------------------------------------------------

run_remove() { # mail first: whoever still asks us would wait for us, or keep copies of mail for us
    remove_from_dovecot
    remove_from_postfix
    remove_program
    say "kept: /etc/oborona, /var/lib/oborona and the users oborona and oborona-console; ./setup purge removes them"
}

run_purge() {
    remove_from_dovecot
    remove_from_postfix
    remove_program
    say "removing /etc/oborona, /var/lib/oborona, the users oborona and oborona-console"
    rm -rf /etc/oborona /var/lib/oborona /var/lib/oborona-tables /usr/lib/sysusers.d/oborona.conf
    local user
    for user in oborona-console oborona; do
        ! id $user >/dev/null 2>&1 || userdel $user
        ! getent group $user >/dev/null || groupdel $user
    done
}

remove_from_dovecot() {
    local confs=/etc/dovecot/conf.d/9?-oborona*.conf scripts=/etc/dovecot/sieve/oborona*.s* tool=/usr/lib/dovecot/sieve-execute/oborona-spool
    if compgen -G "$confs" >/dev/null; then
        say "Dovecot: its settings for Oborona go"
        # shellcheck disable=SC2086
        rm -f $confs
        ! systemctl is-active --quiet dovecot || systemctl reload dovecot
    fi
    # shellcheck disable=SC2086
    rm -f $scripts $tool
    rmdir /etc/dovecot/sieve /usr/lib/dovecot/sieve-execute 2>/dev/null || true
    if [ -d /var/spool/oborona ]; then
        say "/var/spool/oborona goes, with what it holds: $(find /var/spool/oborona -type f | wc -l) copies of mail"
        rm -rf /var/spool/oborona
    fi
}

remove_from_postfix() {
    PATH="$PATH:/usr/sbin" command -v postconf >/dev/null || return 0
    [ ! -x $command ] || $command detach --yes
    local left
    left=$(PATH="$PATH:/usr/sbin" postconf -n | grep -i 'oborona' || true)
    [ -z "$left" ] || {
        say "main.cf still names Oborona; take this out, postfix reload, and run this again:"
        printf '%s\n' "$left" >&2
        exit 1
    }
    rm -rf /var/spool/postfix/oborona
}

remove_program() {
    say "units, $home, $command"
    # shellcheck disable=SC2086
    systemctl disable --quiet --now $parts 2>/dev/null || true
    local part
    for part in $parts; do rm -rf "${units:?}/$part" "$units/$part.d"; done
    systemctl daemon-reload
    # shellcheck disable=SC2086
    systemctl reset-failed $parts 2>/dev/null || true
    remove_releases
    rm -rf $command /usr/lib/tmpfiles.d/oborona.conf /run/oborona /run/oborona-intake /run/oborona-desk
}

remove_releases() {
    [ -d $home ] || return 0
    drop_releases 0
    rm -rf $home/venv $home/venv.new
    rmdir --ignore-fail-on-non-empty $home
}
