"""Labels are those of a file of the same table, wherever they stand: in values, in an index of several levels, beside groups, in a list, in an answer."""

import datetime

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import cavi
from programs import RATINGS, SCHOOL

#: y = b r[at] with r = 1, 2, 3 at the labels 0, 1, 2, so that b is sum(r y) / (sum(r^2) + 1/100).
READ = """
axis person[n]
axis school[s]
const r[s]
data y[n] : real
data at[n] : index school
b ~ Normal(0, sd = 10)
y[n] ~ Normal(b * r[at[n]], sd = 1)
"""
Y = [10.0, 20.0, 30.0, 30.0]
AT = pd.Series([0, 1, 2, 2], name="at")
RIGHT = (10 + 40 + 90 + 90) / (1 + 4 + 9 + 9 + 0.01)
DAYS = "axis day[t]\ndata x[t] : real, absent = NA\nm[t] ~ Normal(0, sd = 10)\nx[t] ~ Normal(m[t], sd = 1)\n"


@pytest.mark.parametrize(
    "at",
    [AT, AT.astype("category"), AT.astype("Int64"), AT.astype(object), AT.astype(float), AT.to_frame(), AT.astype(str), pd.array(AT, dtype="Int64"), pd.Categorical(AT)],
    ids=["whole", "category", "Int64", "object", "float", "frame", "text", "array of pandas", "categorical"],
)
def test_values_of_a_series_are_labels(at):
    r = pd.Series([3.0, 1.0, 2.0], index=[2, 0, 1])
    assert cavi.fit(READ, y=Y, r=r, at=at)["b"].mean == pytest.approx(RIGHT)


@pytest.mark.parametrize("at", [AT.to_numpy(), AT.tolist()], ids=["array", "list"])
def test_values_of_an_array_are_positions(at):
    # The first label of r is 2, whose value is 3, so that r is 3, 1, 2 at the positions.
    r = pd.Series([3.0, 1.0, 2.0], index=[2, 0, 1])
    exact = (3 * 10 + 20 + 2 * 30 + 2 * 30) / (9 + 1 + 4 + 4 + 0.01)
    assert cavi.fit(READ, y=Y, r=r, at=at, labels={"school": ["2", "0", "1"]})["b"].mean == pytest.approx(exact)


@pytest.mark.parametrize("library", ["polars", "xarray"])
def test_values_of_other_libraries_are_labels(library):
    own = pytest.importorskip(library)
    at = own.Series(AT.to_numpy()) if library == "polars" else own.DataArray(AT.to_numpy(), dims="person")
    r = pd.Series([3.0, 1.0, 2.0], index=[2, 0, 1])
    assert cavi.fit(READ, y=Y, r=r, at=at)["b"].mean == pytest.approx(RIGHT)


def test_values_are_the_labels_of_their_file(tmp_path):
    program = "axis person[n]\naxis school[s]\ndata y[n] : real\ndata at[n] : index school\nm[s] ~ Normal(0, sd = 10)\ny[n] ~ Normal(m[at[n]], sd = 1)\n"
    for own in (pd.Series([10, 20, 20, 10], name="at"), pd.Series([1, 2, 1, 2], name="at") + 2**60):
        own.to_csv(tmp_path / "at.csv", index=False)
        fits = [cavi.fit(program, y=[0.0, 5.0, 5.0, 0.0], at=given) for given in (own, tmp_path / "at.csv")]
        assert fits[0].axis("school") == fits[1].axis("school") == sorted(map(str, own.unique()))
        assert fits[0].elbo == fits[1].elbo


# Levels of an index.


def ratings():
    random = np.random.default_rng(0)
    table = pd.DataFrame({"user": random.integers(100, 112, 60), "item": random.integers(500, 509, 60), "y": random.integers(1, 6, 60)})
    return table.drop_duplicates(["user", "item"]).reset_index(drop=True)


@pytest.mark.parametrize("names", [["user", "item"], ["person", "movie"], [None, None], ["user", None], [None, "item"], ["u", "i"]])
def test_levels_are_axes(names):
    table = ratings()
    series = table.set_index(["user", "item"])["y"].rename_axis(names)
    for own in (series, series.to_frame()):
        (line,) = cavi.read(RATINGS, y=own).splitlines()
        assert line.startswith("y: 12 user (100, ") and "9 item (500, " in line and f"sum {table['y'].sum()}" in line


def test_levels_that_are_called_like_axes_are_these_in_any_order():
    series = ratings().set_index(["user", "item"])["y"]
    assert cavi.read(RATINGS, y=series.swaplevel()) == cavi.read(RATINGS, y=series)
    columns = {"y": {"user": "b", "item": "a", "value": "y"}}
    assert cavi.read(RATINGS, y=series.swaplevel().rename_axis(["a", "b"]), columns=columns) == cavi.read(RATINGS, y=series)


