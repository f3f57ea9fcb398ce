#!/usr/bin/env bash
# The fingerprints of the core on aarch64, a third platform, under qemu: built for the target of the wheel, with its linker.
# Needs qemu-user-static and libc6-arm64-cross (Debian), and `make wheel` before, which installs the linker.
set -euo pipefail
cd "$(dirname "$0")/.."
target=aarch64-unknown-linux-gnu
command -v qemu-aarch64-static >/dev/null && [ -d /usr/aarch64-linux-gnu ] || {
    echo "needs qemu-user-static and libc6-arm64-cross: apt-get install qemu-user-static libc6-arm64-cross" >&2
    exit 3
}
rustup --quiet target add $target
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
# Zig has other names of targets than the option that build scripts pass.
cat >"$tools/cc" <<END
#!/usr/bin/env bash
for word in "\$@"; do [[ \$word == --target=* ]] || words+=("\$word"); done
exec "$PWD/.venv/bin/python" -m ziglang cc -target aarch64-linux-gnu.2.28 "\${words[@]}"
END
printf '#!/bin/sh\nexec "%s" -m ziglang ar "$@"\n' "$PWD/.venv/bin/python" >"$tools/ar"
chmod +x "$tools/cc" "$tools/ar"
export AR_aarch64_unknown_linux_gnu=$tools/ar
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$tools/cc CC_aarch64_unknown_linux_gnu=$tools/cc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64-static -L /usr/aarch64-linux-gnu"
cargo test --locked --quiet --release --target $target -p ackclock-lab --test fingerprints
