#!/usr/bin/env bash
# Kills ranks of `cavi-mpi` at work by SIGKILL, resumes the fit on another number of ranks, and compares its bytes with those of one that nobody
# killed. Needs mpirun, an MPI with its headers, and libclang. Open MPI 4.1 itself was seen to hang once after a rank was killed, so that a job
# that does not end within 20 seconds is ended, and the fit resumed all the same. `KILLS` says how many kills (20), at moments of `SEED` (1).
set -euo pipefail
cd "$(dirname "$0")/../.."

source crates/cavi-mpi/ranks.sh

counts
# A fit that is killed goes on over another number of ranks.
long=(lda --data n=counts.csv --set topic=4 --shards doc=8 --allocations ordinary --sweeps 40000 --tol 0 --quiet --force --threads 1)
"$mpi" fit "${long[@]}" --out one
kills=0
RANDOM=${SEED:-1}
ranks_of=(2 4 1 3)
for turn in $(seq 0 $((${KILLS:-20} - 1))); do
  count=${ranks_of[$((turn % 4))]}
  [ "$turn" = 0 ] && how=(--out killed) || how=(--resume killed)
  mpirun -n "$count" "$mpi" fit "${long[@]}" "${how[@]}" --checkpoint-every 0.1 >said 2>&1 &
  job=$!
  # At some moment of the second after its first checkpoint is there.
  for _ in $(seq 100); do [ -d .killed.cavi-checkpoints ] || ! kill -0 "$job" 2>/dev/null && break; sleep 0.05; done
  sleep "0.$(printf '%03d' $((RANDOM % 1000)))"
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