def test_levels_that_are_no_axes_are_refused():
    wide = ratings().pivot(index="user", columns="item", values="y").fillna(0)
    rows = wide.set_axis(pd.MultiIndex.from_arrays([wide.index, np.arange(len(wide)) % 3], names=["a", "b"]))
    columns = wide.set_axis(pd.MultiIndex.from_arrays([wide.columns, np.arange(wide.shape[1]) % 3]), axis=1)
    for own in (rows, columns):
        with pytest.raises(cavi.DataError, match="2 levels"):
            cavi.read(RATINGS, y=own)
    case = "axis case[n]\ndata x[n] : real\nm ~ Normal(0, sd = 10)\nx[n] ~ Normal(m, sd = 1)\n"
    with pytest.raises(cavi.DataError, match="2 levels"):
        cavi.fit(case, x=pd.Series([1.0, 2.0], index=pd.MultiIndex.from_tuples([(1, 1), (1, 2)])))


def test_a_turned_frame_is_told_by_the_name_of_its_columns_alone():
    wide = ratings().pivot(index="user", columns="item", values="y").fillna(0)
    with pytest.warns(cavi.CaviWarning, match="transposed"):
        cavi.read(RATINGS, y=wide.T.rename_axis(index=None))


# Groups in a column.

SCHOOLS = """
axis school[s]
axis pupil[i] in school[s]
data x[s, i] : real
data y[s, i] : real
b ~ Normal(0, sd = 10)
y[s, i] ~ Normal(b * x[s, i], sd = 1)
"""
#: y = 3 x with x = 1, ..., 6.
SLOPE = 3 * 91 / 91.01


@pytest.mark.parametrize("level", [None, "pupil"])
def test_rows_of_groups_are_matched_by_their_index(level):
    names = pd.Index([f"p{place}" for place in range(6)], name=level)
    x = pd.DataFrame({"school": list("aaabbb"), "x": np.arange(1.0, 7.0)}, index=names)
    y = pd.DataFrame({"school": list("aaabbb"), "y": 3 * np.arange(1.0, 7.0)}, index=names).iloc[[2, 0, 1, 5, 4, 3]]
    fit = cavi.fit(SCHOOLS, x=x, y=y)
    assert fit["b"].mean == pytest.approx(SLOPE)
    assert fit.axis("pupil") == {"a": ["p0", "p1", "p2"], "b": ["p3", "p4", "p5"]}
    assert cavi.fit(SCHOOLS, x=x.set_index("school"), y=(3 * x[["x"]]).assign(school=x["school"]).set_index("school"))["b"].mean == pytest.approx(SLOPE)
    # An index that counts is no label.
    assert cavi.fit(SCHOOLS, x=x.reset_index(drop=True), y=(3 * x[["x"]]).assign(school=x["school"]).reset_index(drop=True))["b"].mean == pytest.approx(SLOPE)


@pytest.mark.parametrize("groups", ["column", "level", "index"])
def test_samples_of_views_in_a_table_are_matched_by_their_index(groups):
    program = """
axis sample[n]
axis view[m]
axis feature[j] in view[m]
data x[n, m, j] : real
a[n] ~ Normal(0, sd = 10)
x[n, m, j] ~ Normal(a[n], sd = 1)
"""
    table = pd.DataFrame({"view": list("aabb"), "f1": [1.0, 2, 2, 1], "f2": [1.0, 2, 2, 1]}, index=pd.Index(["s1", "s2", "s2", "s1"], name="sample"))
    if groups == "level":
        table = table.set_index("view", append=True)
    elif groups == "index":
        table = table.reset_index(drop=True).set_index("view")
        # Without labels the rows of a view are in the order of the samples.
        table = table.iloc[[0, 1, 3, 2]]
    found = cavi.fit(program, x=table)["a"].array
    # Four numbers for each sample under a prior of precision 1/100.
    np.testing.assert_allclose(found, [4 / 4.01, 8 / 4.01])


# One rule of labels.


@pytest.mark.parametrize(
    ("index", "label", "shown"),
    [
        (pd.date_range("2020-01-01", periods=3), pd.Timestamp("2020-01-02"), "2020-01-02"),
        (pd.date_range("2020-01-01", periods=3), datetime.date(2020, 1, 2), "2020-01-02"),
        (pd.date_range("2020-01-01", periods=3), np.datetime64("2020-01-02"), "2020-01-02"),
        (pd.date_range("2020-01-01", periods=3, freq="12h"), pd.Timestamp("2020-01-01 12:00"), "2020-01-01 12:00:00"),
        (pd.date_range("2020-01-01", periods=3, freq="12h"), pd.Timestamp("2020-01-02"), "2020-01-02 00:00:00"),
        (pd.Index([10.0, 20.0, 30.0]), 20.0, "20"),
        (pd.Index([10, 20, 30]), np.int64(20), "20"),
        (pd.Index(["a ", "b", "c"]), "a ", "a"),
        (pd.Index([b"a", b"b", b"c"]), b"b", "b"),
    ],
)
def test_a_label_is_the_same_in_an_index_a_list_and_a_question(index, label, shown):
    fit = cavi.fit(DAYS, x=pd.Series([1.0, 2.0, np.nan], index=index))
    assert cavi.fit(DAYS, x=pd.Series([1.0, 2.0, np.nan], index=index), labels={"day": index}).elbo == fit.elbo
    assert cavi.fit(DAYS, x=pd.Series([1.0, 2.0, np.nan], index=index), labels={"day": list(index)}).axis("day") == fit.axis("day")
    assert fit.impute("x", all=True, only={"day": label})["day"].tolist() == [shown]
    assert len(fit.impute("x", all=True, only={"day": [label]})) == 1


