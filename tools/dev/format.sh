# shellcheck shell=bash
# Sourced by ./dev: formats C++ files in place.
command_format() {
  need_packages run test
  cd "$ROOT" || exit 1
  if [[ $# -gt 0 ]]; then
    clang-format -i "$@"
  else
    { git diff --name-only --diff-filter=d HEAD -- && git ls-files --others --exclude-standard; } |
      { grep -E '^(src|include|tests|examples|bench)/.*\.(h|cc)$' || true; } | xargs -r clang-format -i --verbose
  fi
}
