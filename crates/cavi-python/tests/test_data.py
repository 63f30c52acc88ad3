"""Arrays of every kind come in as they are, and wrong ones are answered in words."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import cavi

NMF = """
axis row[i]
axis column[j]
axis part[k] = 2
data x[i, j] : count, absent = 0
w[i, k] ~ Gamma(1, rate = 1)
h[j, k] ~ Gamma(1, rate = 1)
x[i, j] ~ Poisson(sum[k](w[i, k] * h[j, k]))
"""
RANDOM = np.random.default_rng(1)
COUNTS = RANDOM.poisson(1.5, size=(7, 5)).astype(float)


def elbo(x, **options):
    return cavi.fit(NMF, x=x, sweeps=5, tol=0, seed=2, **options).elbo


# Dense and sparse data are summed in another order, so that they agree to rounding.
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix, sparse.csr_array, sparse.lil_matrix])
def test_every_sparse_format_is_the_same(kind):
    reference = elbo(sparse.coo_matrix(COUNTS))
    assert elbo(kind(COUNTS)) == pytest.approx(reference, rel=1e-12)
    assert elbo(kind(COUNTS)) == pytest.approx(elbo(COUNTS), rel=1e-12)


@pytest.mark.parametrize(
    "given",
    [
        np.asfortranarray(COUNTS),
        COUNTS.astype(np.int32),
        COUNTS.astype(np.float32),
        COUNTS.astype(">f8"),
        COUNTS.tolist(),
        COUNTS.astype(object),
        np.repeat(COUNTS, 2, axis=0)[::2],
        np.ma.masked_array(COUNTS),
        pd.DataFrame(COUNTS),
    ],
    ids=["fortran", "int32", "float32", "big-endian", "lists", "objects", "strided", "masked", "frame"],
)
def test_every_dense_array_is_the_same(given):
    assert elbo(given) == elbo(COUNTS)


def test_int64_indices_and_integer_values():
    given = sparse.csr_matrix(COUNTS.astype(np.int64))
    given.indices = given.indices.astype(np.int64)
    given.indptr = given.indptr.astype(np.int64)
    assert elbo(given) == elbo(sparse.csr_matrix(COUNTS))


def test_the_transpose_is_another_matrix():
    square = COUNTS[:5]
    assert elbo(square) != elbo(square.T)


def test_labels_come_from_index_and_columns():
    frame = pd.DataFrame(COUNTS, index=list("abcdefg"), columns=["u", "v", "w", "x", "y"])
    fit = cavi.fit(NMF, x=frame, sweeps=3, seed=1)
    assert list(fit["w"].mean.index) == list("abcdefg")
    assert list(fit["h"].mean.index) == ["u", "v", "w", "x", "y"]
    assert fit.axis("row") == list("abcdefg")


def test_labels_may_be_given():
    fit = cavi.fit(NMF, x=COUNTS, labels={"row": [f"r{own}" for own in range(7)]}, sweeps=3)
    assert fit.axis("row")[6] == "r6"


def test_a_long_frame_is_read_by_the_names_of_the_axes():
    rows, columns = np.nonzero(COUNTS)
    frame = pd.DataFrame({"row": rows, "column": columns, "count": COUNTS[rows, columns]})
    fit = cavi.fit(NMF, x=frame, sweeps=5, tol=0, seed=2)
    assert fit.elbo == pytest.approx(elbo(sparse.coo_matrix(COUNTS)), rel=1e-12)
    renamed = frame.rename(columns={"row": "userId", "column": "movieId"})
    named = {"x": {"row": "userId", "column": "movieId", "value": "count"}}
    assert cavi.fit(NMF, x=renamed, columns=named, sweeps=5, tol=0, seed=2).elbo == fit.elbo


def test_labels_as_values():
    program = """
