"""A number, a truth value, a day or a duration is one label, wherever it stands; and what is missing is missing everywhere."""

import datetime
import io

import numpy as np
import pandas as pd
import pytest
from programs import SCHOOL

import cavi

#: By conjugacy the mean of a dose is (1 + all that was counted) / (1 + the number of counts).
DOSES = """
axis dose[d]
axis rep[r]
data n[d, r] : count, absent = 0
data m[d, r] : count, absent = 0
a[d] ~ Gamma(1, rate = 1)
n[d, r] ~ Poisson(a[d])
m[d, r] ~ Poisson(a[d])
"""


def table(doses):
    return pd.DataFrame({"dose": doses, "rep": ["a", "b", "a"], "value": [50, 60, 3]})


def wide(long):
    return long.pivot(index="dose", columns="rep", values="value").fillna(0)


@pytest.mark.parametrize(
    ("doses", "labels"),
    [
        ([1e-5, 1e-5, 1.0], ["1e-5", "1"]),
        ([1e16, 1e16, 2.5], ["1e16", "2.5"]),
        ([-2.5e-7, -2.5e-7, 1e300], ["-2.5e-7", "1e300"]),
        ([0.1, 0.1, 1e5], ["0.1", "100000"]),
        (np.array([0.5, 0.5, 2.0], dtype="f4"), ["0.5", "2"]),
        ([True, True, False], ["True", "False"]),
        (pd.array([True, True, False], dtype="boolean"), ["True", "False"]),
        (pd.to_timedelta(["1 days", "1 days", "36h"]), ["1 days 00:00:00", "1 days 12:00:00"]),
    ],
    ids=["small", "large", "negative", "plain", "single", "truth", "nullable truth", "durations"],
)
def test_labels_in_a_column_are_those_in_an_index(doses, labels):
    long = table(doses)
    exact = {labels[0]: (1 + 2 * 110) / 5, labels[1]: (1 + 2 * 3) / 5}
    lists = [long["dose"].astype(object).unique(), long["dose"].unique(), list(dict.fromkeys(long["dose"].tolist()))]
    for given in ({"n": long, "m": wide(long)}, {"n": long, "m": long}, {"n": wide(long), "m": wide(long)}):
        fit = cavi.fit(DOSES, given, seed=0)
        assert fit["a"].mean.to_dict() == pytest.approx(exact)
        # A question has the label as the data had it.
        asked = fit.impute("n", all=True, only={"dose": long["dose"].iloc[0]}, draws=0)
        assert set(asked["dose"]) == {labels[0]}
    for own in lists:
        assert sorted(cavi.fit(DOSES, n=long, m=long, labels={"dose": own}).axis("dose")) == sorted(labels)


def test_labels_that_are_numbers_are_those_of_a_file(tmp_path):
    long = table([2.5, 2.5, 100000.0])
    long.to_csv(tmp_path / "n.csv", index=False)
    fit = cavi.fit(DOSES, n=tmp_path / "n.csv", m=wide(long), seed=0)
    assert fit["a"].mean.to_dict() == pytest.approx({"2.5": 44.2, "100000": 1.4})


def test_truth_values_stay_numbers_where_numbers_stand():
    program = "axis row[n]\naxis col[j]\ndata y[n, j] : binary, absent = NA\np[n] ~ Beta(1, 1)\ny[n, j] ~ Bernoulli(p[n])\n"
    long = pd.DataFrame({"row": list("aabb"), "col": list("xyxy"), "y": [True, True, False, True]})
    for own in (long, long.pivot(index="row", columns="col", values="y")):
        assert cavi.fit(program, y=own)["p"].mean.to_dict() == pytest.approx({"a": 3 / 4, "b": 2 / 4})
    single = "axis row[n]\ndata y[n] : binary\np ~ Beta(1, 1)\ny[n] ~ Bernoulli(p)\n"
    for own in (long["y"], long[["y"]], long["y"].to_numpy()):
        assert cavi.fit(single, y=own)["p"].mean == pytest.approx(4 / 6)


