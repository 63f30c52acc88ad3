"""Fits outlive the objects that they came from, know their data again, and are told apart from others in their place."""

import gc
import pickle
import shutil

import numpy as np
import pytest

import cavi
from test_data import COUNTS, NMF


def test_runs_outlive_their_fit():
    runs = cavi.fit(NMF, x=COUNTS, sweeps=3, restarts=3, keep="all", seed=1).runs
    gc.collect()
    assert len(runs) == 3 and runs[0]["w"].mean.shape == (7, 2)


@pytest.mark.parametrize("by", ["save", "pickle"])
def test_projected_rows_outlive_the_fit(by, tmp_path):
    x = np.random.default_rng(0).normal(size=(20, 4))
    new = cavi.fit("ppca", x=x, factor=2, sweeps=10, seed=1).transform(x=x[:5], axis="sample")
    z = x[:5].copy()
    z[1, 2] = np.nan
    before = new.impute("x", x=z)["mean"].tolist()
    if by == "save":
        new.save(tmp_path / "rows")
        del new
        gc.collect()
        # Wherever it goes.
        shutil.move(tmp_path / "rows", tmp_path / "moved")
        again = cavi.load(tmp_path / "moved")
    else:
        text = pickle.dumps(new)
        del new
        gc.collect()
        again = pickle.loads(text)
    assert again.impute("x", x=z)["mean"].tolist() == before


def test_another_fit_in_the_same_place_is_told_apart(tmp_path):
    one = cavi.fit(NMF, x=COUNTS, sweeps=3, seed=1, out=tmp_path / "fit")
    values = one["w"].array
    two = cavi.fit(NMF, x=COUNTS, sweeps=3, seed=2, out=tmp_path / "fit")
    for ask in (lambda: one["w"], lambda: one.array("w.mean"), lambda: one.impute("x"), lambda: one.save(tmp_path / "copy")):
        with pytest.raises(cavi.DataError, match="another fit"):
            ask()
    assert not np.array_equal(two["w"].array, values)
    # The same fit once more is the same.
    shutil.copytree(tmp_path / "fit", tmp_path / "kept")
    shutil.rmtree(tmp_path / "fit")
    shutil.copytree(tmp_path / "kept", tmp_path / "fit")
    assert two["w"].array.shape == values.shape


def test_fits_to_different_arrays_are_not_compared():
    fit = lambda x, seed=1: cavi.fit(NMF, x=x, sweeps=5, seed=seed, heldout={"x": 0.3})  # noqa: E731
    one, same, other = fit(COUNTS), fit(COUNTS.copy()), fit(COUNTS[::-1].copy())
    assert len(cavi.compare([one, same])["fits"]) == 2
    with pytest.raises(cavi.DataError, match="different data"):
        cavi.compare([one, other])


def test_an_array_that_was_changed_in_place_is_refused():
    x = COUNTS.copy()
    fit = cavi.fit(NMF, x=x, sweeps=5, seed=1)
    before = fit.impute("x", all=True, draws=0)["value"].tolist()
    x[0, 0] += 40
    with pytest.raises(cavi.DataError, match="`x`.*has changed"):
        fit.impute("x", all=True, draws=0)
    # What is given with the question is taken.
    assert fit.impute("x", all=True, draws=0, x=COUNTS)["value"].tolist() == before


def test_projected_files_can_be_asked(tmp_path):
    x = np.random.default_rng(0).normal(size=(20, 4))
    z = x[:5].copy()
    z[1, 2] = np.nan
    for name, own in (("x", x), ("z", z)):
        np.savetxt(tmp_path / f"{name}.csv", own, delimiter=",", header="a,b,c,d", comments="")
    fit = cavi.fit("ppca", x=tmp_path / "x.csv", factor=2, sweeps=10, seed=1)
    table = fit.transform(x=tmp_path / "z.csv", axis="sample").impute("x")
    assert len(table) == 1


def test_a_callback_ends_the_fit_after_its_own_sweep():
    for _ in range(5):
        seen = []

        def callback(report):
            seen.append(report["sweep"])
            return report["sweep"] < 5

        fit = cavi.fit(NMF, x=COUNTS, tol=0, sweeps=1000, seed=1, callback=callback)
        assert (fit.sweeps, seen[-1], len(seen)) == (5, 5, len(set(seen)))


@pytest.mark.parametrize(
    "options",
    [
        {"tol": float("nan")},
        {"tol": -1},
        {"tol": float("inf")},
        {"seed": -1},
        {"sweeps": -1},
        {"sweeps": 2.5},
        {"threads": 0},
        {"restarts": 0},
        {"elbo_every": 0},
    ],
)
def test_options_without_a_meaning_are_refused(options):
    with pytest.raises(cavi.UsageError, match=next(iter(options))):
        cavi.fit(NMF, x=COUNTS, **{"sweeps": 2, **options})


def test_numbers_of_questions_are_checked():
    fit = cavi.fit(NMF, x=COUNTS, sweeps=2)
    for ask in (lambda: fit.impute("x", draws=-1), lambda: fit.sample("w", draws=-1), lambda: fit.simulate(seed=-1)):
        with pytest.raises(cavi.UsageError, match="whole number"):
            ask()
    with pytest.raises(cavi.UsageError, match="total"):
        cavi.simulate("lda", doc=3, word=5, topic=2, total={"n": 80.7})
    assert cavi.simulate(NMF, row=3, column=3, seed=None).data["x"].shape == (3, 3)
    assert "w" in fit and "nothing" not in fit


def test_a_generator_draws_one_split_for_all_values():
    program = NMF.replace("part[k] = 2", "part[k]")
    chosen = cavi.choose(program, x=COUNTS, part=[1, 2], seed=np.random.default_rng(0), sweeps=5, restarts=1)
    assert len(chosen.fits) == 2
    for wrong in ("nan,2", "1..1e300"):
        with pytest.raises(cavi.CaviError):
            cavi.choose(program, x=COUNTS, part=wrong, sweeps=5, restarts=1)


def test_a_program_whose_last_line_names_a_file_is_a_program():
    assert cavi.compile(NMF + "# see nmf.cavi").latents == ["w", "h"]


def test_a_finished_fit_is_written_to_another_place(tmp_path):
    options = {"sweeps": 3, "tol": 0, "seed": 1}
    one = cavi.fit(NMF, x=COUNTS, out=tmp_path / "one", **options)
    two = cavi.fit(NMF, x=COUNTS, resume=tmp_path / "one", out=tmp_path / "two", **options)
    assert two.elbo == one.elbo and np.array_equal(two["w"].array, one["w"].array)


def test_a_constant_column_of_a_mixture_has_a_variance_of_its_own_units():
    from cavi.sklearn import GaussianMixture

    found = []
    for constant in (0.5, 0.1, 1e6 + 0.1):
        x = np.random.default_rng(0).normal(size=(10, 2))
        x[:, 1] = constant
        mixture = GaussianMixture(1, random_state=0).fit(x)
        found.append(mixture.covariances_[0])
        assert mixture.means_[0, 1] == pytest.approx(constant)
    np.testing.assert_allclose(found[1:], [found[0]] * 2)
    assert found[0][1] > 0.01


def test_arguments_that_are_no_text_are_answered_without_a_traceback():
    import subprocess
    import sys

    found = subprocess.run([sys.executable, "-m", "cavi", "summary", b"\xff"], capture_output=True)
    assert found.returncode == 1 and b"Traceback" not in found.stderr and b"error" in found.stderr
