"""A frame is read as the file that pandas would write of it: labels, columns of axes, what is missing, what stands twice."""

import warnings

import numpy as np
import pandas as pd
import pytest

import cavi
from programs import RATINGS, SCHOOL

LINE = """
axis case[n]
data x[n] : real
data y[n] : real
b ~ Normal(0, sd = 10)
y[n] ~ Normal(b * x[n], sd = 1)
"""
X = pd.Series([1.0, 2.0, 3.0])
#: The posterior mean of b where y = 3 x: 3 * 14 / (14 + 1 / 100).
EXACT = 42 / 14.01


def quietly(call):
    """What a call gives, and the warnings of Cavi that it gave."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        answer = call()
    return answer, [str(own.message) for own in found if issubclass(own.category, cavi.CaviWarning)]


def slope(x, y):
    fit, told = quietly(lambda: cavi.fit(LINE, x=x, y=y))
    return fit["b"].mean, told


# Rows are matched by the numbers of an index, whichever of two frames has them in order.


@pytest.mark.parametrize("order", [[2, 1, 0], [1, 2, 0]])
def test_an_index_that_counts_is_matched_by_number(order):
    y = (3 * X).iloc[order]
    assert slope(X, y)[0] == pytest.approx(EXACT)
    assert slope(X.iloc[order], 3 * X)[0] == pytest.approx(EXACT)
    assert slope(X, y) == slope(X.iloc[order], (3 * X).iloc[order]) == slope(X, 3 * X)


def test_a_constant_and_a_file_are_matched_by_number(tmp_path):
    program = "axis case[n]\nconst x[n]\ndata y[n] : real\nb ~ Normal(0, sd = 10)\ny[n] ~ Normal(b * x[n], sd = 1)\n"
    assert cavi.fit(program, y=3 * X, x=X[::-1])["b"].mean == pytest.approx(EXACT)
    (3 * X)[::-1].rename("y").rename_axis("case").to_csv(tmp_path / "y.csv")
    assert cavi.fit(LINE, x=X, y=tmp_path / "y.csv")["b"].mean == pytest.approx(EXACT)


def test_an_index_that_counts_beside_labels_is_by_order_and_said():
    y = (3 * X).set_axis(["p", "q", "r"])
    found, told = slope(X, y)
    assert found == pytest.approx(EXACT)
    assert any("same order" in own and "`case`" in own for own in told)
    assert not any("same order" in own for own in slope(X.to_numpy(), y)[1])


def test_columns_in_another_order_are_transformed_by_name():
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 5)))
    fit = cavi.fit("ppca", x=table[[4, 3, 2, 1, 0]], factor=2, sweeps=20, seed=1)
    own = fit.transform(x=table[[4, 3, 2, 1, 0]], axis="sample")["z"].array
    np.testing.assert_allclose(fit.transform(x=table, axis="sample")["z"].array, own)


def test_views_in_another_order_are_matched():
    random = np.random.default_rng(0)
    one = pd.DataFrame(random.normal(size=(30, 4)), columns=list("uvwx"))
    other = pd.DataFrame(one.to_numpy() @ random.normal(size=(4, 5)), columns=list("abcde"))
    of = lambda own: cavi.fit("gfa", x={"a": one, "b": own}, factor=3, sweeps=20, tol=0, seed=1).elbo  # noqa: E731
    assert of(other) == pytest.approx(of(other.sample(frac=1, random_state=0)), rel=1e-12)


# Columns are those of axes by the rules of a file.


def ratings():
    random = np.random.default_rng(0)
    table = pd.DataFrame({"user": random.integers(100, 112, 60), "item": random.integers(500, 509, 60), "y": random.integers(1, 6, 60)})
    return table.drop_duplicates(["user", "item"]).reset_index(drop=True)


def either(table, path, columns=None):
    """What is understood of a frame and of its file; the message without its place where it is refused."""
    found = []
    table.to_csv(path, index=False)
    for given in (table, path):
        try:
            fit = quietly(lambda: cavi.fit(RATINGS, y=given, sweeps=3, tol=0, seed=1, columns=columns))[0]
            found.append((fit.understood, fit.elbo, fit.axis("user"), fit.axis("item")))
        except cavi.DataError as error:
            found.append(str(error).partition("found ")[2])
    return found


@pytest.mark.parametrize(
    ("names", "more"),
    [
        (["user", "item", "y"], {}),
        (["user_id", "item_id", "rating"], {}),
        (["userId", "itemId", "rating"], {}),
        (["User", "Item", "rating"], {}),
        (["user", "movie", "rating"], {}),
        (["user", "item", "y"], {"time": 1}),
        (["user", "item", "rating"], {"time": 1}),
        (["a", "b", "c"], {}),
    ],
)
def test_a_frame_is_read_as_its_file(names, more, tmp_path):
    table = ratings().set_axis(names, axis=1).assign(**more)
    by_frame, by_file = either(table, tmp_path / "y.csv")
    assert by_frame == by_file
    # In another index it is the same.
    assert either(table.reset_index(drop=True), tmp_path / "y.csv")[0] == by_frame


def test_the_rules_read_ids_and_refuse_near_names(tmp_path):
    table = ratings()
    by_name = either(table, tmp_path / "y.csv")[0]
    by_id = either(table.set_axis(["user_id", "item_id", "rating"], axis=1), tmp_path / "y.csv")[0]
    assert by_id[1:] == by_name[1:]
    near = either(table.set_axis(["User", "Item", "rating"], axis=1), tmp_path / "y.csv")[0]
    assert isinstance(near, str) and "User" in near
    columns = {"y": {"user": "User", "item": "Item", "value": "rating"}}
    named = either(table.set_axis(["User", "Item", "rating"], axis=1), tmp_path / "y.csv", columns)
    assert named[0] == named[1] and named[0][1:] == by_name[1:]
    text = quietly(lambda: cavi.fit(RATINGS, y=table.set_axis(["p", "q", "r"], axis=1), columns={"y": "user:p,item:q,value:r"}, sweeps=3, tol=0, seed=1))[0]
    assert text.elbo == by_name[1]


def test_columns_of_an_array_without_columns_are_refused():
    with pytest.raises(cavi.CaviError, match="columns"):
        cavi.fit(RATINGS, y=np.ones((3, 2)), columns={"y": {"user": "a", "item": "b", "value": "c"}})


def test_the_axes_of_an_index_are_its_own(tmp_path):
    table = ratings()
    by_name = either(table, tmp_path / "y.csv")[0]
    series = table.set_index(["user", "item"])["y"]
    assert cavi.fit(RATINGS, y=series, sweeps=3, tol=0, seed=1).elbo == by_name[1]
    assert cavi.fit(RATINGS, y=table.set_index("user"), sweeps=3, tol=0, seed=1).elbo == by_name[1]


def test_whole_numbers_as_text_are_in_the_order_of_a_file(tmp_path):
    table = ratings().iloc[::-1].astype({"user": str, "item": float})
    by_frame, by_file = either(table, tmp_path / "y.csv")
    assert by_frame[2] == by_file[2] == sorted(by_file[2], key=int)
    assert by_frame[3] == ratings()["item"].sort_values().astype(str).drop_duplicates().tolist()


def test_dates_and_numbers_are_the_same_labels_in_an_index_and_in_a_column():
    program = """
