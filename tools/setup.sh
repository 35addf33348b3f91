#!/usr/bin/env bash
# Installs what a task needs on Debian or Ubuntu, and nothing that is there already: the second call is instant.
#   tools/setup.sh [build] [python] [demo] [bench] [lint] [wheels] [parity] [compare] [docs] [page] [ptx]     (without arguments: the first five)
# Packages come with apt-get, as root or through sudo; Python packages go into .venv, what makes wheels
# into .venv-3.10 … .venv-3.13 (for each Python that is here) and .venv-audit, other frameworks into .venv-parity and .venv-peers,
# what builds the site into .venv-docs, what drives a browser into .venv-page, what builds the page into web/node_modules, and NVIDIA's assembler
# into .venv-ptx, where the system has none.
set -euo pipefail
cd "$(dirname "$0")/.."

# task  package          what shows that it is there: a command, or a file when it has a slash     needed or wanted
# (a wanted package has a substitute: CMake fetches the pinned source, or the build does without)
packages="
build   g++              g++                                                                       needed
build   cmake            cmake                                                                     needed
build   ninja-build      ninja                                                                     needed
build   python3          python3                                                                   needed
build   git              git                                                                       needed
build   zlib1g-dev       /usr/include/zlib.h                                                       needed
build   doctest-dev      /usr/include/doctest/doctest.h                                            wanted
build   libasmjit-dev    /usr/include/asmjit/asmjit.h                                              wanted
build   ccache           ccache                                                                    wanted
bench   libopenblas-dev  /usr/include/*/cblas.h                                                    wanted
lint    clang-format     clang-format                                                              needed
lint    clang-tidy       clang-tidy                                                                needed
docs    doxygen          doxygen                                                                   wanted
page    chromium         chromium                                                                  wanted
page    chromium-driver  chromedriver                                                              wanted
page    nodejs           node                                                                      wanted
page    npm              npm                                                                       wanted
"
least_cmake=3.25
python_packages="nanobind==3.1.0 scikit-build-core==1.1.1 pytest==9.2.0 mypy==2.4.1 numpy scipy" # into .venv
demo_packages="tqdm==4.70.1 matplotlib"                                                          # into .venv
python_versions="3.10 3.11 3.12 3.13"                                                            # a wheel is tried with each
wheel_packages="nanobind==3.1.0 scikit-build-core==1.1.1 pytest==9.2.0 numpy"                    # into .venv-<version>
audit_packages="auditwheel==6.8.2"                                                               # into .venv-audit
parity_packages="torch==2.13.0 pytest==9.2.0 numpy scipy array-api-strict==2.6.1 expecttest==0.3.0" # into .venv-parity
compare_packages="torch==2.13.0 jax==0.10.2 numpy"                                               # into .venv-peers
docs_packages="sphinx==9.0.4 myst-parser==5.2.0 breathe==5.1.0 furo==2025.12.19 numpy"            # into .venv-docs
ptx_packages="nvidia-cuda-nvcc==13.0.88"                                                         # into .venv-ptx
page_packages="pytest==9.2.0 selenium==4.51.0"                                                   # into .venv-page
venv_cmake=3.31.6 # goes into .venv where the system's CMake is older than least_cmake

say() { echo "setup: $*"; }

present() { # a command, or a file (globs allowed) when it has a slash
    case $1 in
    */*) compgen -G "$1" >/dev/null ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

as_root() {
    if [ "$(id -u)" = 0 ]; then env DEBIAN_FRONTEND=noninteractive "$@"; else sudo env DEBIAN_FRONTEND=noninteractive "$@"; fi
}

can_install() { command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null; }; }

