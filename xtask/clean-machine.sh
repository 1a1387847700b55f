#!/usr/bin/env bash
# Proves the README's two commands on a machine that has nothing: a fresh Debian root in a folder, with the Rust tool
# chain (without its WebAssembly library), a linker and apt; HOME and CARGO_HOME are empty. Needs root, a Debian-like host
# and about 15 GB. What is committed is tested, not what is in the work tree.
#
#   xtask/clean-machine.sh FOLDER                 all tests, then the page served by `play` and opened in Chromium
#   xtask/clean-machine.sh FOLDER COMMAND...      only this, for example `cargo xtask setup`
#
# The same FOLDER again goes on from what is installed in it; a new one starts from nothing.
set -euo pipefail

repository="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
suite="${DEBIAN_SUITE:-bookworm}"
mirror="${DEBIAN_MIRROR:-http://deb.debian.org/debian}"

# The inner half: runs in its own mount and process namespaces, so that every mount and every process ends with it.
if [ "${1:-}" = --inside ]; then
    root="$2"
    shift 2
    mount --make-rprivate /
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --rbind /sys "$root/sys"
    if [ -d "$repository/../shared" ]; then
        mkdir -p "$root/src/shared"
        mount --bind "$repository/../shared" "$root/src/shared"
        mount -o remount,ro,bind "$root/src/shared"
    fi
    # How this network is reached is the host's to know: proxies, certificates, cargo's and npm's settings.
    keep=()
    while IFS= read -r name; do keep+=("$name=${!name}"); done < <(
        compgen -e | grep -E '^(https?_proxy|no_proxy|HTTPS?_PROXY|NO_PROXY|SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS|CARGO_(HTTP|NET|REGISTRIES)_.*|npm_config_.*)$'
    )
    exec chroot "$root" env -i HOME=/root LANG=C.UTF-8 PATH=/opt/rust/bin:/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin \
        "${keep[@]}" bash -c 'cd /src/tensorscope && "$@"' bash "$@"
fi

if [ $# = 0 ] || [ "$(id -u)" != 0 ]; then
    sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
root="$(mkdir -p "$1" && cd "$1" && pwd)"
shift
start=$SECONDS
stage() { printf '== %s: %d min %02d s since the start\n' "$1" $(((SECONDS - start) / 60)) $(((SECONDS - start) % 60)); }

if [ ! -e "$root/etc/debian_version" ]; then
    command -v debootstrap >/dev/null || apt-get install -q -y --no-install-recommends debootstrap
    debootstrap --variant=minbase --include=ca-certificates,gcc,libc6-dev "$suite" "$root" "$mirror"
fi
# apt, names and certificates as the host has them.
rm -rf "$root/etc/apt/sources.list"
cp -a /etc/apt/. "$root/etc/apt/"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
cp --remove-destination -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
stage "a fresh $suite root"

if [ ! -e "$root/opt/rust/bin/cargo" ]; then
    mkdir -p "$root/opt/rust"
    tar -C "$(rustc --print sysroot)" --exclude=./share/doc --exclude='./lib/rustlib/wasm32-*' -cf - . |
        tar -C "$root/opt/rust" -xf -
fi
rm -rf "$root/src/tensorscope"
git clone -q --no-hardlinks "$repository" "$root/src/tensorscope"
stage "the Rust tool chain and a clone of $(git -C "$repository" rev-parse --short HEAD)"

inside() { unshare --mount --pid --fork --kill-child "$repository/xtask/clean-machine.sh" --inside "$root" "$@"; }
if [ $# -gt 0 ]; then
    inside "$@"
    stage "$*"
    exit
fi

inside cargo xtask test
stage "cargo xtask test"
# The page as a person gets it. The driver and the browser are those that the tests installed.
inside bash -c '
    set -euo pipefail
    cargo xtask play --no-open --port 8080 | tee /tmp/play.log &
    until url=$(grep -o "http://127[^ ]*" /tmp/play.log); do sleep 1; kill -0 $!; done
    NODE_PATH=/root/.cache/tensorscope/tools/node/node_modules TENSORSCOPE_CHROMIUM=/usr/bin/chromium \
        node tests/browser/run.mjs "$url"
    kill $!'
stage "cargo xtask play"
