#!/usr/bin/env bash
# Kills ranks of `cavi-mpi` at work by SIGKILL, resumes the fit on another number of ranks, and compares its bytes with those of one that nobody
# killed. Needs mpirun, an MPI with its headers, and libclang. Open MPI 4.1 itself was seen to hang once after a rank was killed, so that a job
# that does not end within 20 seconds is ended, and the fit resumed all the same.
set -euo pipefail
cd "$(dirname "$0")/../.."

cargo build --release --manifest-path crates/cavi-mpi/Cargo.toml --target-dir target
mpi="$PWD/target/release/cavi-mpi"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# More ranks than cores, as root in a container.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none
ranks() { timeout -k 10 120 mpirun -n "$1" "$mpi" "${@:2}"; }

fail() { echo "FAILED: $*" >&2; exit 1; }

# The rows of a trace without their seconds.
rows() { cut -d, -f1-3,5 "$1/trace.csv"; }

# Whether two fits have the same bytes.
same() {
  diff -r "$1/posterior" "$2/posterior" >/dev/null || fail "$3: the posterior of $2 is not that of $1"
  [ "$(rows "$1")" = "$(rows "$2")" ] || fail "$3: the trace of $2 is not that of $1"
}


# Counts of 40 documents and 30 words.
awk 'BEGIN { s = 7; print "doc,word,n"; for (d = 0; d < 40; d++) for (w = 0; w < 30; w++) {
  s = (s * 1103515245 + 12345) % 2147483648; c = int(s / 65536) % 9; if (c > 5) print "d" d ",w" w "," c - 5 } }' >counts.csv
# A fit that is killed goes on over another number of ranks.
long=(lda --data n=counts.csv --set topic=4 --shards doc=8 --allocations ordinary --sweeps 20000 --tol 0 --quiet --force --threads 1)
"$mpi" fit "${long[@]}" --out one
kills=0
for count in 2 4 1 3; do
  [ "$count" = 2 ] && how=(--out killed) || how=(--resume killed)
  mpirun -n "$count" "$mpi" fit "${long[@]}" "${how[@]}" --checkpoint-every 0.1 >said 2>&1 &
  job=$!
  # Some time after its first checkpoint is there.
  for _ in $(seq 100); do [ -d .killed.cavi-checkpoints ] || ! kill -0 "$job" 2>/dev/null && break; sleep 0.05; done
  sleep 0.3
  victim=$(pgrep -P "$job" -n -x cavi-mpi || true)
  if [ -n "$victim" ] && kill -9 "$victim"; then kills=$((kills + 1)); fi
  for _ in $(seq 200); do kill -0 "$job" 2>/dev/null || break; sleep 0.1; done
  kill -9 "$job" 2>/dev/null && pkill -9 -x cavi-mpi || true
  wait "$job" || true
done
ranks 2 fit "${long[@]}" --resume killed >said 2>&1 || { cat said >&2; fail "a killed fit goes on"; }
same one killed "killed and resumed"
[ "$kills" -gt 0 ] || fail "no rank was killed"
echo "ok killed $kills times, and resumed"

