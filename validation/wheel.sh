#!/usr/bin/env bash
# Installs a wheel into an empty virtual environment with nothing but that on the path, and runs what a newcomer would.
# validation/wheel.sh WHEEL [PYTHON]...
set -euo pipefail
wheel=$(realpath "$1"); shift
for python in "${@:-python3}"; do
    work=$(mktemp -d)
    "$python" -m venv "$work/venv"
    "$work/venv/bin/python" -m pip install --quiet --only-binary :all: "$wheel"
    printf '%s\n' 'duration = "5s"' '[[link]]' 'ends = ["a", "b"]' 'rate = "2Mbps"' 'delay = "10ms"' \
        '[[flow]]' 'from = "a"' 'to = "b"' >"$work/first.toml"
    (
        cd "$work"
        export PATH="$work/venv/bin" # no compiler, no Rust
        if type cargo rustc gcc cc >/dev/null 2>&1; then echo "a compiler is on the path" >&2; exit 1; fi
        ackclock run first.toml --plot first.png
        ackclock new mine --python
        ackclock check mine.toml @dumbbell @cellular
        ackclock run mine.toml
        ackclock run @dumbbell
        ackclock list examples
        ackclock list suites
        ackclock why first.toml --at 2s
        python -c 'import ackclock, sys; print("ackclock", ackclock.__version__, "on Python", sys.version.split()[0])'
    )
    rm -rf "$work"
done
