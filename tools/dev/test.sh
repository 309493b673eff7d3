# shellcheck shell=bash
# Sourced by ./dev: the test run in steps. Every step runs even if one before it failed; the last line sums up.

# What a plain run does, and a full one.
readonly TEST_STEPS=(unit lint readme install)
readonly FULL_STEPS=(unit lint asan tsan fuzz readme install)
# The programs worth a run under ThreadSanitizer: those whose code runs on the pool.
readonly TSAN_PROGRAMS=(cpu kernels moe engine)

passed_total=0
failed_total=0
failed_steps=()

# count PASSED FAILED
count() {
  passed_total=$((passed_total + $1))
  failed_total=$((failed_total + $2))
}

# run_ctest PRESET [CTEST OPTIONS]: runs, counts, and holds skipped tests to tests/skips.txt.
run_ctest() {
  local preset=$1 junit=$ROOT/build/$1/junit.xml status=0 counts skips=0
  shift
  rm -f "$junit"
  (cd "$ROOT/build/$preset" &&
    ctest --output-on-failure -j "$(jobs)" --no-tests=error --output-junit "$junit" "$@" < /dev/null 9>&-) || status=1
  if [[ ! -f $junit ]]; then
    count 0 1
    return 1
  fi
  counts=$(python3 "$ROOT/tools/check_skips.py" "$junit" "$ROOT/tests/skips.txt") || skips=1
  head -n -1 <<< "$counts"
  # shellcheck disable=SC2046,SC2086
  count $(tail -n 1 <<< "$counts")
  if [[ $skips -ne 0 && -n ${CI:-} ]]; then
    say "a skipped test fails a CI run unless tests/skips.txt names the hardware that is missing"
    status=1
  fi
  return $status
}

step_unit() {
  configure release SLUICE_BUILD_TESTS=ON && build release all && run_ctest release "$@"
}

# The data that every clone has; a full run takes the shared sets as well.
step_asan() {
  configure asan && build asan all || return 1
  SLUICE_SHARED=$([[ $full == --full ]] && echo "${SLUICE_SHARED:-}" || echo "$ROOT/tests/data/none") \
    ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
    run_ctest asan
}

step_tsan() {
  local programs=() name
  configure tsan || return 1
  for name in "${TSAN_PROGRAMS[@]}"; do
    [[ ! -d $ROOT/tests/$name ]] || programs+=("sluice_test_$name")
  done
  build tsan "${programs[@]}" && TSAN_OPTIONS=halt_on_error=1 run_ctest tsan -R "^($(IFS='|' && echo "${TSAN_PROGRAMS[*]}"))\."
}

step_fuzz() {
  local seconds=10
  [[ -z ${CI:-} && $full != --full ]] || seconds=60
  configure asan && build asan all || return 1
  fuzz_all asan "$seconds"
}

step_lint() { command_lint "$full"; }
# The README's commands call ./dev, which must not wait for the lock of this one.
step_readme() {
  local status=0
  exec 9>&-
  python3 "$ROOT/tests/readme/run_readme.py" || status=1
  lock_build
  return $status
}
step_install() { "$ROOT/tools/dev/install_test.sh"; }

command_test() {
  local full="" only="" filter="" steps=() step started status
  while [[ $# -gt 0 ]]; do
    case $1 in
      --full) full=--full ;;
      --only) only=${2:?"--only wants steps: ${FULL_STEPS[*]}"} && shift ;;
      --only=*) only=${1#*=} ;;
      -*) die "unknown option $1; see ./dev help" ;;
      *) filter=$1 ;;
    esac
    shift
  done
  [[ -z $full ]] || export SLUICE_TEST_FULL=1
  need_packages run test
  # shellcheck source=tools/dev/lint.sh
  source "$ROOT/tools/dev/lint.sh"
  # shellcheck source=tools/dev/fuzz.sh
  source "$ROOT/tools/dev/fuzz.sh"
  lock_build

  if [[ -n $filter ]]; then
    step_unit -R "$filter"
    return
  fi
  steps=("${TEST_STEPS[@]}")
  # shellcheck disable=SC2031  # lint.sh has a variable of this name in a subshell
  [[ -z $full ]] || steps=("${FULL_STEPS[@]}")
  [[ -z $only ]] || IFS=, read -r -a steps <<< "$only"
  for step in "${steps[@]}"; do
    declare -F "step_$step" > /dev/null || die "unknown step '$step'; there are: ${FULL_STEPS[*]}"
    echo "=== $step"
    started=$SECONDS
    status=passed
    "step_$step" || {
      status=FAILED
      failed_steps+=("$step")
    }
    case $step in
      unit | asan | tsan) ;;  # counted test by test
      *) if [[ $status == passed ]]; then count 1 0; else count 0 1; fi ;;
    esac
    echo "=== $step $status in $((SECONDS - started)) s"
  done
  # A step can fail without a failed test: a build that stops, a skip without a reason.
  [[ $failed_total -gt 0 || ${#failed_steps[@]} -eq 0 ]] || failed_total=${#failed_steps[@]}
  [[ ${#failed_steps[@]} -eq 0 ]] || echo "failed: ${failed_steps[*]}"
  echo "$passed_total passed, $failed_total failed"
  [[ ${#failed_steps[@]} -eq 0 ]]
}
