#!/usr/bin/env bash
# Builds `cavi-mpi` and holds it to its promise: the same bytes for any number of ranks and threads, and those of `cavi fit --shards`; wrong use ends
# with a message, and never hangs. Needs mpirun, an MPI with its headers, and libclang.
set -euo pipefail
cd "$(dirname "$0")/../.."

source crates/cavi-mpi/ranks.sh

# A program, its data, and more options of its fit: in one process, and over 2 and 4 ranks of 1 and 2 threads.
compare() {
  local name=$1; shift
  "$mpi" fit "$@" --quiet --force --out one --threads 2
  for spread in "1 1" "2 1" "4 2"; do
    read -r count threads <<<"$spread"
    ranks "$count" fit "$@" --quiet --force --out several --threads "$threads" || fail "$name over $count ranks"
    same one several "$name over $count ranks of $threads threads"
  done
  echo "ok $name"
}

# What is wrong is told in a message that has these words, and the job ends by itself.
refused() {
  local words=$1 count=$2; shift 2
  local status=0
  ranks "$count" "$@" >said 2>&1 || status=$?
  [ "$status" -ne 0 ] && [ "$status" -ne 124 ] || { cat said >&2; fail "status $status of: $*"; }
  grep -qF -- "$words" said || { cat said >&2; fail "\"$words\" is not said of: $*"; }
  # The message of MPI that a process ended with this status may follow.
  [ "$(grep -c '^error' said)" = 1 ] || { cat said >&2; fail "more than one message of: $*"; }
  echo "ok refused: $words"
}

# Counts of 40 documents and 30 words, a table of numbers, a table of counts; and the first with another label.
counts
awk 'BEGIN { s = 3; printf ""; for (j = 0; j < 8; j++) printf ",f%d", j; print ""; for (i = 0; i < 30; i++) { printf "s%d", i;
  for (j = 0; j < 8; j++) { s = (s * 1103515245 + 12345) % 2147483648; printf ",%.3f", (i % 3 - 1) * (j % 2 + 1) + s / 2147483648 } print "" } }' >table.csv
awk 'BEGIN { s = 5; printf ""; for (j = 0; j < 8; j++) printf ",t%d", j; print ""; for (i = 0; i < 30; i++) { printf "g%d", i;
  for (j = 0; j < 8; j++) { s = (s * 1103515245 + 12345) % 2147483648; printf ",%d", (i % 3) * (j % 2 + 1) + int(s / 536870912) } print "" } }' >rates.csv
sed 's/^d1,/d99,/' counts.csv >others.csv
compare "topics, restarts" lda --data n=counts.csv --set topic=3 --shards doc=7 --sweeps 20 --restarts 2
compare "topics, ordinary, accelerated" lda --data n=counts.csv --set topic=3 --shards doc --sweeps 20 --allocations ordinary --accelerate auto --verify
compare "topics, held out" lda --data n=counts.csv --set topic=3 --shards auto --sweeps 10 --heldout n=0.2
compare "factors, accelerated" ppca --data x=table.csv --shards sample=5 --sweeps 60 --tol 0 --accelerate auto
compare "mixture" gmm --data x=table.csv --set cluster=3 --sweeps 20 --shards sample
compare "rates in single precision" nmf_gamma --data x=rates.csv --set signature=3 --sweeps 20 --shards auto --precision f32

# Without `--shards` several ranks cut the largest axis that can be cut.
ranks 3 fit lda --data n=counts.csv --set topic=3 --sweeps 10 --quiet --force --out several
"$mpi" fit lda --data n=counts.csv --set topic=3 --sweeps 10 --quiet --force --out one --shards auto
same one several "the largest axis"

refused "there is no axis \`docs\`" 2 fit lda --data n=counts.csv --set topic=3 --shards docs --out no
refused "each of which needs one" 3 fit lda --data n=counts.csv --set topic=3 --shards doc=2 --out no
refused "no data run along it" 2 fit lda --data n=counts.csv --set topic=3 --shards topic --out no
refused "missing.csv" 2 fit lda --data n=missing.csv --out no
refused "is for one process" 2 fit lda --data n=counts.csv --set topic=3 --folds 3 --out no
# Other data on the second rank, and no data there.
cat >by_rank.sh <<'END'
#!/bin/sh
exec "$MPI" fit lda --data "n=$1$OMPI_COMM_WORLD_RANK.csv" --set topic=3 --sweeps 3 --quiet --force --out no
END
chmod +x by_rank.sh
cp counts.csv same0.csv; cp others.csv same1.csv; cp counts.csv half0.csv
by_rank() {
  local words=$1 status=0; shift
  MPI="$mpi" timeout -k 10 60 mpirun -n 2 ./by_rank.sh "$1" >said 2>&1 || status=$?
  [ "$status" -ne 0 ] && [ "$status" -ne 124 ] && grep -qF -- "$words" said || { cat said >&2; fail "status $status: $words"; }
  echo "ok refused: $words"
}
by_rank "rank 1 is about to fit something else than rank 0" same
by_rank "rank 1 cannot begin" half
[ ! -e no ] || fail "a fit that was refused has written"
echo "all is well"