axis person[n]
axis school[s]
data y[n] : real
data at[n] : index school
m[s] ~ Normal(0, sd = 10)
y[n] ~ Normal(m[at[n]], sd = 1)
"""
    fit = cavi.fit(program, y=[1.0, 2.0, 4.0, 6.0], at=["north", "south", "north", "south"])
    found = fit["m"].mean
    # The posterior mean of two observations under this prior is their sum / (2 + 0.01).
    assert found["north"] == pytest.approx(5 / 2.01) and found["south"] == pytest.approx(8 / 2.01)


SCHOOLS = """model schools
axis school[s]
axis class[c] in school[s]
axis pupil[i] in class[c]
data y[s, c, i] : real
mu[s, c] ~ Normal(0, sd = 1)
y[s, c, i] ~ Normal(mu[s, c], sd = 1)
"""


@pytest.mark.parametrize("renamed", [False, True])
def test_a_long_table_of_a_ragged_array_is_read_as_its_file(renamed, tmp_path):
    table = pd.DataFrame(
        {
            "school": ["b", "a", "b", "b", "a"],
            "class": [2, 1, 2, 1, 1],
            "pupil": ["p1", "p1", "p2", "p1", "p2"],
            "y": [0.5, 1.5, -0.5, 2.0, 0.25],
        }
    )
    table.to_csv(tmp_path / "y.csv", index=False)
    by_file = cavi.fit(SCHOOLS, y=tmp_path / "y.csv", sweeps=3, seed=1)
    columns = None
    if renamed:
        table = table.rename(columns={"school": "schoolId"})
        columns = {"y": {"school": "schoolId", "class": "class", "pupil": "pupil", "value": "y"}}
    in_memory = cavi.fit(SCHOOLS, y=table, columns=columns, sweeps=3, seed=1)
    assert in_memory.elbo == by_file.elbo and in_memory.summary["sizes"] == by_file.summary["sizes"]
    assert in_memory.axis("school") == by_file.axis("school") and in_memory.axis("pupil") == by_file.axis("pupil")
    means = [fit["mu"].array for fit in (in_memory, by_file)]
    assert list(means[0]) == list(means[1]) and all(np.array_equal(own, means[1][group]) for group, own in means[0].items())


def test_groups_of_a_ragged_array_are_a_dictionary():
    views = {"rna": RANDOM.normal(size=(20, 6)), "protein": RANDOM.normal(size=(20, 4))}
    fit = cavi.fit("gfa", x=views, factor=3, sweeps=5, seed=1)
    found = fit["w"].mean
    assert list(found) == ["rna", "protein"] and found["protein"].shape == (4, 3)
    assert fit.array("w.mean")["rna"].shape == (6, 3)


def test_samples_are_matched_by_their_labels():
    first = pd.DataFrame(RANDOM.normal(size=(12, 3)), index=[f"s{own}" for own in range(12)])
    second = first.sample(frac=1, random_state=0) * 2
    together = cavi.fit("gfa", x={"a": first, "b": second}, factor=2, sweeps=5, seed=1)
    ordered = cavi.fit("gfa", x={"a": first, "b": second.loc[first.index]}, factor=2, sweeps=5, seed=1)
    assert together.elbo == ordered.elbo


def test_missing_entries_are_nan_none_or_masked():
    x = RANDOM.normal(size=(15, 4))
    x[2, 1] = np.nan
    reference = cavi.fit("ppca", x=x, sweeps=4, seed=1).elbo
    as_objects = x.astype(object)
    as_objects[2, 1] = None
    assert cavi.fit("ppca", x=as_objects, sweeps=4, seed=1).elbo == reference
    assert cavi.fit("ppca", x=np.ma.masked_invalid(x), sweeps=4, seed=1).elbo == reference


def test_constants_are_numbers_arrays_and_files(tmp_path):
    program = """
