# shellcheck shell=bash
# What `./setup dist` does: source and wheel into dist/, and tries the wheel in an empty venv without a network, with the libraries of the lock from
# a folder of wheels (WHEELHOUSE; one is made where none is named). `setup` reads it.

. systemd/program.sh

run_dist() {
    umask 022
    local work builder source sdist wheel number
    work=$(mktemp -d)
    # shellcheck disable=SC2064
    trap "rm -rf '$work'" EXIT
    builder=$work/builder source=$work/source
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date +%s)
    export SOURCE_DATE_EPOCH
    make_builder "$builder"
    told "what builds" "$builder/bin/python" -m pip --disable-pip-version-check install --progress-bar off 'setuptools>=77'
    mkdir -p "$source" dist
    copy_tree "$source"
    number=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)
    rm -f dist/oborona-"$number".tar.gz dist/oborona-"$number"-*.whl
    told "the source" bash -c 'cd "$1" && exec "$2/bin/python" -c "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])" "$3"' \
        - "$source" "$builder" "$PWD/dist"
    sdist=dist/oborona-$number.tar.gz
    # of the source, so that it is known to be whole
    told "the wheel" "$builder/bin/python" -m pip --disable-pip-version-check wheel --progress-bar off --no-deps --wheel-dir dist "$sdist"
    wheel=$(echo dist/oborona-"$number"-*.whl)
    has_core "$wheel"
    try_wheel "$builder" "$work" "$wheel"
    say "$sdist, $wheel"
}

try_wheel() { # try_wheel BUILDER FOLDER WHEEL
    local pip=("$1/bin/python" -m pip --disable-pip-version-check) wheels=${WHEELHOUSE:-$2/wheels}
    [ -n "${WHEELHOUSE:-}" ] ||
        told "wheels of the libraries" "${pip[@]}" wheel --progress-bar off --no-deps --wheel-dir "$wheels" --require-hashes -r requirements.lock
    told "an empty venv" "$python" -m venv --without-pip "$2/empty"
    told "the wheel, without a network" env PIP_CONFIG_FILE=/dev/null PIP_NO_INDEX=1 PIP_FIND_LINKS="$wheels" \
        "${pip[@]}" --python "$2/empty/bin/python" install --progress-bar off "$3"
    printf 'From: a@b.example\nSubject: try\n\nXJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X\n' >"$2/gtube.eml"
    printf '[paths]\nstate = "state"\npolicy = "policy.d"\n' >"$2/oborona.toml"
    mkdir "$2/policy.d"
    told "rules that ship, and GTUBE" bash -c 'cd "$1" && "$2" --config oborona.toml policy check && "$2" --config oborona.toml check gtube.eml | grep GTUBE' \
        - "$2" "$2/empty/bin/oborona"
}
