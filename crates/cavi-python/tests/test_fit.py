"""Fits: the bits of the command line, callbacks, interrupts, keeping and asking them."""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmread

import cavi

RANDOM = np.random.default_rng(3)
COUNTS = sparse.csr_matrix(RANDOM.poisson(0.7, size=(40, 30)).astype(float))


def command(*arguments):
    done = subprocess.run([sys.executable, "-m", "cavi", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def posterior(directory):
    """The files of the posterior as bytes."""
    return {own.relative_to(directory).as_posix(): own.read_bytes() for own in (directory / "posterior").rglob("*.npy")}


def files(directory):
    """The posterior as bytes, and the trace but for its seconds."""
    lines = (directory / "trace.csv").read_text().splitlines()
    return posterior(directory), [line.split(",")[:3] + line.split(",")[4:] for line in lines]


@pytest.mark.parametrize("name", sorted(cavi.builtin()))
def test_the_bits_are_those_of_the_command_line(name, tmp_path):
    command("demo", name, "--sweeps", 3, "--seed", 5, "--restarts", 1, "--warmup", "none", "--quiet", "--out", tmp_path / "demo")
    given = cavi.example_data(name, tmp_path / "data")
    fit = cavi.fit(name, **given, sweeps=3, seed=5, restarts=1, warmup="none", threads=1)
    assert files(fit.path) == files(tmp_path / "demo")


def test_arrays_in_memory_have_the_bits_of_their_files(tmp_path):
    given = cavi.example_data("lda", tmp_path / "data")
    counts = mmread(given["data"]["n"])
    by_file = cavi.fit("lda", **given, sweeps=3, seed=5)
    in_memory = cavi.fit("lda", n=counts, labels=given["labels"], sweeps=3, seed=5)
    assert files(in_memory.path) == files(by_file.path)


def test_new_rows_and_scores_are_those_of_the_command_line(tmp_path):
    given = cavi.example_data("lda", tmp_path / "data")
    fit = cavi.fit("lda", **given, sweeps=5, seed=5, out=tmp_path / "fit")
    data, labels = f"n={given['data']['n']}", f"word={given['labels']['word']}"
    command("project", tmp_path / "fit", "--data", data, "--labels", labels, "--out", tmp_path / "rows", "--axis", "doc", "--quiet")
    new = fit.transform(n=given["data"]["n"], labels={"word": given["labels"]["word"]}, axis="doc")
    assert posterior(new.path) == posterior(tmp_path / "rows")
    told = command("score", tmp_path / "fit", "--data", data, "--labels", labels, "--json", "--seed", 1)
    scored = fit.score(n=given["data"]["n"], labels={"word": given["labels"]["word"]}, seed=1)
    assert scored["log_predictive"] == json.loads(told)["log_predictive"]


def test_any_number_of_threads_gives_the_same_bits():
    fits = [cavi.fit("hpf", y=COUNTS, taste=3, sweeps=4, seed=1, threads=own) for own in (1, 2, 3)]
    assert files(fits[0].path) == files(fits[1].path) == files(fits[2].path)


def test_a_fit_is_kept_loaded_and_pickled(tmp_path):
    fit = cavi.fit("hpf", y=COUNTS, taste=3, sweeps=4, seed=1)
    fit.save(tmp_path / "kept")
    loaded, copied = cavi.load(tmp_path / "kept"), pickle.loads(pickle.dumps(fit))
    assert files(loaded.path) == files(fit.path) == files(copied.path)
    assert loaded.elbo == fit.elbo == copied.elbo
    assert copied.transform(y=COUNTS[:3], axis="user")["theta"].array.shape == (3, 3)
    with pytest.raises(FileExistsError):
        fit.save(tmp_path / "kept")
    with pytest.raises(cavi.DataError, match="summary.json"):
        cavi.load(tmp_path)


def test_what_a_fit_says():
    fit = cavi.fit("hpf", y=COUNTS, taste=3, sweeps=4, seed=1, warmup="none")
    assert fit.sweeps == 4 and not fit.converged and fit.variables == ["theta", "xi", "beta", "eta"]
    assert fit.trace["sweep"].tolist() == [0, 1, 2, 3, 4]
    beta = fit["beta"]
    shape, rate = fit.array("beta.shape"), fit.array("beta.rate")
    np.testing.assert_allclose(beta.array, shape / rate, rtol=1e-12)
    np.testing.assert_allclose(beta.var, shape / rate**2, rtol=1e-12)
    from scipy.stats import gamma

    low, high = beta.interval(0.9)
    np.testing.assert_allclose(low, gamma.ppf(0.05, shape, scale=1 / rate), rtol=1e-7)
    np.testing.assert_allclose(high, gamma.ppf(0.95, shape, scale=1 / rate), rtol=1e-7)
    top = fit.top("theta", 2)
    assert len(top) == 40 and all(own[0][1] >= own[1][1] for own in top.values())
    assert "hpf" in repr(fit) and fit.understood[0].startswith("y: 40 user")
    with pytest.raises(cavi.CaviError, match="no latent"):
        fit["gamma"]
    with pytest.raises(KeyError, match="beta.shape"):
        fit.array("beta.mode")


def test_a_part_may_be_held_out():
    fit = cavi.fit("hpf", y=COUNTS, taste=3, sweeps=20, heldout={"y": 0.2}, seed=1)
    assert fit.heldout["y"]["n_scored"] > 0 and fit.heldout["y"]["per_unit"] < 0


def test_runs_are_kept_and_averaged():
    fit = cavi.fit("hpf", y=COUNTS, taste=3, sweeps=5, restarts=3, keep="all", seed=1)
    assert len(fit.runs) == 3 and max(own.elbo for own in fit.runs) == fit.elbo
    averaged = cavi.score(fit.runs, y=COUNTS)
    assert averaged["n_fits"] == 3


def test_a_fit_begins_where_another_ended():
    fit = cavi.fit("hpf", y=COUNTS, taste=3, sweeps=6, seed=1, warmup="none", allocations="ordinary")
    first = cavi.fit("hpf", y=COUNTS, taste=3, sweeps=3, seed=1, warmup="none", allocations="ordinary")
    names = [f"{own}.{parameter}" for own in first.variables for parameter in ("shape", "rate")]
    for init in (first, first.path, {name: first.array(name) for name in names}):
        on = cavi.fit("hpf", y=COUNTS, taste=3, sweeps=3, init=init, allocations="ordinary")
        assert on.elbo == pytest.approx(fit.elbo, rel=1e-12)


def test_the_callback_sees_every_sweep_and_may_end_the_fit():
    seen = []
    fit = cavi.fit("hpf", y=COUNTS, taste=3, sweeps=50, tol=0, warmup="none", callback=lambda own: seen.append(own["sweep"]))
    assert seen == list(range(51)) and fit.sweeps == 50
    ended = cavi.fit("hpf", y=COUNTS, taste=3, sweeps=10_000, tol=0, callback=lambda own: own["warming"] or own["sweep"] < 7)
    assert 7 <= ended.sweeps < 10_000 and ended.summary["interrupted"]


def test_an_exception_of_the_callback_goes_on_to_the_caller():
    def callback(_):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        cavi.fit("hpf", y=COUNTS, taste=3, sweeps=10_000, tol=0, callback=callback)


def test_a_number_of_threads_that_no_machine_has_is_refused():
    with pytest.raises(cavi.UsageError, match="threads=5000: expected a whole number from 1 to 1024"):
        cavi.fit("hpf", y=COUNTS, taste=3, sweeps=4, threads=5000)


def test_an_interrupt_ends_a_fit_at_once_and_other_threads_run():
    running, counted = threading.Event(), []

    def count():
        while not running.is_set():
            counted.append(time.monotonic())
            time.sleep(0.005)

    threads = [
        threading.Thread(target=count),
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)),
    ]
    for own in threads:
        own.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        cavi.fit("hpf", y=COUNTS, taste=20, sweeps=10_000_000, tol=0)
    running.set()
    assert time.monotonic() - began < 20 and len(counted) > 5
    # The next fit knows nothing of it.
    assert cavi.fit("hpf", y=COUNTS, taste=3, sweeps=2).sweeps == 2


