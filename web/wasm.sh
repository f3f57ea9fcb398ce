#!/usr/bin/env bash
# Builds the simulator as WebAssembly: wasm.sh FILE. With rustup's target where it is installed (`rustup target add
# wasm32-unknown-unknown`), otherwise with Debian's compiler, unpacked below the build folder and not installed.
set -euo pipefail
out=$(realpath -m "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
target=wasm32-unknown-unknown
build=${CARGO_TARGET_DIR:-$root/target}
sysroot=$(rustc --print sysroot)
flags="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src=crates.io --remap-path-prefix=$root="
options=(--locked --quiet --profile web --target $target -p ackclock-web)

if [ -d "$sysroot/lib/rustlib/$target" ]; then
    RUSTFLAGS="$flags" cargo build "${options[@]}"
else
    debian=$build/debian-rust
    if [ ! -f "$debian/complete" ]; then
        if ! command -v apt-get >/dev/null; then
            echo "error: no compiler for WebAssembly; run \`rustup target add $target\`" >&2
            exit 2
        fi
        echo "fetching Debian's compiler for WebAssembly (138 MB)"
        rm -rf "$debian"
        mkdir -p "$debian/archives/partial"
        apt-get update -qq || true # an older list may do
        apt-get install -y -qq --download-only --no-install-recommends -o Dir::Cache::archives="$debian/archives" \
            rustc-web rust-web-src >/dev/null
        for package in "$debian"/archives/*.deb; do
            dpkg -x "$package" "$debian"
            rm "$package"
        done
        # Of the compiler's sources only the standard library is needed.
        find "$debian"/usr/src/rustc-*/ -mindepth 1 -maxdepth 1 \
            ! -name library ! -name vendor ! -name Cargo.lock ! -name Cargo.toml -exec rm -rf {} +
        touch "$debian/complete"
    fi
    # The linker is that of the machine's own compiler.
    export PATH="$sysroot/lib/rustlib/$(rustc -vV | sed -n 's/host: //p')/bin:$PATH"
    LD_LIBRARY_PATH="$debian/usr/lib/x86_64-linux-gnu" RUSTC="$debian/usr/bin/rustc" RUSTC_BOOTSTRAP=1 \
        RUSTFLAGS="$flags --remap-path-prefix=$debian/usr/lib/rustlib/src/rust=rust -Clinker=rust-lld" \
        cargo build "${options[@]}" -Zbuild-std=std,panic_abort
fi
mkdir -p "$(dirname "$out")"
cp "$build/$target/web/ackclock_web.wasm" "$out"
