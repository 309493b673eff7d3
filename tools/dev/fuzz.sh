# shellcheck shell=bash
# Sourced by ./dev: runs libFuzzer targets. New inputs are kept in the build folder; the committed corpus is only read.

# fuzz_targets PRESET: paths of the built targets.
fuzz_targets() { find "$ROOT/build/$1" -type f -executable -name 'sluice_fuzz_*' | sort; }

# fuzz_run PROGRAM SECONDS: one target; quiet unless it fails.
fuzz_run() {
  local program=$1 seconds=$2 name=${1##*/sluice_fuzz_} work log
  work=$(dirname "$program")/fuzz-$name
  log=$work/log
  mkdir -p "$work/new" "$work/found"
  # The limits are those of the promise about bad files: bounded memory, no single large allocation, no long computation.
  if "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=64 -print_final_stats=1 \
    -artifact_prefix="$work/found/" "$work/new" "$ROOT/tests/fuzz/corpus/$name" > "$log" 2>&1 < /dev/null; then
    echo "fuzz $name: passed, $(awk '/number_of_executed_units/ {print $2}' "$log") inputs in $seconds s"
  else
    tail -n 60 "$log"
    echo "fuzz $name: FAILED; the input lies in $work/found"
    return 1
  fi
}

# fuzz_all PRESET SECONDS [NAME]: two targets at a time.
fuzz_all() {
  local preset=$1 seconds=$2 only=${3:-} program status=0 names=0
  local pids=()
  for program in $(fuzz_targets "$preset"); do
    [[ -z $only || $program == */sluice_fuzz_$only ]] || continue
    names=$((names + 1))
    fuzz_run "$program" "$seconds" &
    pids+=("$!")
    if [[ ${#pids[@]} -ge $(jobs) ]]; then
      wait "${pids[0]}" || status=1
      pids=("${pids[@]:1}")
    fi
  done
  local pid
  for pid in "${pids[@]}"; do wait "$pid" || status=1; done
  [[ $names -gt 0 ]] || {
    say "no fuzz target${only:+ named $only}; there are: $(fuzz_targets "$preset" | sed 's/.*sluice_fuzz_//' | tr '\n' ' ')"
    status=1
  }
  return $status
}

command_fuzz() {
  local only="" seconds=60
  [[ $# -eq 0 || $1 =~ ^[0-9]+$ ]] || {
    only=$1
    shift
  }
  [[ $# -eq 0 ]] || seconds=$1
  need_packages run test
  lock_build
  configure fuzz
  build fuzz all || die "the build failed (see above)"
  fuzz_all fuzz "$seconds" "$only"
}
