# shellcheck shell=bash
# What `./setup install`, `remove`, `purge` and the Debian package do alike on a machine, as root. Who reads this has `say`, and `command`, the program.
# Each step says what it does, and a second run does no harm. In a package these lines stand in each of its scripts: they need no file.

parts="oborona.service oborona.target oborona-worker.service oborona-writer.service oborona-keeper.service oborona-reader.service oborona-trainer.service oborona-intake.service oborona-flows.service oborona-eventlog.service oborona-desk.service oborona-console.service oborona-queue.path oborona-queue.service oborona-hook.path oborona-hook.service oborona-feed.timer oborona-feed.service"
PATH=$PATH:/usr/sbin:/sbin

booted() { [ -d /run/systemd/system ]; } # else nothing runs here that could be started

# --- there --------------------------------------------------------------------------------------------------------------------------------

make_users() { systemd-sysusers /usr/lib/sysusers.d/oborona.conf; }

# The admin's from then on: nothing that is there is changed. An upgrade that did would ask, or stop where nobody can be asked.
make_settings() { # make_settings LIST
    install -d -m 0755 /etc/oborona /etc/oborona/policy.d
    [ -e /etc/oborona/oborona.toml ] || install -m 0644 "$1" /etc/oborona/oborona.toml
}

# Which of the two ways of running is chosen; they exclude each other.
chosen_unit() {
    if systemctl is-enabled --quiet oborona.target 2>/dev/null; then echo oborona.target; else echo oborona.service; fi
}

# A daemon that runs goes on with what it has until the new program agrees with settings and policy.
agree() { # agree UNIT
    # of the time when the policy was copied there: what was changed by hand stays
    $command policy migrate || return
    $command policy check >/dev/null || {
        say "nothing was started: mend what is said above, then: systemctl restart $1"
        return 78
    }
}

# --- and back: mail first, for whoever still asks us would wait for us, or keep copies of mail for us -----------------------------------------

leave_mail() { leave_exim && leave_postfix && leave_dovecot; } # whoever may refuse comes first

leave_dovecot() {
    local confs=/etc/dovecot/conf.d/9?-oborona*.conf scripts=/etc/dovecot/sieve/oborona*.s* tool=/usr/lib/dovecot/sieve-execute/oborona-spool
    if compgen -G "$confs" >/dev/null; then
        say "Dovecot: its settings for Oborona go"
        # shellcheck disable=SC2086
        rm -f $confs
        ! booted || ! systemctl is-active --quiet dovecot || systemctl reload dovecot
    fi
    # shellcheck disable=SC2086
    rm -f $scripts $tool
    rmdir /etc/dovecot/sieve /usr/lib/dovecot/sieve-execute 2>/dev/null || true
    if [ -d /var/spool/oborona ]; then
        say "/var/spool/oborona goes, with what it holds: $(find /var/spool/oborona -type f | wc -l) copies of mail"
        rm -rf /var/spool/oborona
    fi
}

# Its configuration is written by hand, and no tool edits it; without us it would put mail off for days, and then bounce it.
leave_exim() {
    local exim
    for exim in exim4 exim; do
        command -v $exim >/dev/null || continue
        ! $exim -bP config 2>/dev/null | grep -qi oborona || {
            say "Exim still asks Oborona. Take it out of Exim's configuration (the macros, lines and /etc/exim4/oborona of docs/mail-servers/exim.md)," \
                "update-exim4.conf && systemctl restart exim4, and run this again"
            return 1
        }
        break
    done
}

leave_postfix() {
    command -v postconf >/dev/null || return 0
    still_named postconf -P || return # before anything is changed: main.cf alone can be told
    # its reasons stand above what is left; a program that can't run, or settings that are broken, hold nobody here
    [ ! -x "$command" ] || $command detach --yes || say "Postfix: that was not undone"
    still_named postconf -n || return
    rm -rf /var/spool/postfix/oborona
    local held
    held=$(postqueue -p 2>/dev/null | grep -c '^[0-9A-Za-z]*!' || true)
    [ "${held:-0}" = 0 ] || say "$held messages are on hold in Postfix's queue, and nobody will let them go but you: postsuper -H ID, or postsuper -H ALL"
}

still_named() { # still_named COMMAND...: says what has our name, or an entry as attach writes it
    local left
    left=$("$@" 2>/dev/null | grep -iE 'oborona|_milters *=.*(127\.0\.0\.1:8890|connect_timeout=5s, command_timeout=20s, content_timeout=30s)' || true)
    [ -z "$left" ] || {
        say "Postfix still names Oborona; take this out, postfix reload, and run this again:"
        printf '%s\n' "$left" >&2
        return 1
    }
}

leave_run() { rm -rf /run/oborona /run/oborona-intake /run/oborona-desk; }

drop_settings() {
    say "removing /etc/oborona"
    rm -rf /etc/oborona
}

drop_state() {
    say "removing /var/lib/oborona, the users oborona and oborona-console"
    rm -rf /var/lib/oborona /var/lib/oborona-tables
    local user
    for user in oborona-console oborona; do
        ! id $user >/dev/null 2>&1 || userdel $user
        ! getent group $user >/dev/null || groupdel $user
    done
}

# --- what ./setup put on this machine -----------------------------------------------------------------------------------------------------

home=/opt/oborona
site_units=/etc/systemd/system
site_command=/usr/local/bin/oborona
site_share=/usr/local/share

drop_site_units() {
    # shellcheck disable=SC2086
    ! booted || systemctl disable --quiet --now $parts 2>/dev/null || true
    local part
    for part in $parts; do rm -f "$site_units/$part"; done
    booted || return 0
    systemctl daemon-reload
    # shellcheck disable=SC2086
    systemctl reset-failed $parts 2>/dev/null || true
}

drop_releases() { # all but the newest $1; whatever else lies beside them, such as a clone, is not ours
    find $home -mindepth 1 -maxdepth 1 -type d -regextype posix-extended -regex '.*/[0-9]{8}-[0-9]{6}' | sort | head -n "-$1" | xargs -r rm -rf
}

drop_site_books() {
    rm -f $site_share/man/man1/oborona.1.gz $site_share/man/man1/oborona-*.1.gz $site_share/man/man5/oborona{.toml,-policy}.5.gz \
        $site_share/bash-completion/completions/oborona $site_share/zsh/site-functions/_oborona $site_share/fish/vendor_completions.d/oborona.fish
}

drop_site_program() {
    rm -f $site_command
    drop_site_books
    [ -d $home ] || return 0
    drop_releases 0
    rm -rf $home/venv $home/venv.new
    rmdir --ignore-fail-on-non-empty $home
}
