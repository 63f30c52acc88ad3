"""How sure a fit is: the answers are those of the command line, for data in files and in memory."""

import json
import pickle
import signal
import threading
import time
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
import xarray
from test_fit import command

import cavi

RANDOM = np.random.default_rng(8)

REGRESSION = """model regression
axis case[n]
axis feature[p]
data y[n] : real
data x[n, p] : real
b[p] ~ Normal(0, sd = 10)
tau ~ Gamma(1, rate = 1)
mean[n] = sum[p](x[n, p] * b[p])
y[n] ~ Normal(mean[n], prec = tau)
"""

RAGGED = """model views
axis view[m]
axis sample[n]
axis feature[j] in view[m]
data x[m, n, j] : real
w[m, j] ~ Normal(0, sd = 1)
z[n] ~ Normal(0, sd = 1)
x[m, n, j] ~ Normal(z[n] * w[m, j], sd = 0.5)
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A regression as files, with its program."""
    folder = tmp_path_factory.mktemp("regression")
    features = pd.DataFrame(RANDOM.normal(size=(40, 3)), columns=["age", "dose", "weight"])
    features.index = [f"c{own}" for own in range(40)]
    outcome = features @ [1.0, -2.0, 0.0] + RANDOM.normal(size=40)
    features.to_csv(folder / "x.csv")
    outcome.rename("y").to_csv(folder / "y.csv", index_label="case")
    (folder / "model.cavi").write_text(REGRESSION)
    data = ["--data", f"x={folder / 'x.csv'}", "--data", f"y={folder / 'y.csv'}"]
    command("fit", folder / "model.cavi", *data, "--tol", 1e-12, "--sweeps", 500, "--seed", 1, "--quiet", "--out", folder / "fit")
    return folder, features, outcome


@pytest.fixture(scope="module")
def fitted(files):
    _, features, outcome = files
    return cavi.fit(REGRESSION, x=features, y=outcome, tol=1e-12, sweeps=500, seed=1)


def test_draws_are_those_of_the_command_line(files, fitted):
    folder, features, _ = files
    command("sample", folder / "fit", "--draws", 50, "--seed", 3, "--quiet", "--force")
    drawn = fitted.sample(draws=50, seed=3)
    assert set(drawn) == {"b", "tau", "mean"}
    for name, own in drawn.items():
        np.testing.assert_array_equal(np.asarray(own), np.load(folder / "fit/sample" / f"{name}.npy"))
    np.testing.assert_allclose(np.asarray(drawn["mean"]), np.asarray(drawn["b"]) @ features.to_numpy().T, rtol=1e-12)
    one = fitted["b"].sample(50, seed=3)
    np.testing.assert_array_equal(np.asarray(one), np.asarray(fitted.sample("b", draws=50, seed=3)))
    assert one.shape == (50, 3)
    with pytest.raises(cavi.CaviError, match="beta"):
        fitted.sample("beta")
    with pytest.raises(cavi.CaviError, match="no draw"):
        fitted.sample(draws=0)


def test_draws_have_labels(fitted):
    drawn = fitted.sample("b", draws=7)
    assert isinstance(drawn, xarray.DataArray) and drawn.dims == ("draw", "feature")
    assert drawn.sel(feature="dose").shape == (7,)


def test_ragged_draws_have_groups_and_classes_are_positions():
    views = {"rna": RANDOM.normal(size=(6, 4)), "protein": RANDOM.normal(size=(6, 2))}
    fit = cavi.fit(RAGGED, x=views, sweeps=5, seed=1)
    drawn = fit.sample(draws=9)
    assert {name: own.shape for name, own in drawn["w"].items()} == {"rna": (9, 4), "protein": (9, 2)}
    mixture = cavi.fit("gmm", **{next(iter(cavi.compile("gmm").data)): RANDOM.normal(size=(20, 2))}, set={"cluster": 3}, sweeps=5, seed=1)
    classes = next(own for own in mixture.sample(draws=4).values() if np.issubdtype(np.asarray(own).dtype, np.integer))
    assert set(np.unique(classes)) <= {0, 1, 2}


