# shellcheck shell=bash
# `RELEASE=trixie ./setup deb`: packages for another release of Debian, built in a chroot of it, which is made once and kept in
# ~/.cache/oborona-build. apt's mirror of Debian is asked for the release, this machine's pip for the wheels: in the chroot there is no network.

build_packages="python3-venv,python3-dev,gcc,g++,libc6-dev,binutils,libmilter-dev,libxxhash-dev,ca-certificates"

build_elsewhere() { # build_elsewhere RELEASE
    local release=$1 root wheels mirror number lock
    root=${XDG_CACHE_HOME:-$HOME/.cache}/oborona-build/$release
    need debootstrap program debootstrap
    [ ${#wanted[@]} = 0 ] || install_packages "${wanted[@]}"
    mirror=$(apt-get indextargets --format '$(ORIGIN)|$(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian|//p' | grep -v security | head -n 1)
    [ -e "$root/made" ] || {
        rm -rf "$root"
        mkdir -p "$root"
        told "a chroot of $release" debootstrap --variant=minbase "--include=$build_packages" "$release" "$root" "${mirror:-http://deb.debian.org/debian}"
        touch "$root/made"
    }
    rm -rf "$root/src" "$root/wheels"
    mkdir -p "$root/src" "$root/wheels" dist
    number=$(chroot "$root" /usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    make_builder "$root/wheels.pip"
    for lock in requirements.lock $(printf 'requirements-%s.lock ' ${EXTRAS-ocr login machines}); do
        lock_of "$root/wheels.pip" "$number" "$lock" >"$root/wheels.pip/$lock"
        told "what $lock has for Python $number" "$root/wheels.pip/bin/python" -m pip --no-color --disable-pip-version-check download --progress-bar off \
            --no-deps --python-version "$number" --dest "$root/wheels" --require-hashes -r "$root/wheels.pip/$lock"
    done
    told "what builds wheels" "$root/wheels.pip/bin/python" -m pip --no-color --disable-pip-version-check download --progress-bar off \
        --no-deps --python-version "$number" --dest "$root/wheels" 'pip>=24' 'setuptools>=77' wheel
    rm -rf "$root/wheels.pip"
    git ls-files -z --cached --others --exclude-standard -- ':!tests' |
        tar -c --null --no-recursion --ignore-failed-read -T - | tar -x --no-same-owner -C "$root/src"
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels \
        SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" VERSION="${VERSION:-$(deb_version)}" EXTRAS="${EXTRAS-ocr login machines}" LEVEL="${LEVEL:-6}" \
        DEBFULLNAME="${DEBFULLNAME:-}" DEBEMAIL="${DEBEMAIL:-}" /src/setup deb
    cp "$root"/src/dist/*.deb dist/
    say "in dist/: $(cd "$root/src/dist" && echo *.deb)"
}

# pip asks for what this machine's Python would get of a lock, whatever Python it is told to ask for.
lock_of() { # lock_of BUILDER PYTHON LOCK: what the lock has for that Python
    "$1/bin/python" - "$2" "$3" <<'END'
import re, sys
from pip._vendor.packaging.markers import Marker

number, lock = sys.argv[1:]
wanted = True
for line in open(lock):
    if found := re.match(r"(\S+==\S+) ; (.*?)( \\)?$", line):
        wanted = Marker(found[2]).evaluate({"python_version": number, "python_full_version": f"{number}.0"})
        line = f"{found[1]}{found[3] or ''}\n"
    elif re.match(r"\S", line) and not line.startswith("#"):
        wanted = True
    if wanted:
        print(line, end="")
END
}