def test_a_fit_that_was_interrupted_goes_on_to_the_same_bits(tmp_path):
    options = {"y": COUNTS, "taste": 3, "sweeps": 60, "tol": 0, "seed": 1, "warmup": "none"}
    whole = cavi.fit("hpf", **options)
    half = cavi.fit("hpf", **options, out=tmp_path / "fit", checkpoint_every=0, callback=lambda own: own["sweep"] < 20)
    assert half.summary["interrupted"] and half.sweeps < 60
    resumed = cavi.fit("hpf", **options, resume=tmp_path / "fit", threads=1)
    assert files(resumed.path) == files(whole.path) and resumed.path == tmp_path / "fit"
    # There is nothing left to be done.
    assert cavi.fit("hpf", **options, resume=tmp_path / "fit").elbo == whole.elbo
    with pytest.raises(cavi.CaviError):
        cavi.fit("hpf", **{**options, "seed": 2}, resume=tmp_path / "fit")
    with pytest.raises(cavi.UsageError, match="out="):
        cavi.fit("hpf", **options, checkpoint_every=10)


def test_a_fit_goes_on_with_more_data():
    pd = pytest.importorskip("pandas")
    rows, columns = [f"r{row}" for row in range(40)], [f"c{column}" for column in range(30)]
    frame = pd.DataFrame(COUNTS.toarray(), index=rows, columns=columns)
    options = {"taste": 3, "allocations": "ordinary", "columns": {"y": "wide"}}
    first = cavi.fit("hpf", y=frame.iloc[:25], sweeps=20, **options)
    start = cavi.fit("hpf", y=frame, sweeps=0, init=first, grow=True, **options)
    old, new = first["theta"].mean, start["theta"].mean
    assert list(new.index) == rows
    np.testing.assert_allclose(new.loc[old.index], old, rtol=1e-12)
    on = cavi.fit("hpf", y=frame, sweeps=20, init=first, grow=True, **options)
    assert on.elbo > start.elbo
    with pytest.raises(cavi.UsageError, match="`init` names the fit"):
        cavi.fit("hpf", y=frame, grow=True, **options)
    with pytest.raises(cavi.CaviError, match="no label of axis `user`.*leave `init=...` and `grow=True` out|no label of axis `user`"):
        cavi.fit("hpf", y=frame.set_axis([f"s{row}" for row in range(40)]), init=first, grow=True, **options)


