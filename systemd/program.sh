# shellcheck shell=bash
# How the program is made, for `./setup install` and for the Debian package alike: a folder with the libraries of the locks, by their hashes, and
# Oborona, without what only builds and tests need. Read by `setup`, which has `say` and `told`.

# A pip that builds wheels, apart from the program, which needs none: pymilter comes as source, and pip's old way of installing it is no wheel.
make_builder() { # make_builder FOLDER
    told "a pip that builds wheels" "$python" -m venv "$1"
    told "a pip that builds wheels, brought up to date" "$1/bin/python" -m pip --no-color --disable-pip-version-check install --progress-bar off --upgrade 'pip>=24'
}

# Built in a copy: a build leaves folders behind, and would pack what an older one left.
make_wheel() { # make_wheel BUILDER FOLDER
    local source
    source=$(mktemp -d)
    copy_tree "$source"
    told "the program" "$1/bin/python" -m pip --no-color --disable-pip-version-check wheel --progress-bar off --no-deps --wheel-dir "$2" "$source"
    rm -rf "$source"
    has_core "$2"/oborona-*.whl
}

# A build goes on without it, for the sake of machines that have no compiler; what others are given has it.
has_core() { # has_core WHEEL
    "$python" -c 'import sys, zipfile; sys.exit(not any("/_core." in name for name in zipfile.ZipFile(sys.argv[1]).namelist() if name.endswith(".so")))' "$1" || {
        say "the native core was not built; is there a compiler?"
        return 1
    }
}

copy_tree() { # copy_tree FOLDER: what a build needs of this tree
    local folders
    mapfile -t folders <<<"$(find src/oborona -maxdepth 1 -type l -exec realpath --relative-to=. {} +)"
    tar -c --exclude=__pycache__ --exclude='*.egg-info' --exclude='*.so' pyproject.toml setup.py README.md LICENSE src "${folders[@]}" | tar -x --no-same-owner -C "$1"
}

add_libraries() { # add_libraries BUILDER FOLDER LOCK: what a lock has and the folder has not
    told "the libraries of $3" "$1/bin/python" -m pip --no-color --disable-pip-version-check --python "$2/bin/python" \
        install --progress-bar off --no-compile --no-warn-script-location --require-hashes -r "$3"
}

add_wheel() { # add_wheel BUILDER FOLDER WHEEL
    told "the program, into its place" "$1/bin/python" -m pip --no-color --disable-pip-version-check --python "$2/bin/python" \
        install --progress-bar off --no-compile --no-deps "$3"
}

# Man pages, and completion for bash, zsh and fish: the program writes them, the same at any time.
add_books() { # add_books FOLDER SHARE ZSH
    told "man pages and completion" "$1/bin/python" -m oborona.cli.manual "$2" "$3"
}

# Tests of libraries, headers, and what turns Fortran into modules: 25 of 219 MB; symbols for debuggers: 45.
drop_needless() { # drop_needless FOLDER
    local packages
    packages=$(echo "$1"/lib/python3.*/site-packages)
    find "$packages" -type d \( -name tests -o -name docs -o -name __pycache__ \) -not -path "$packages/oborona/*" -prune -exec rm -rf {} +
    find "$packages" -type f \( -name '*.pyi' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.[ch]' -o -name '*.cpp' -o -name '*.a' -o -name '*.lib' -o -name .gitignore \) \
        -not -path "$packages/oborona/*" -delete
    rm -rf "$packages"/numpy/{f2py,distutils,_core/include,_core/*_tests.*.so}
    # modules that were once programs name a Python that is not this one; the line stays, for the sake of line numbers
    find "$packages" -type f -name '*.py' -not -path "$packages/oborona/*" -exec sed -i '1s|^#!.*|#|' {} +
    # not what lies in NAME.libs: the tool that put it there moved its segments, and strip would break it
    program strip >/dev/null || return 0
    find "$packages" -type f -name '*.so*' -not -path '*.libs/*' -exec strip --strip-unneeded {} +
}
