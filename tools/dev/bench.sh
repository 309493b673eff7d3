# shellcheck shell=bash
# Sourced by ./dev: speed of the command (prompt and answer), then of the kernels.

# command_bench [OPTIONS of sluice run, for example -m MODEL -t 1]
command_bench() {
  local prompt round program
  need_packages run test bench
  lock_build
  configure release SLUICE_BUILD_TESTS=ON
  build release sluice sluice_bench_kernels || die "the build failed (see above)"
  prompt=$(printf 'Once upon a time there was a king who had three sons, and the youngest was called Simpleton. %.0s' {1..12})
  grep -m 1 '^model name' /proc/cpuinfo | sed 's/.*: /processor: /'
  for round in 1 2 3; do
    echo "round $round"
    "$SLUICE" run -p "$prompt" -n 128 --temp 0 --ignore-eos "$@" 2>&1 > /dev/null < /dev/null | tail -n 2
  done
  for program in "$BUILD"/bench/sluice_bench_*; do
    "$program"
  done
}