def test_known_components_are_held():
    pd = pytest.importorskip("pandas")
    rows, columns = [f"r{row}" for row in range(40)], [f"c{column}" for column in range(30)]
    frame = pd.DataFrame(COUNTS.toarray(), index=rows, columns=columns)
    known = pd.DataFrame(RANDOM.gamma(2.0, size=(2, 30)), index=["A", "B"], columns=columns)
    program = """
axis row[i]
axis column[j]
axis part[k]
data x[i, j] : count
w[i, k] ~ Gamma(1, rate = 1)
h[k, j] ~ Gamma(1, rate = 1)
x[i, j] ~ Poisson(sum[k](w[i, k] * h[k, j]))
"""
    fit = cavi.fit(program, x=frame, fix={"h": known[columns[::-1]]}, part=4, sweeps=10)
    held = fit["h"].mean
    assert list(held.index) == ["A", "B", "free 1", "free 2"]
    np.testing.assert_allclose(held.loc[["A", "B"], columns], known, rtol=1e-12)
    assert (held.loc["free 1"] > 0).all()
    with pytest.raises(cavi.CaviError, match="`g`"):
        cavi.fit(program, x=frame, fix={"g": known}, part=4)


def test_what_is_understood_and_planned():
    assert "40 user x 30 item" in cavi.read("hpf", y=COUNTS).replace("item (", "item")
    assert "memory" in cavi.plan("hpf", y=COUNTS).lower()


def test_wrong_questions_about_new_rows():
    fit = cavi.fit("hpf", y=COUNTS, taste=3, sweeps=3)
    with pytest.raises(cavi.CaviError):
        fit.transform(y=COUNTS, axis="taste")
    with pytest.raises(cavi.CaviError):
        fit.transform(y=COUNTS[:, :4], axis="user")
    with pytest.raises(cavi.UsageError, match="neither data"):
        fit.score(x=COUNTS)


def test_the_command_line_comes_with_the_package():
    assert "lda" in command("list")
    wrong = subprocess.run([sys.executable, "-m", "cavi", "fit"], capture_output=True, text=True)
    assert wrong.returncode == 2


def test_importing_takes_no_heavy_package():
    text = "import sys, cavi; print([own for own in ('pandas', 'scipy', 'sklearn', 'xarray') if own in sys.modules])"
    assert subprocess.run([sys.executable, "-c", text], capture_output=True, text=True).stdout.strip() == "[]"