@pytest.mark.parametrize("form", [lambda own: own, lambda own: own.to_frame("at"), lambda own: own.astype(object), lambda own: own.rename("at").reset_index(drop=True)])
def test_truth_values_are_the_same_classes_in_a_series_and_in_a_frame(form):
    fit = cavi.fit(SCHOOL, y=[1.0, 2.0, 3.0], at=form(pd.Series([True, False, True])), seed=0)
    assert fit.axis("school") == ["True", "False"]


def test_a_duration_that_is_missing_is_missing():
    durations = pd.Series(pd.to_timedelta([1, 2, None], unit="D"))
    for own in (durations, durations.to_frame("at"), durations.to_numpy()):
        fit = cavi.fit(SCHOOL, y=[1.0, 2.0, 3.0], at=own, seed=0)
        assert fit.axis("school") == ["1 days", "2 days"]
    rows = pd.Series([1.0, 2.0], index=pd.to_timedelta(["1 days", "2 days"]))
    fit = cavi.fit("axis row[n]\ndata x[n] : real\nm[n] ~ Normal(0, sd = 1)\nx[n] ~ Normal(m[n], sd = 1)\n", x=rows)
    assert fit.axis("row") == ["1 days", "2 days"]
    with pytest.raises(cavi.DataError, match="NaT"):
        cavi.fit("axis row[n]\ndata x[n] : real\nm[n] ~ Normal(0, sd = 1)\nx[n] ~ Normal(m[n], sd = 1)\n", x=rows.set_axis(durations[1:].tolist()))


@pytest.mark.parametrize("word", ["NA", "", "nan", "NaN", "na", " NA "])
def test_words_for_nothing_are_missing_wherever_classes_stand(word, tmp_path):
    series = pd.Series([word, "a", "b", "a"])
    series.rename("at").to_csv(tmp_path / "at.csv", index=False, na_rep="NA")
    forms = [series, series.to_frame("at"), series.tolist(), series.to_numpy(), series.to_numpy(dtype="U4"), series.astype("category"), tmp_path / "at.csv"]
    fits = [cavi.fit(SCHOOL, y=[1.0, 2.0, 3.0, 2.5], at=own, seed=0) for own in forms]
    for fit in fits:
        assert fit.axis("school") == ["a", "b"]
        assert fit.elbo == fits[0].elbo
    with pytest.raises(cavi.CaviError, match="missing"):
        cavi.fit(SCHOOL.replace(", absent = NA", ""), y=[1.0, 2.0, 3.0, 2.5], at=series)


@pytest.mark.parametrize(
    "given",
    [["1 days", "2 days"], ["1 days 02:00:00", "2 days"], ["-1 days", "3 days 00:00:00.5"], ["1ns", "2 days"], ["-1 days 3h", "1us"]],
)
def test_durations_are_spelled_as_pandas_writes_them(given):
    durations = pd.Series(pd.to_timedelta(given))
    file = io.StringIO()
    durations.to_csv(file, index=False, header=False)
    assert cavi._data._texts(durations) == file.getvalue().splitlines()


def test_a_duration_in_a_question_is_that_of_the_axis():
    rows = pd.DataFrame([[1.0, 2], [3, 4]], index=pd.to_timedelta(["1 days", "36h"]), columns=["p", "q"])
    fit = cavi.fit("axis row[n]\naxis col[j]\ndata x[n, j] : real\nm[n] ~ Normal(0, sd = 1)\nx[n, j] ~ Normal(m[n], sd = 1)\n", x=rows)
    for own in (rows.index[0], datetime.timedelta(days=1), np.timedelta64(1, "D"), "1 days 00:00:00"):
        assert set(fit.impute("x", all=True, only={"row": own}, draws=0)["row"]) == {"1 days 00:00:00"}