def test_draws_go_to_arviz(fitted):
    posterior = fitted.to_arviz(draws=30, seed=2).posterior
    assert posterior["b"].shape == (1, 30, 3) and "R-hat" in posterior.attrs["what"]
    np.testing.assert_array_equal(posterior["b"].to_numpy()[0], np.asarray(fitted.sample("b", draws=30, seed=2)))
    fit = cavi.fit(RAGGED, x={"rna": RANDOM.normal(size=(6, 4)), "protein": RANDOM.normal(size=(6, 2))}, sweeps=5, seed=1)
    posterior = fit.to_arviz(draws=5).posterior
    assert posterior["w[rna]"].shape == (1, 5, 4) and posterior["w[protein]"].shape == (1, 5, 2)


def test_axes_may_have_the_names_of_dimensions_of_arviz():
    text = REGRESSION.replace("axis case", "axis draw").replace("axis feature", "axis chain")
    features = RANDOM.normal(size=(12, 3))
    fit = cavi.fit(text, x=features, y=features @ [1.0, -2.0, 0.0], sweeps=5, seed=1)
    drawn = fit.sample(draws=7, seed=2)
    assert drawn["mean"].dims == ("draw_", "draw") and drawn["b"].dims == ("draw", "chain")
    posterior = fit.to_arviz(draws=7, seed=2).posterior
    assert posterior["mean"].dims == ("chain", "draw", "draw_axis") and posterior["b"].dims == ("chain", "draw", "chain_axis")
    np.testing.assert_array_equal(posterior["mean"].to_numpy()[0], drawn["mean"].to_numpy())


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({}, []),
        ({"linear_response": True}, ["--linear-response"]),
        ({"bootstrap": 12, "seed": 4, "threads": 2}, ["--bootstrap", 12, "--seed", 4]),
        ({"bootstrap": 12, "rows": "case", "form": "basic"}, ["--bootstrap", 12, "--rows", "case", "--form", "basic"]),
    ],
)
def test_intervals_are_those_of_the_command_line(files, fitted, options, arguments, tmp_path):
    folder, _, _ = files
    command("intervals", folder / "fit", "b", "--level", 0.8, *arguments, "--quiet", "--out", tmp_path / "b.csv")
    with nullcontext() if options else pytest.warns(cavi.CaviWarning, match="narrower"):
        ours = fitted.intervals("b", level=0.8, **options)
    pd.testing.assert_frame_equal(ours, pd.read_csv(tmp_path / "b.csv"))
    assert "80 % intervals" in ours.attrs["what"]


def test_intervals_refuse_what_is_no_question(fitted):
    for options, word in [
        ({"level": 90}, "level"),
        ({"bootstrap": 1}, "at least 2"),
        ({"bootstrap": 5, "sweeps": 0}, "sweeps=0"),
        ({"bootstrap": 5, "tol": -1.0}, "tol=-1"),
        ({"bootstrap": 5, "linear_response": True}, "two methods"),
        ({"rows": "case"}, "bootstrap"),
        ({"bootstrap": 5, "form": "bca"}, "bca"),
        ({"bootstrap": 5, "rows": "cases"}, "cases"),
        ({"of": "beta"}, "beta"),
    ]:
        with pytest.raises(cavi.CaviError, match=word):
            fitted.intervals(**options)
    # The quantiles of q need no data; a bootstrap does.
    copied = pickle.loads(pickle.dumps(fitted))
    assert set(copied.intervals()) == {"b", "tau"}
    with pytest.raises(cavi.CaviError, match="does not say which files"):
        copied.intervals(bootstrap=5)


def test_a_bootstrap_is_interrupted(fitted):
    threading.Timer(1.0, lambda: signal.raise_signal(signal.SIGINT)).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        fitted.intervals(bootstrap=10_000_000, threads=1)
    assert time.monotonic() - begun < 30


def test_importance_weights_are_interrupted(fitted):
    threading.Timer(1.0, lambda: signal.raise_signal(signal.SIGINT)).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        fitted.check_fit(draws=20, k_hat=10_000_000, threads=1)
    assert time.monotonic() - begun < 30


