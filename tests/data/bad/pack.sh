#!/usr/bin/env bash
# pack.sh FOLDER: packs a folder of corrupted model files and their manifest.json into bad.tar.xz beside this script.
# The same files give the same bytes. The files differ little, which xz's dictionary sees across the whole archive:
# 5.4 MB become 131 kB.
set -euo pipefail

[[ $# -eq 1 && -f $1/manifest.json ]] || {
  echo "usage: pack.sh FOLDER (with manifest.json)" >&2
  exit 2
}
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
cd "$1"
tar --create --sort=name --format=ustar --mtime='2020-01-01 00:00Z' --owner=0 --group=0 --numeric-owner \
  --mode='u=rw,go=r' -- * | xz -9e > "$here/bad.tar.xz"
