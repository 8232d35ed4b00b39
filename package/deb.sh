# shellcheck shell=bash
# What `./setup deb` does: packages for the Debian that it runs on, from the locks, into dist/. `setup` reads it.
#
#   /usr/lib/oborona            the program: a venv on /usr/bin/python3, and `formats`, which an older package reads
#   /usr/bin/oborona            the command
#   /usr/lib/systemd/system     the units; a machine's own changes are drop-ins
#   /usr/share/man, …           man pages; completion for bash, zsh and fish where each of them looks
#   /usr/share/oborona          the settings that there are; the first installation copies them to /etc/oborona
#   oborona-ocr, …              what a lock has beyond the first, into the same venv
#
# EXTRAS="ocr login machines ml eventlog" says which of the others are built; VERSION another version than that of the last commit, LEVEL how hard
# it is packed (xz, 6), DEBFULLNAME and DEBEMAIL who answers for it.

. systemd/program.sh
library=/usr/lib/oborona
declare -A extra_words=(
    [ocr]="text in pictures, by Tesseract"
    [login]="the console's sign-in by OpenID and passkeys"
    [machines]="several machines as one site, by PostgreSQL"
    [ml]="the final model, and the meaning of texts"
    [eventlog]="logs of events, checked"
)
declare -A extra_needs=([ocr]="tesseract-ocr-eng, tesseract-ocr-rus")

run_deb() {
    umask 022
    local release work builder stage
    SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
    export SOURCE_DATE_EPOCH PYTHONHASHSEED=0
    if [ "${RELEASE:-}" ] && [ "$RELEASE" != "$(. /etc/os-release && echo "$VERSION_CODENAME")" ]; then
        . package/chroot.sh
        build_elsewhere "$RELEASE"
        return
    fi
    release=$(. /etc/os-release && echo "$VERSION_ID")
    version=${VERSION:-$(deb_version)}-1+deb$release
    maintainer="${DEBFULLNAME:-Oborona} <${DEBEMAIL:-packages@oborona.invalid}>"
    architecture=$(dpkg --print-architecture)
    work=$(mktemp -d)
    # shellcheck disable=SC2064
    trap "rm -rf '$work'" EXIT
    builder=$work/builder stage=$work/oborona
    make_builder "$builder"
    make_wheel "$builder" "$work/wheel"
    mkdir -p "$stage/usr/lib" dist
    told "the venv of the package" "$python" -m venv --without-pip "$stage$library"
    add_libraries "$builder" "$stage$library" requirements.lock
    local base=$work/base extra
    cp -a "$stage$library" "$base" # of the libraries alone: the extras begin with it
    add_wheel "$builder" "$stage$library" "$work"/wheel/oborona-*.whl
    drop_needless "$stage$library"
    fill_stage "$stage"
    pack oborona "$stage"
    for extra in ${EXTRAS-ocr login machines}; do
        stage=$work/oborona-$extra
        mkdir -p "$stage/usr/lib"
        cp -al "$base" "$stage$library"
        sed -i "s|$base|$stage$library|" "$stage$library"/bin/activate* # of this copy alone, which goes again
        add_libraries "$builder" "$stage$library" "requirements-$extra.lock"
        keep_new "$base" "$stage$library"
        drop_needless "$stage$library"
        fill_extra "$extra" "$stage"
        pack "oborona-$extra" "$stage"
    done
}

deb_version() { # of what is to be $version: a build between two commits is later than the first
    local number
    number=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)
    git rev-parse --git-dir >/dev/null 2>&1 || {
        echo "$number"
        return
    }
    [ "$(git describe --tags --exact-match 2>/dev/null)" = "v$number" ] && echo "$number" && return
    echo "$number~git$(TZ=UTC git log -1 --date=format-local:%Y%m%d.%H%M%S --format=%cd.%h)"
}

