#!/usr/bin/env bash
# Installs build/release to a scratch prefix and uses it as others would: CMake, pkg-config, man, shells, .deb, uninstall.
set -euo pipefail
ROOT=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
BUILD=$ROOT/build/release
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
PREFIX=$WORK/prefix

step() { printf 'install: %s\n' "$*"; }
fail() {
  printf 'install: FAILED: %s\n' "$*"
  exit 1
}

step "cmake --install"
cmake --install "$BUILD" --prefix "$PREFIX" > "$WORK/log" || fail "$(cat "$WORK/log")"
for file in bin/sluice include/sluice share/man/man1/sluice.1 share/doc/sluice/LICENSE \
  share/bash-completion/completions/sluice share/zsh/site-functions/_sluice share/fish/vendor_completions.d/sluice.fish; do
  compgen -G "$PREFIX/$file" > /dev/null || fail "$file is not installed"
done

# lib, or lib/<triplet> on Debian.
[[ -n $(find "$PREFIX" -name libsluice.a) ]] || fail "libsluice.a is not installed"

step "the installed command, away from the source tree"
(cd / && "$PREFIX/bin/sluice" --version && "$PREFIX/bin/sluice" run -p "Once upon a time" -n 4 --seed 1 2> /dev/null < /dev/null) |
  sed 's/^/  /'
step "no library but the packages of the run set"
unexpected=$(ldd "$PREFIX/bin/sluice" | awk '{print $1}' |
  grep -vE '^(linux-vdso|/lib64/ld-linux|lib(fmt|simdjson|pcre2-8|utf8proc|z|edit|tinfo|bsd|md|stdc\+\+|m|gcc_s|c)\.so)' || true)
[[ -z $unexpected ]] || fail "unexpected: $unexpected"

step "man page and completions"
man --warnings -E UTF-8 -l "$PREFIX/share/man/man1/sluice.1" 2>&1 > /dev/null | { ! grep .; } || fail "man complains"
bash -n "$PREFIX/share/bash-completion/completions/sluice"
zsh -n "$PREFIX/share/zsh/site-functions/_sluice"
fish -n "$PREFIX/share/fish/vendor_completions.d/sluice.fish"

PKG_CONFIG_PATH=$(dirname "$(find "$PREFIX" -name sluice-moe.pc)")
export PKG_CONFIG_PATH
for example in "$ROOT"/examples/*/ "$ROOT"/tests/install/*/; do
  [[ -f $example/CMakeLists.txt ]] || continue
  name=$(basename "$example")
  step "$name with find_package(sluice)"
  { cmake -S "$example" -B "$WORK/$name" -G Ninja -DCMAKE_PREFIX_PATH="$PREFIX" -DCMAKE_BUILD_TYPE=Release &&
    cmake --build "$WORK/$name"; } > "$WORK/log" 2>&1 || fail "$(cat "$WORK/log")"
  program=$(find "$WORK/$name" -maxdepth 1 -type f -executable | head -n 1)
  [[ -n $program ]] || fail "$name builds no program"
  "$program" > "$WORK/log" 2>&1 < /dev/null || fail "$name: $(cat "$WORK/log")"

  step "$name with pkg-config"
  library=sluice-moe
  ! grep -q 'sluice::sluice' "$example/CMakeLists.txt" || library=sluice
  # shellcheck disable=SC2046
  c++ -std=c++20 -O1 "$example"/*.cc -o "$WORK/$name-pc" $(pkg-config --cflags --libs $library) || fail "$library.pc"
  "$WORK/$name-pc" > "$WORK/log" 2>&1 < /dev/null || fail "$name: $(cat "$WORK/log")"
done

step "uninstall"
cmake --build "$BUILD" --target uninstall > "$WORK/log" || fail "$(cat "$WORK/log")"
left=$(find "$PREFIX" ! -type d)
[[ -z $left ]] || fail "left behind: $left"

step "cpack -G DEB"
(cd "$BUILD" && rm -rf packages && cpack -G DEB) > "$WORK/log" 2>&1 || fail "$(cat "$WORK/log")"
for deb in "$BUILD"/packages/*.deb; do
  dpkg-deb -c "$deb" > "$WORK/contents"
  printf '  %s: %s files, needs %s\n' "$(basename "$deb")" "$(grep -vc '/$' "$WORK/contents")" "$(dpkg-deb -f "$deb" Depends)"
  [[ -n $(dpkg-deb -f "$deb" Depends) ]] || fail "$deb names no dependency"
  dpkg -x "$deb" "$WORK/deb"
done
"$WORK/deb/usr/bin/sluice" run -p "Once upon a time" -n 4 --seed 1 > /dev/null 2>&1 < /dev/null || fail "the packaged command does not run"
PKG_CONFIG_PATH=$(dirname "$(find "$WORK/deb" -name sluice.pc)") pkg-config --exists sluice || fail "the packaged sluice.pc"
step "passed"
