# shellcheck shell=bash
# Sourced by ./dev: formats C++ files in place: those named, those changed since the last commit, or --all.
command_format() {
  need_packages run test
  cd "$ROOT" || exit 1
  if [[ ${1:-} == --all ]]; then
    git ls-files 'src/*.h' 'src/*.cc' 'include/*.h' 'tests/*.h' 'tests/*.cc' 'examples/*.cc' 'bench/*.cc' | xargs -r clang-format -i
  elif [[ $# -gt 0 ]]; then
    clang-format -i "$@"
  else
    { git diff --name-only --diff-filter=d HEAD -- && git ls-files --others --exclude-standard; } |
      { grep -E '^(src|include|tests|examples|bench)/.*\.(h|cc)$' || true; } | xargs -r clang-format -i --verbose
  fi
}