keep_new() { # keep_new BASE FOLDER: what BASE has goes
    (cd "$1" && find . -type f -o -type l) | (cd "$2" && tr '\n' '\0' | xargs -0 rm -f)
    rm -rf "$2"/bin "$2"/include
    find "$2" -type d -empty -delete
}

fill_stage() { # fill_stage STAGE: all but the program itself
    local stage=$1 part script
    # commands of libraries, and ways into the venv, are nobody's here; and nothing may name the folder that this was built in
    rm -rf "$stage$library"/{bin/[!p]*,bin/p[!y]*,bin/py[!t]*,include,share,lib64,.gitignore}
    printf 'home = /usr/bin\ninclude-system-site-packages = false\n' >"$stage$library/pyvenv.cfg"
    printf '#!%s/bin/python\nimport sys\n\nfrom oborona.cli import main\n\nsys.exit(main())\n' $library >"$stage$library/bin/oborona"
    chmod 755 "$stage$library/bin/oborona"
    mkdir -p "$stage"/usr/{bin,lib/systemd/system,lib/sysusers.d,lib/tmpfiles.d,share/oborona} "$stage"/etc/oborona/policy.d
    ln -s ../lib/oborona/bin/oborona "$stage/usr/bin/oborona"
    "$stage$library/bin/python" -c 'from oborona.daemon.backup.restore import KNOWN
for name, number in KNOWN.items(): print(name, number)' >"$stage$library/formats"
    add_books "$stage$library" "$stage/usr/share" vendor-completions
    find "$stage" -name __pycache__ -type d -prune -exec rm -rf {} +
    ln -sfn ../../../bin/python3 "$stage$library/bin/python3"
    . systemd/steps.sh
    for part in $parts; do sed "s|$site_command|/usr/bin/oborona|" "systemd/$part" >"$stage/usr/lib/systemd/system/$part"; done
    install -m 0644 systemd/oborona.sysusers.conf "$stage/usr/lib/sysusers.d/oborona.conf"
    install -m 0644 systemd/oborona.tmpfiles.conf "$stage/usr/lib/tmpfiles.d/oborona.conf"
    install -m 0644 etc/oborona.toml "$stage/usr/share/oborona/"
    for part in exim dovecot postfix prometheus grafana opensmtpd clickhouse; do # where the documents have them
        mkdir -p "$stage/usr/share/doc/oborona/examples"
        ln -s "$(realpath --relative-to "$stage/usr/share/doc/oborona/examples" "$stage$library"/lib/python3*/site-packages/oborona/etc/$part)" \
            "$stage/usr/share/doc/oborona/examples/$part"
    done
    fill_documents oborona "$stage" package/lintian-overrides
    mkdir "$stage/DEBIAN"
    write_control oborona "$stage" "Anti-spam policy daemon" \
        "$(needed_packages "$stage"), $(python_range), systemd, debconf (>= 0.5) | debconf-2.0" \
        "Recommends: oborona-ocr" "Suggests: oborona-login, oborona-machines, oborona-ml, oborona-eventlog, postfix | exim4, unbound"
    install -m 0644 package/oborona.templates "$stage/DEBIAN/templates"
    for script in preinst postinst prerm postrm; do write_script "$script" "$stage"; done
}

fill_extra() { # fill_extra EXTRA STAGE
    fill_documents "oborona-$1" "$2" package/lintian-overrides-extra
    mkdir "$2/DEBIAN"
    write_control "oborona-$1" "$2" "Anti-spam policy daemon: ${extra_words[$1]}" \
        "$(listed "oborona (= $version)" "$(needed_packages "$2")" "${extra_needs[$1]-}")"
    for script in postinst prerm; do write_script "extra-$script" "$2"; done
}