axis item[n]
data x[n] : real
const s[n]
m ~ Normal(0, sd = 10)
x[n] ~ Normal(m, sd = s[n])
"""
    x, s = np.array([1.0, 3.0]), np.array([1.0, 0.5])
    # Precisions 1, 4 and 0.01: (1 + 12) / 5.01.
    assert cavi.fit(program, x=x, s=s)["m"].mean == pytest.approx(13 / 5.01)
    file = tmp_path / "s.npy"
    np.save(file, s)
    assert cavi.fit(program, x=x, s=file)["m"].mean == pytest.approx(13 / 5.01)
    assert cavi.fit(program, x=x, set={"s": 1})["m"].mean == pytest.approx(4 / 2.01)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (-COUNTS, "expected a count"),
        (COUNTS + 0.5, "expected a count"),
        (np.where(COUNTS > 2, np.nan, COUNTS), "missing"),
        (COUNTS * 1j, "complex"),
        (np.array([["a", "b"]]), "no numbers"),
        (np.array([["a", 1.0]], dtype=object), "'a' is no number"),
        ([[1, 2], [3]], "rows of one length"),
        (COUNTS[0], "x"),
        (np.ones((2, 2, 2)), "x"),
        ("no-such-file.csv", "no such file"),
        (pd.DataFrame(COUNTS, index=list("aabcdef"), columns=list("uvwxy")), "stands twice"),
        (pd.DataFrame({"row": [1], "column": [2], "a": [1.0], "b": [2.0]}), "may hold the values"),
    ],
)
def test_wrong_data_are_answered_in_words(given, message):
    with pytest.raises(cavi.DataError, match=message):
        cavi.fit(NMF, x=given)


def test_wrong_names_and_options():
    with pytest.raises(cavi.UsageError, match="neither data nor a constant nor an axis 'y'"):
        cavi.fit(NMF, y=COUNTS)
    with pytest.raises(cavi.DataError, match="bound to no file"):
        cavi.fit(NMF)
    with pytest.raises(TypeError, match="sweeps"):
        cavi.fit(NMF, x=COUNTS, sweeps="many")
    with pytest.raises(cavi.UsageError, match="schedule"):
        cavi.fit(NMF, x=COUNTS, schedule="w, q")
    with pytest.raises(cavi.UsageError, match="f64"):
        cavi.fit(NMF, x=COUNTS, precision="f16")
    with pytest.raises(cavi.UsageError, match="heldout"):
        cavi.fit(NMF, x=COUNTS, heldout={"x": 2})
    with pytest.raises(cavi.DataError, match="labels along dimension 1|size"):
        cavi.fit(NMF, x=COUNTS, labels={"row": ["a"]})


def test_frames_of_polars_are_those_of_pandas():
    polars = pytest.importorskip("polars", reason="polars has frames of its own")
    wide = polars.DataFrame({name: COUNTS[:, at] for at, name in enumerate("uvwxy")})
    fit = cavi.fit(NMF, x=wide, sweeps=5, tol=0, seed=2)
    assert fit.elbo == elbo(COUNTS) and fit.axis("column") == list("uvwxy")
    rows, columns = np.nonzero(COUNTS)
    entries = {"row": [f"r{own}" for own in rows], "column": [f"c{own}" for own in columns], "count": COUNTS[rows, columns]}
    long = [cavi.fit(NMF, x=frame(entries), sweeps=5, tol=0, seed=2) for frame in (pd.DataFrame, polars.DataFrame)]
    assert long[0].elbo == long[1].elbo and long[0].axis("row") == long[1].axis("row")
    with pytest.raises(cavi.DataError, match="expected a label"):
        cavi.fit(NMF, x=polars.DataFrame({"row": ["a", None], "column": ["u", "v"], "count": [1.0, 2.0]}))


def test_arrays_of_xarray_bring_their_labels():
    xarray = pytest.importorskip("xarray", reason="xarray has labelled arrays")
    given = xarray.DataArray(COUNTS, dims=("row", "column"), coords={"row": list("abcdefg")})
    fit = cavi.fit(NMF, x=given, sweeps=5, tol=0, seed=2)
    assert fit.elbo == elbo(COUNTS) and fit.axis("row") == list("abcdefg")
