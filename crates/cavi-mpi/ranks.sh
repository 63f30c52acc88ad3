# What the tests over several ranks share; read by `source` in the root of the repository. Builds `cavi-mpi` and goes to an empty directory,
# which is removed at the end.
# The tests compare bytes, which no optimisation changes: `PROFILE=dev` compiles in a third of the time.
profile="${PROFILE:-release}"
cargo build --profile "$profile" --manifest-path crates/cavi-mpi/Cargo.toml --target-dir target
mpi="$PWD/target/${profile/dev/debug}/cavi-mpi"
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

# Counts of 40 documents and 30 words, in `counts.csv`.
counts() {
  awk 'BEGIN { s = 7; print "doc,word,n"; for (d = 0; d < 40; d++) for (w = 0; w < 30; w++) {
    s = (s * 1103515245 + 12345) % 2147483648; c = int(s / 65536) % 9; if (c > 5) print "d" d ",w" w "," c - 5 } }' >counts.csv
}
