#!/usr/bin/env bash
# Installs a wheel into an empty virtual environment with nothing but that on the path, and runs what a newcomer would.
# validation/wheel.sh WHEEL [PYTHON]...
set -euo pipefail
wheel=$(realpath "$1"); shift
for python in "${@:-python3}"; do
    if ! "$python" -c 'import venv' 2>/dev/null; then
        echo "$python does not run here: the wheel is not tried with it"
        continue
    fi
    work=$(mktemp -d)
    "$python" -m venv "$work/venv"
    "$work/venv/bin/python" -m pip install --quiet --only-binary :all: "$wheel"
    printf '%s\n' 'duration = "5s"' '[[link]]' 'ends = ["a", "b"]' 'rate = "2Mbps"' 'delay = "10ms"' \
        '[[flow]]' 'from = "a"' 'to = "b"' >"$work/first.toml"
    (
        cd "$work"
        export PATH="$work/venv/bin" # no compiler, no Rust
        if type cargo rustc gcc cc >/dev/null 2>&1; then echo "a compiler is on the path" >&2; exit 1; fi
        step() { # its time, and the command
            local began=$EPOCHREALTIME
            "$@" >out.txt
            printf '%6.1f s  %s\n' "$(python -c "print($EPOCHREALTIME - $began)")" "$*"
        }
        python -c 'import ackclock, sys; print("ackclock", ackclock.__version__, "on Python", sys.version.split()[0])'
        step ackclock run first.toml --plot first.png
        step ackclock run @dumbbell --plot run.svg
        step ackclock new mine --python
        step ackclock check mine.toml @dumbbell @cellular
        step ackclock compare --control mine.py:Mine,cubic --on @cellular,@bufferbloat
        step ackclock view @dumbbell --no-open
        step ackclock sweep @studies/random_loss --set duration=8s --set 'sweep.seed=[1,2]' --out study
        step ackclock results study
        step ackclock search @shrew --budget 150 --out search
        step ackclock why first.toml --at 2s
        step ackclock list suites
    )
    rm -rf "$work"
done