axis day[t]
axis shop[s]
data x[t] : real, absent = NA
data y[t, s] : real, absent = NA
m ~ Normal(0, sd = 10)
b ~ Normal(0, sd = 10)
x[t] ~ Normal(m, sd = 1)
y[t, s] ~ Normal(b, sd = 1)
"""
    for days, shown in [(pd.date_range("2020-01-01", periods=3), "2020-01-01"), (pd.Index([10.0, 20.0, 30.0]), "10")]:
        x = pd.Series([1.0, 2.0, 3.0], index=days)
        y = pd.DataFrame({"day": days, "shop": ["a", "b", "a"], "y": [1.0, 2.0, 3.0]})
        axis = cavi.fit(program, x=x, y=y, sweeps=2).axis("day")
        assert len(axis) == 3 and axis[0] == shown


def test_a_frame_that_is_turned_is_told_and_dims_are_names():
    xarray = pytest.importorskip("xarray")
    counts = np.random.default_rng(0).poisson(2.0, size=(4, 3)).astype(float)
    users, items = list("abcd"), list("xyz")
    turned = pd.DataFrame(counts.T, index=pd.Index(items, name="item"), columns=pd.Index(users, name="user"))
    assert any("transposed" in own for own in quietly(lambda: cavi.fit(RATINGS, y=turned, sweeps=2))[1])
    array = xarray.DataArray(counts.T, dims=("item", "user"), coords={"item": items, "user": users})
    fit = cavi.fit(RATINGS, y=array, sweeps=2)
    assert fit.axis("user") == users and fit.axis("item") == items


# Labels, what is missing, and what stands twice.


@pytest.mark.parametrize("label", ["New\nYork", "", "a\rb"])
def test_labels_that_cannot_be_read_again_are_refused(label):
    table = pd.DataFrame(np.ones((3, 2)), index=["a", label, "c"], columns=["u", "v"])
    with pytest.raises(cavi.DataError, match="label"):
        cavi.fit(RATINGS, y=table)


def test_labels_with_other_separators_are_read_again():
    labels = ["a", "b\u2028c", "g\x0bh", "i\x85j"]
    fit = cavi.fit(RATINGS, y=pd.DataFrame(np.ones((4, 2)), index=labels, columns=["u", "v"]), sweeps=2)
    assert fit.axis("user") == labels == list(fit["w"].mean.index)


@pytest.mark.parametrize(
    "at",
    [
        np.ma.masked_array(["a", "b", "b", "b"], mask=[0, 0, 1, 0]),
        pd.Series(["a", "b", pd.NA, "b"], dtype="string"),
        pd.Series(["a", "b", pd.NA, "b"], dtype=object),
        pd.Series(["a", "b", None, "b"], dtype="category"),
    ],
    ids=["mask", "string", "object", "category"],
)
def test_a_missing_word_is_missing(at):
    y = [0.0, 5.0, 0.0, 5.0]
    reference = cavi.fit(SCHOOL, y=y, at=np.array(["a", "b", None, "b"], dtype=object), seed=1, sweeps=20)
    fit = cavi.fit(SCHOOL, y=y, at=at, seed=1, sweeps=20)
    assert fit.elbo == reference.elbo and fit["m"].mean.tolist() == reference["m"].mean.tolist()


@pytest.mark.parametrize(
    "x",
    [
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([1, None, 3], dtype="Float64"),
        pd.Series([1, pd.NA, 3], dtype=object),
        np.ma.masked_array([1, 7, 3], mask=[0, 1, 0]),
        np.ma.masked_array([1, "?", 3], mask=[0, 1, 0], dtype=object),
    ],
    ids=["Int64", "Float64", "object", "mask", "masked objects"],
)
def test_a_missing_number_is_missing(x):
    program = "axis n[i]\ndata x[i] : real, absent = NA\nm ~ Normal(0, sd = 10)\nx[i] ~ Normal(m, sd = 1)\n"
    assert cavi.fit(program, x=x)["m"].mean == pytest.approx(4 / 2.01)


def test_a_frame_of_numbers_with_one_missing():
    table = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": pd.array([1, 2, 3], dtype="Int64")})
    program = "axis r[i]\naxis c[j]\ndata x[i, j] : real, absent = NA\nm ~ Normal(0, sd = 10)\nx[i, j] ~ Normal(m, sd = 1)\n"
    assert cavi.fit(program, x=table)["m"].mean == pytest.approx(10 / 5.01)


def test_a_row_that_stands_twice_is_refused_as_of_a_file(tmp_path):
    program = SCHOOL.replace("pi[:s] ~ Dirichlet(1)\nat[n] ~ Categorical(pi)\n", "").replace(", absent = NA", "")
    at = pd.DataFrame({"person": ["p", "q", "q"], "school": ["a", "a", "b"]})
    at.to_csv(tmp_path / "at.csv", index=False)
    for given in (at, tmp_path / "at.csv"):
        with pytest.raises(cavi.DataError, match="every entry once"):
            cavi.fit(program, y=pd.Series([1.0, 5.0], index=["p", "q"]), at=given)


def test_a_frame_of_one_column_is_a_vector():
    program = "axis case[n]\ndata x[n] : real\nm ~ Normal(0, sd = 10)\nx[n] ~ Normal(m, sd = 1)\n"
    assert cavi.fit(program, x=pd.DataFrame({"x": [1.0, 3.0]}))["m"].mean == pytest.approx(4 / 2.01)


def test_groups_are_in_the_order_in_which_they_are_given(tmp_path):
    random = np.random.default_rng(1)
    np.save(tmp_path / "b.npy", random.normal(size=(20, 4)))
    views = {"z": random.normal(size=(20, 6)), "b": tmp_path / "b.npy", "rna/raw": random.normal(size=(20, 5))}
    fit = cavi.fit("gfa", x=views, factor=3, sweeps=5, seed=1)
    assert list(fit["w"].array) == list(fit.array("w.mean")) == list(fit.axis("feature")) == list(views)


def test_parts_of_nested_groups_are_there():
    program = """model schools
axis school[s]
axis class[c] in school[s]
axis pupil[i] in class[c]
data y[s, c, i] : real
mu[s, c, i] ~ Normal(0, sd = 1)
y[s, c, i] ~ Normal(mu[s, c, i], sd = 1)
"""
    table = pd.DataFrame({"school": ["b", "b", "a", "a"], "class": ["1", "2", "1", "2"], "pupil": ["p1", "p2", "p3", "p4"], "y": [0.5, 1.5, -0.5, 2.0]})
    fit = cavi.fit(program, y=table, sweeps=3)
    means = fit.array("mu.mean")
    assert list(means) == list(fit["mu"].array) == list(fit.axis("pupil"))
    assert {group: own.tolist() for group, own in means.items()} == {group: own.tolist() for group, own in fit["mu"].array.items()}
    assert sorted(means) == ["a/1", "a/2", "b/1", "b/2"] and fit.axis("pupil")["a/1"] == ["p3"]