install_packages() { # the tasks
    local needed=() wanted=() found=() task package probe rank
    while read -r task package probe rank; do
        [[ " $* " == *" $task "* ]] && ! present "$probe" || continue
        if [ "$rank" = needed ]; then needed+=("$package"); else wanted+=("$package"); fi
    done < <(grep . <<<"$packages")
    [ $((${#needed[@]} + ${#wanted[@]})) -gt 0 ] || return 0

    if ! can_install; then
        [ ${#wanted[@]} = 0 ] || say "going on without ${wanted[*]}; to have it: apt-get install ${wanted[*]} (as root)"
        [ ${#needed[@]} = 0 ] && return 0
        say "missing: ${needed[*]}"
        say "this needs root or sudo. Ask whoever may for:  apt-get install ${needed[*]}"
        exit 1
    fi
    say "missing: ${needed[*]} ${wanted[*]}; fetching the package lists"
    as_root apt-get -qq update
    for package in "${wanted[@]}"; do # older releases lack some
        if apt-cache show "$package" >/dev/null 2>&1; then found+=("$package"); else say "no package $package here; going on without"; fi
    done
    [ $((${#needed[@]} + ${#found[@]})) -gt 0 ] || return 0
    say "installing ${needed[*]} ${found[*]}"
    as_root apt-get -qq install -y --no-install-recommends "${needed[@]}" "${found[@]}" >/dev/null
}

make_venv() { # where, from which Python
    [ -x "$1/bin/pip" ] && return 0
    local python=${2:-python3}
    if ! "$python" -c 'import ensurepip' 2>/dev/null; then
        can_install || { say "missing: python3-venv. Ask whoever may for:  apt-get install python3-venv"; exit 1; }
        say "installing python3-venv"
        as_root apt-get -qq update
        as_root apt-get -qq install -y --no-install-recommends python3-venv >/dev/null
    fi
    say "making $1"
    "$python" -m venv "$1"
}

# Before .venv is made: later calls would find one that can never serve.
check_python() {
    python3 - <<'EOF' || exit 1
import sys, sysconfig
kind = "free-threaded Python" if sysconfig.get_config_var("Py_GIL_DISABLED") else "Python"
if sys.version_info < (3, 10) or kind != "Python":
    print("setup: python3 is %s %d.%d; Weft needs Python 3.10 or newer, an ordinary build." % ((kind,) + tuple(sys.version_info[:2])))
    print("setup: put such a python3 first on the PATH, remove .venv if it is there, and try again")
    sys.exit(1)
EOF
}

# Python's headers, for the Python that .venv is made from, and the packages.
install_python() {
    local stamp=.venv/.weft-packages
    [ "$(cat "$stamp" 2>/dev/null)" = "$python_packages" ] && return 0
    check_python
    make_venv .venv
    if ! python3 -c 'import os, sysconfig; raise SystemExit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'; then
        can_install || { say "missing: python3-dev. Ask whoever may for:  apt-get install python3-dev"; exit 1; }
        say "installing python3-dev"
        as_root apt-get -qq update
        as_root apt-get -qq install -y --no-install-recommends python3-dev >/dev/null
    fi
    say "installing $python_packages into .venv"
    # shellcheck disable=SC2086  # a list
    .venv/bin/pip install --quiet --disable-pip-version-check $python_packages
    echo "$python_packages" >"$stamp"
}

# A progress bar and a picture. The demo does without where they cannot be had.
install_demo() {
    local stamp=.venv/.weft-demo-packages
    [ "$(cat "$stamp" 2>/dev/null)" = "$demo_packages" ] && return 0
    make_venv .venv
    say "installing $demo_packages into .venv"
    # shellcheck disable=SC2086  # a list
    if .venv/bin/pip install --quiet --disable-pip-version-check $demo_packages; then
        echo "$demo_packages" >"$stamp"
    else
        say "going on without a progress bar and a picture"
    fi
}

# The Python of a version, if it is here with all that a wheel needs: on the path, or one of pyenv's.
find_python() { # version
    local python
    for python in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/"python$1"; do
        if "$python" -c "import ensurepip, os, sys, sysconfig
ready = '%d.%d' % sys.version_info[:2] == '$1' and os.path.exists(sysconfig.get_path('include') + '/Python.h')
raise SystemExit(not ready or sysconfig.get_config_var('Py_GIL_DISABLED') == 1)" 2>/dev/null; then
            command -v "$python"
            return
        fi
    done
}

# What builds and tries a wheel, for each version of Python that is here; .venv serves its own version.
install_wheels() {
    local version python own=""
    [ ! -x .venv/bin/python ] || own=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    for version in $python_versions; do
        [ "$version" != "$own" ] || continue
        python=$(find_python "$version")
        if [ -n "$python" ]; then
            install_into ".venv-$version" "$wheel_packages" "$python"
        else
            say "no Python $version with headers and venv here; going on without its wheel"
        fi
    done
    install_into .venv-audit "$audit_packages"
}

# Packages in an environment of their own: nothing else ever sees them.
install_into() { # where, packages, from which Python
    local stamp=$1/.weft-packages
    [ "$(cat "$stamp" 2>/dev/null)" = "$2" ] && return 0
    make_venv "$1" "${3:-python3}"
    say "installing $2 into $1"
    # shellcheck disable=SC2086  # a list
    "$1/bin/pip" install --quiet --disable-pip-version-check $2
    echo "$2" >"$stamp"
}

# What builds the site. It wants a newer Python than Weft does; tests go on without it.
install_docs() {
    if python3 -c 'import sys; raise SystemExit(sys.version_info < (3, 11))'; then
        install_into .venv-docs "$docs_packages"
    else
        say "the documentation needs Python 3.11 or newer to be built; going on without"
    fi
}

# What tests the page that shows a profile, in a browser; tests go on without it.
install_page() {
    if ! present chromium || ! present chromedriver || ! present npm; then
        say "going on without a browser or Node: the page that shows profiles is not tested"
        return 0
    fi
    install_into .venv-page "$page_packages"
    cmp -s web/package-lock.json web/node_modules/.weft-lock && return 0
    say "installing what builds the page into web/node_modules"
    (cd web && npm ci --silent --no-audit --no-fund && cp package-lock.json node_modules/.weft-lock)
}

new_enough_cmake() {
    local version
    version=$(cmake --version | sed -n '1s/[^0-9]*//p')
    [ "$(printf '%s\n' "$least_cmake" "$version" | sort -V | head -n 1)" = "$least_cmake" ]
}

export PATH="$PWD/.venv/bin:$PATH"
install_packages "${@:-build bench lint}"
if ! new_enough_cmake; then
    say "CMake is older than $least_cmake; installing cmake $venv_cmake into .venv"
    make_venv .venv
    .venv/bin/pip install --quiet "cmake==$venv_cmake"
fi
if [[ " ${*:-python} " == *" python "* ]]; then install_python; fi
if [[ " ${*:-demo} " == *" demo "* ]]; then install_demo; fi
if [[ " ${*:-} " == *" wheels "* ]]; then install_wheels; fi
if [[ " ${*:-} " == *" parity "* ]]; then install_into .venv-parity "$parity_packages"; fi
if [[ " ${*:-} " == *" compare "* ]]; then install_into .venv-peers "$compare_packages"; fi
if [[ " ${*:-} " == *" docs "* ]]; then install_docs; fi
if [[ " ${*:-} " == *" page "* ]]; then install_page; fi
if [[ " ${*:-} " == *" ptx "* ]] && ! present ptxas; then install_into .venv-ptx "$ptx_packages"; fi