def test_groups_and_words_of_bytes_are_texts():
    x = {1.0: [1.0, 2.0, 3.0], 2.0: [4.0, 5.0, 6.0]}
    y = pd.DataFrame({"school": [1.0, 1.0, 1.0, 2.0, 2.0, 2.0], "y": 3 * np.arange(1.0, 7.0)})
    assert cavi.fit(SCHOOLS, x=x, y=y)["b"].mean == pytest.approx(SLOPE)
    r = pd.Series([1.0, 2.0, 3.0], index=list("abc"))
    assert cavi.fit(READ, y=Y, r=r, at=np.array([b"a", b"b", b"c", b"c"]))["b"].mean == pytest.approx(RIGHT)
    with pytest.raises(cavi.DataError, match="UTF-8"):
        cavi.fit(READ, y=Y, r=r, at=np.array([b"\xff", b"b", b"c", b"c"]))


@pytest.mark.parametrize("absent", [None, np.nan, pd.NaT])
def test_an_index_without_a_label_is_refused(absent):
    index = pd.Index([absent, "b", "c"], dtype=object)
    with pytest.raises(cavi.DataError, match="position 0"):
        cavi.fit(DAYS, x=pd.Series([1.0, 2.0, 3.0], index=index))


# Labels in answers stay labels.


def test_labels_that_look_like_numbers_are_labels_in_answers():
    program = SCHOOL.replace("school", "value")
    at = np.array(["01", "02", None, "02"], dtype=object)
    fit = cavi.fit(program, y=pd.Series([0.0, 5.0, 0.0, 5.0], index=list("pqrs")), at=pd.Series(at, index=list("pqrs")), seed=1)
    table = fit.impute("at", all=True)
    assert table["value"].tolist() == ["01", "02", None, "02"]
    assert set(table["class"]) <= {"01", "02"} and table["prob"].between(0, 1).all()
    # An axis may have the name of a column of numbers.
    rates = "axis value[v]\naxis mean[m]\ndata x[v, m] : real, absent = NA\nb ~ Normal(0, sd = 10)\nx[v, m] ~ Normal(b, sd = 1)\n"
    table = cavi.fit(rates, x=pd.DataFrame([[1.0, 2.0], [np.nan, 3.0]], index=["007", "1e5"], columns=["nan", "x"])).impute("x")
    assert table.iloc[0, :2].tolist() == ["1e5", "nan"] and table.iloc[0, 2] == pytest.approx(6 / 3.01)


def test_labels_of_draws_are_labels():
    program = """
axis doc[d]
axis token[t] in doc[d]
axis word[v]
data w[d, t] : index word
pi[:v] ~ Dirichlet(1)
w[d, t] ~ Categorical(pi)
"""
    labels = ["007", "1e5", "inf", "x"]
    drawn = cavi.simulate(program, doc=3, token=8, labels={"word": labels}, seed=1)
    table = drawn.data["w"]
    assert set(table.iloc[:, -1]) <= set(labels)
    assert cavi.fit(program, drawn.data, labels={"word": labels}).axis("word") == labels


# What the page says is taken.


def test_every_format_of_scipy_is_taken():
    table = ratings().pivot(index="user", columns="item", values="y").fillna(0).to_numpy()
    for kind in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil"):
        for form in ("array", "matrix"):
            assert "44 entries, 64 zeros" in cavi.read(RATINGS, y=getattr(sparse, f"{kind}_{form}")(table)), kind
    one = "axis n[i]\ndata x[i] : count, absent = 0\nr ~ Gamma(1, rate = 1)\nx[i] ~ Poisson(r)\n"
    # The posterior is Gamma(1 + 4, 1 + 3).
    assert cavi.fit(one, x=sparse.coo_array(np.array([1, 0, 3])))["r"].mean == pytest.approx(5 / 4)
    with pytest.raises(cavi.DataError, match="3 dimensions"):
        cavi.read(RATINGS, y=sparse.coo_array(np.ones((2, 3, 4))))
    wide = sparse.coo_array(([1.0, 2.0], ([0, 1], np.array([5, 2**32 + 5], dtype=np.int64))), shape=(2, 2**33))
    with pytest.raises(cavi.DataError, match="sizes below"):
        cavi.read(RATINGS, y=wide)


def test_small_mistakes_are_told():
    fit = cavi.fit(RATINGS, y=ratings(), sweeps=3, seed=1)
    assert len(fit.recommend([])) == 0
    with pytest.raises(cavi.UsageError, match="seed"):
        cavi.fit(RATINGS, y=ratings(), seed=float("nan"))
