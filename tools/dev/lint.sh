# shellcheck shell=bash
# Sourced by ./dev: the checks that need no test run. Each prints its faults; all run, then the status tells.

# Files of these kinds below the current folder that git knows or would add; deleted ones left out.
lint_files() {
  git -c "safe.directory=*" ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
    [[ ! -e $file ]] || echo "$file"
  done
}

lint_cxx_files() { lint_files 'src/*.h' 'src/*.cc' 'include/*.h' 'tests/*.h' 'tests/*.cc' 'examples/*.h' 'examples/*.cc' 'bench/*.cc'; }

# Files changed since the merge base with origin/main (on main itself: since the commit before), committed or not.
lint_changed() {
  local git=(git -c "safe.directory=*") base
  base=${SLUICE_LINT_BASE:-$("${git[@]}" merge-base HEAD origin/main 2> /dev/null || true)}
  [[ -n $base && $base != $("${git[@]}" rev-parse HEAD) ]] || base=$("${git[@]}" rev-parse -q --verify HEAD~1 || "${git[@]}" hash-object -t tree /dev/null)
  { "${git[@]}" diff --name-only --diff-filter=d "$base" -- && "${git[@]}" ls-files --others --exclude-standard; } | sort -u
}

lint_format() { lint_cxx_files | xargs -r clang-format --dry-run -Werror; }

# clang-tidy needs minutes for all files, so a normal run takes the changed ones, the newest first, and says what it left.
lint_tidy() {
  local full=$1 limit=${SLUICE_TIDY_LIMIT:-40} files left
  if [[ $full == full ]]; then
    files=$(lint_cxx_files)
  else
    files=$(lint_changed)
  fi
  files=$(grep -E '^(src|tests|examples)/.*\.cc$' <<< "$files" | grep -v '_fuzz\.cc$' || true)
  # Only what the build compiles: without a command line there is nothing to parse with.
  files=$(while read -r file; do
    [[ -z $file ]] || ! grep -q "\"file\": \"$PWD/$file\"" build/release/compile_commands.json || stat -c '%Y %n' "$file"
  done <<< "$files" | sort -rn | cut -d' ' -f2-)
  left=$(($(grep -c . <<< "$files") - limit))
  if [[ $full != full && $left -gt 0 ]]; then
    say "clang-tidy: the $limit newest of $((left + limit)) changed files; ./dev lint --full checks all"
    files=$(head -n "$limit" <<< "$files")
  fi
  [[ -n $files ]] || return 0
  xargs -r -P "$(jobs)" -n 1 clang-tidy --quiet --extra-arg=-Wno-unknown-warning-option -p build/release <<< "$files" 2> >(grep -v 'warnings generated' >&2)
}

# The patterns are written so that this file does not match itself.
lint_paths() {
  local found
  found=$(lint_files | xargs -r grep -nIE '(^|[^[:alnum:]_.])/(wor[k]|roo[t]|home/[a-z]+)/|\.librar[y]/|bash_job[s]' | grep -vE '^(docs/.*\.md|models/)' || true)
  [[ -z $found ]] || {
    echo "$found"
    echo "paths of one machine do not belong here"
    return 1
  }
}

lint_shell() {
  local scripts
  scripts=$(lint_files | xargs -r grep -lIE '^#!.*\b(bash|sh)$|^# shellcheck shell=' || true)
  # shellcheck disable=SC2086
  shellcheck -x $scripts
}

lint_python() {
  local files
  files=$(lint_files '*.py' && { lint_files 'tests/show/*' | xargs -r grep -lIE '^#!.*python' || true; })
  # Compiled in memory: no __pycache__ is left behind.
  # shellcheck disable=SC2086
  python3 - $files <<'PYTHON'
import sys
for path in sys.argv[1:]:
    compile(open(path, encoding="utf-8").read(), path, "exec")
PYTHON
}

command_lint() (
  need_packages run test
  cd "$ROOT" || exit 1
  local full=changed check failed=0 passed=0 started
  [[ ${1:-} != --full ]] || full=full
  [[ -f build/release/compile_commands.json ]] || configure release SLUICE_BUILD_TESTS=ON
  for check in format tidy layers file_size paths shell python; do
    started=$SECONDS
    if case $check in
      layers | file_size) python3 "tools/check_$check.py" ;;
      *) "lint_$check" "$full" ;;
    esac then
      passed=$((passed + 1))
      echo "lint $check: passed ($((SECONDS - started)) s)"
    else
      failed=$((failed + 1))
      echo "lint $check: FAILED ($((SECONDS - started)) s)"
    fi
  done
  echo "lint: $passed passed, $failed failed"
  [[ $failed -eq 0 ]]
)