def test_a_fit_is_checked_as_by_the_command_line(files, fitted):
    folder, _, _ = files
    told = json.loads(command("check-fit", folder / "fit", "--draws", 30, "--k-hat", 200, "--seed", 2, "--json"))
    ours = fitted.check_fit(draws=30, k_hat=200, seed=2)
    assert ours._answer == told
    assert ours.table["p"].between(0, 1).all() and ours.k_hat == told["q"]["k_hat"] and ours.q == told["q"]["words"]
    assert "30 replicates" in repr(ours)
    picked = fitted.check_fit(stat="max", draws=20, k_hat=25)
    assert picked.table["statistic"].tolist() == ["max"]
    for options, word in [({"stat": "maximum"}, "maximum"), ({"draws": 3}, "too few"), ({"k_hat": 3}, "too few"), ({"by": "gene"}, "gene")]:
        with pytest.raises(cavi.CaviError, match=word):
            fitted.check_fit(**options)


def test_a_wrong_model_is_found():
    # Half of the counts are zeros that no Poisson rate has.
    text = """model counts
axis case[n]
data y[n] : count
rate ~ Gamma(1, rate = 1)
y[n] ~ Poisson(rate)
"""
    counts = RANDOM.poisson(8.0, size=200) * RANDOM.integers(0, 2, size=200)
    found = cavi.fit(text, y=counts.astype(float)).check_fit(seed=1)
    assert "zeros" in " ".join(found.verdicts) and "beyond all" in repr(found)


def test_plots_are_files(fitted, files, tmp_path):
    drawn = fitted.plots()
    assert all(name.endswith(".svg") and own.startswith("<svg") for name, own in drawn.items()) and drawn
    written = fitted.plots(tmp_path / "plots", ["svg", "png", "pdf"], width=174)
    heads = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF"}
    assert {own.suffix for own in written} == set(heads)
    assert all(own.read_bytes().startswith(heads[own.suffix]) for own in written)
    for options, word in [({"kind": "jpg"}, "jpg"), ({"width": 3}, "width"), ({"by": {"": "x"}}, "NAME=FILE:COLUMN")]:
        with pytest.raises(cavi.UsageError, match=word):
            fitted.plots(**options)


MEAN = """axis n[i] = 20
data y[i] : real
mu ~ Normal(0, sd = 2)
y[i] ~ Normal(mu, sd = 1)
"""


def test_calibration_is_that_of_the_command_line(tmp_path):
    (tmp_path / "mean.cavi").write_text(MEAN)
    command("calibrate", tmp_path / "mean.cavi", "--fits", 40, "--seed", 3, "--out", tmp_path / "found.json")
    written = json.loads((tmp_path / "found.json").read_text())
    found = cavi.calibrate(MEAN, fits=40, seed=3)
    row = found.table.iloc[0]
    assert (row["latent"], row["elements"], found.fits) == ("mu", 1, 40)
    assert row["coverage_90"] == written["latents"]["mu"]["coverage_90"]
    np.testing.assert_array_equal(found.histogram["mu"], written["latents"]["mu"]["histogram"])
    assert found.verdicts == [] and "nothing is off" in repr(found)


def test_calibration_finds_a_prior_that_the_data_do_not_come_from():
    low, truth = MEAN.replace("20", "3"), MEAN.replace("20", "3").replace("Normal(0", "Normal(level") + "const level = 9\n"
    found = cavi.calibrate(low, source=truth, fits=30, level=9)
    assert found.table["finding"].tolist() == ["too low"]
    assert "q is too low" in found.verdicts[0]
    with pytest.raises(cavi.UsageError, match="nowhere"):
        cavi.calibrate(low, source=truth, nowhere=1)


def test_calibration_takes_covariates_and_says_what_it_leaves_out(files):
    _, features, _ = files
    found = cavi.calibrate(REGRESSION + "posterior { point(tau) }\n", fits=20, x=features)
    assert found.table["latent"].tolist() == ["b"]
    assert "point" in found.left_out["tau"]
    with pytest.raises(cavi.UsageError, match="too few to judge by"):
        cavi.calibrate(MEAN, fits=3)