write_script() { # write_script NAME STAGE: the steps that ./setup takes too, and what is the package's own
    local at=$2/DEBIAN/${1#extra-}
    {
        printf '#!/bin/bash\nset -e\n'
        printf 'version=%q library=%q command=/usr/bin/oborona\n' "$version" $library
        # shellcheck disable=SC2016
        printf 'say() { printf "oborona: %%s\\n" "$*" >&2; }\n'
        [ "$1" != preinst ] || printf "formats='%s'\n" "$(cat "$2$library/formats")"
        cat systemd/steps.sh "package/scripts/$1"
    } | grep -v '^# shellcheck shell' >"$at"
    chmod 755 "$at"
}

write_control() { # write_control NAME STAGE TITLE DEPENDS FIELD...
    local name=$1 stage=$2 title=$3 depends=$4
    shift 4
    {
        printf 'Package: %s\nVersion: %s\nArchitecture: %s\n' "$name" "$version" "$architecture"
        printf 'Maintainer: %s\nSection: mail\nPriority: optional\n' "$maintainer"
        printf 'Installed-Size: %s\nDepends: %s\n' "$(du -sk --exclude=DEBIAN "$stage" | cut -f 1)" "$depends"
        [ $# = 0 ] || printf '%s\n' "$@"
        printf 'Description: %s\n' "$title"
        cat package/description
    } >"$stage/DEBIAN/control"
}

python_range() { # the libraries are built for this one
    "$python" -c 'import sys; a, b = sys.version_info[:2]; print(f"python3 (>= {a}.{b}), python3 (<< {a}.{b + 1})")'
}

needed_packages() { # needed_packages STAGE: whose libraries its libraries load
    # /lib is /usr/lib, and dpkg knows a file by one of both names
    { find "$1" -type f -name '*.so*' -exec ldd {} + 2>/dev/null || true; } | sed -n 's/.* => \(\/[^ ]*\) (.*/\1/p' | grep -v "^$1" | sort -u |
        while read -r file; do printf '%s\n' "${file#/usr}" "/usr${file#/usr}"; done | { xargs -r dpkg-query --search 2>/dev/null || true; } |
        cut -d : -f 1 | sort -u | while read -r package; do
        [ "$package" != libc6 ] || package="libc6 (>= $(dpkg-query --show --showformat='${Version}' libc6 | sed 's/-.*//'))"
        echo "$package"
    done | paste -sd , | sed 's/,/, /g'
}

listed() { printf '%s\n' "$@" | grep . | paste -sd , | sed 's/,\([^ ]\)/, \1/g'; }

fill_documents() { # fill_documents NAME STAGE OVERRIDES
    local folder=$2/usr/share/doc/$1
    mkdir -p "$folder" "$2/usr/share/lintian/overrides"
    install -m 0644 package/copyright "$folder/copyright"
    printf '%s (%s) unstable; urgency=medium\n\n  * See changelog.gz in the documents of oborona.\n\n -- %s  %s\n' \
        "$1" "$version" "$maintainer" "$(date -u -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$folder/changelog.Debian.gz"
    [ "$1" != oborona ] || gzip -9nc CHANGELOG.md >"$folder/changelog.gz"
    sed "s/^oborona\b/$1/" "$3" >"$2/usr/share/lintian/overrides/$1"
    chmod 644 "$folder"/*.gz "$2/usr/share/lintian/overrides/$1"
}

pack() { # pack NAME STAGE
    local file=dist/$1_${version}_$architecture.deb
    find "$2" -type d -exec chmod 755 {} +
    find "$2/usr" -type f \( -name '*.py' -o -name '*.so*' \) -exec chmod 644 {} +
    find "$2" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
    (cd "$2" && find . -path ./DEBIAN -prune -o -type f -print0 | sort -z | xargs -0 md5sum | sed 's|  \./|  |') >"$2/DEBIAN/md5sums"
    told "packing $file" dpkg-deb --root-owner-group -Zxz -z"${LEVEL:-6}" --build "$2" "$file"
    say "$file: $(($(stat -c %s "$file") / 1000000)) MB, $(($(du -sk "$2" | cut -f 1) / 1000)) MB installed"
}
