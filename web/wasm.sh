#!/usr/bin/env bash
# Builds the simulator as WebAssembly: wasm.sh FILE. With rustup's target, which is installed where rustup is there;
# otherwise with Debian's compiler, unpacked below the cache folder and not installed. The cache folder keeps that compiler
# and the last builds; a build is used again if sources, dependencies and compiler are the same.
set -euo pipefail
out=$(realpath -m "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
target=wasm32-unknown-unknown
build=${CARGO_TARGET_DIR:-$root/target}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ackclock
sysroot=$(rustc --print sysroot)
mkdir -p "$(dirname "$out")" "$cache/wasm"
debian=$cache/debian-rust
if [ ! -d "$sysroot/lib/rustlib/$target" ] && [ ! -f "$debian/complete" ] && command -v rustup >/dev/null; then
    echo "installing the compiler's target for WebAssembly with rustup (25 MB)"
    rustup --quiet target add "$target" || echo "rustup cannot; Debian's compiler is the other way"
fi

# Everything that decides the result: the build contains a hash of the sources of all crates (crates/lab/build.rs).
key=$({ find crates/*/src crates/*/build.rs crates/*/Cargo.toml Cargo.toml Cargo.lock web/wasm.sh -type f -print0 |
    sort -z | xargs -0 sha256sum; rustc -vV; ls -d "$sysroot/lib/rustlib/$target" 2>&1 || true; } | sha256sum | cut -c1-32)
kept=$cache/wasm/$key.wasm
if [ -f "$kept" ]; then
    echo "the core as WebAssembly is that of an earlier build: $kept"
    cp "$kept" "$out"
    exit
fi
flags="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src=crates.io --remap-path-prefix=$root="
options=(--locked --quiet --profile web --target $target -p ackclock-web)

if [ -d "$sysroot/lib/rustlib/$target" ]; then
    RUSTFLAGS="$flags" cargo build "${options[@]}"
else
    if [ ! -f "$debian/complete" ]; then
        if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
            echo "error: no compiler for WebAssembly; run \`rustup target add $target\`, or as root on Debian this again" >&2
            exit 2
        fi
        echo "fetching Debian's compiler for WebAssembly: 138 MB, once for this user"
        rm -rf "$debian"
        mkdir -p "$debian/archives/partial"
        apt-get update -qq || true # an older list may do
        apt-get install -y -q --download-only --no-install-recommends -o Dir::Cache::archives="$debian/archives" \
            rustc-web rust-web-src
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
cp "$build/$target/web/ackclock_web.wasm" "$out"
cp "$out" "$kept.new" && mv "$kept.new" "$kept"
ls -t "$cache"/wasm/*.wasm | tail -n +6 | xargs -r rm # keeps five builds
