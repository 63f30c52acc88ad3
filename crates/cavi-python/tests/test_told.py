"""What the command line says beside its answers, Python says too; and what ends a fit, ends it here."""

import json
import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import cavi
from programs import RATINGS

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(30, 4))
COUNTS = RANDOM.poisson(2.0, size=(6, 6)).astype(float)


def told(call):
    """What a call gives, and the warnings of Cavi that it gave."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        answer = call()
    return answer, [str(own.message) for own in found if issubclass(own.category, cavi.CaviWarning)]


def test_a_schedule_that_leaves_latents_out_is_told():
    fit, words = told(lambda: cavi.fit("ppca", x=X, factor=2, seed=1, schedule="z", sweeps=5))
    assert any("W0604" in own and "`w`" in own for own in words)
    # The weights stay where they began.
    np.testing.assert_array_equal(fit["w"].array, cavi.fit("ppca", x=X, factor=2, seed=1, schedule="z", sweeps=50, tol=0)["w"].array)
    whole = told(lambda: cavi.fit("ppca", x=X, factor=2, seed=1, sweeps=5))
    assert not any("W0604" in own for own in whole[1]) and whole[0].elbo > fit.elbo


def test_the_sweep_of_a_program_that_is_not_run_is_not_told():
    text = cavi.compile("ppca").text
    line = next(own for own in text.splitlines() if own.strip().startswith("sweep "))
    every = line.strip().removeprefix("sweep ")
    few = text.replace(line, line[: line.index("sweep ")] + "sweep z, w")
    assert any("W0604" in own for own in told(lambda: cavi.fit(few, x=X, factor=2, seed=1, sweeps=3))[1])
    assert not any("W0604" in own for own in told(lambda: cavi.fit(few, x=X, factor=2, seed=1, sweeps=3, schedule=every))[1])


def test_an_axis_that_is_taken_is_told():
    fit = cavi.fit(RATINGS, y=COUNTS, seed=1, sweeps=20)
    new, words = told(lambda: fit.transform(y=COUNTS))
    assert new.summary["projected"]["axis"] == "user" and any("which axis grew" in own and 'axis="item"' in own for own in words)
    assert not any("which axis grew" in own for own in told(lambda: fit.transform(y=COUNTS, axis="user"))[1])


def test_entries_of_unknown_labels_are_told(tmp_path):
    fit = cavi.fit(RATINGS, y=pd.DataFrame(COUNTS, index=list("abcdef"), columns=list("uvwxyz")), seed=1, sweeps=20)
    (tmp_path / "not.csv").write_text("user,item,y\nq,u,1\na,nosuch,2\na,u,1\n")
    table, words = told(lambda: fit.rank("item", {"user": "a"}, not_in=tmp_path / "not.csv", n=10))
    assert any("2 entries" in own and "not_in" in own for own in words)
    assert sorted(table["item"]) == list("vwxyz")
    (tmp_path / "all.csv").write_text("user,item,y\n" + "".join(f"a,{item},1\n" for item in "uvwxyz"))
    table, words = told(lambda: fit.rank("item", {"user": "a"}, not_in=tmp_path / "all.csv"))
    assert len(table) == 0 and any("not_in" in own for own in words)


def test_a_fit_of_rows_that_was_ended_has_no_score():
    fits = [cavi.fit("ppca", x=X, factor=2, seed=seed, sweeps=20) for seed in (1, 2)]
    new = RANDOM.normal(size=(10, 4))
    for asked in (fits, fits[:1]):
        with pytest.raises(cavi.UsageError, match="ended before its end"):
            cavi.score(asked, x=new, callback=lambda _: False)
    scored = cavi.score(fits, x=new, callback=lambda _: True)
    assert scored["n_fits"] == 2 and scored["converged"] in (True, False) and scored["sweeps"] > 0
    # The new rows of a fit that was ended are kept, as a fit that was ended is.
    assert not fits[0].transform(x=new, axis="sample", tol=0, callback=lambda _: False).converged


@pytest.mark.parametrize("answer", [False, np.False_, np.float64(1) > 2])
def test_every_false_ends_a_fit(answer):
    seen = []
    fit = cavi.fit("ppca", x=X, factor=2, seed=1, tol=0, sweeps=40, callback=lambda own: seen.append(own) or answer)
    assert len(seen) == 1 and fit.sweeps <= 1


@pytest.mark.parametrize("answer", [None, True, np.True_, 0, "", np.float64(0)])
def test_nothing_else_ends_it(answer):
    assert cavi.fit("ppca", x=X, factor=2, seed=1, warmup="none", tol=0, sweeps=4, callback=lambda _: answer).sweeps == 4


# Options and answers of the command line.


def command(*arguments):
    done = subprocess.run([sys.executable, "-m", "cavi", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_baselines_and_metrics_are_those_of_the_command_line(tmp_path):
    counts = RANDOM.poisson(1.0, size=(40, 12))
    np.save(tmp_path / "y.npy", counts.astype(float))
    (tmp_path / "model.cavi").write_text(RATINGS)
    options = ["--sweeps", 10, "--seed", 3, "--threads", 1]
    command("fit", tmp_path / "model.cavi", "--data", f"y={tmp_path / 'y.npy'}", "--heldout", "y=0.2", "--heldout-totals", *options, "--quiet", "--out", tmp_path / "fit")
    fit = cavi.fit(tmp_path / "model.cavi", y=tmp_path / "y.npy", heldout={"y": 0.2}, heldout_totals=True, sweeps=10, seed=3, threads=1)
    there = json.loads((tmp_path / "fit" / "summary.json").read_text())
    assert fit.heldout == there["heldout"] and fit.heldout["y"]["perplexity"] is not None
    assert fit.summary["heldout_baselines"] == there["heldout_baselines"] and "one_component" in fit.summary["heldout_baselines"]["y"]
    asked = ["score", tmp_path / "fit", "--data", f"y={tmp_path / 'y.npy'}", "--seed", 1, "--threads", 1, "--json", "--metrics", "ndcg@5", "--rank", "item"]
    assert fit.score(y=tmp_path / "y.npy", seed=1, threads=1, metrics="ndcg@5", rank="item") == json.loads(command(*asked))
    with pytest.raises(cavi.UsageError, match="heldout_totals"):
        cavi.fit(RATINGS, y=counts, heldout_totals=True)


def test_words_of_texts_are_chosen(tmp_path):
    lines = ["the cats run and run", "a cat runs fast", "dogs run fast", "the dog and the cats"]
    (tmp_path / "docs.txt").write_text("\n".join(lines) + "\n")
    of = lambda **texts: cavi.fit("lda", n=f"lines:{tmp_path / 'docs.txt'}", topic=2, sweeps=2, seed=1, texts=texts).axis("word")  # noqa: E731
    # By default words of two documents, without stop words of English.
    assert set(of()) == {"cats", "run", "fast"}
    assert set(of(min_docs=1)) == {"cats", "run", "cat", "runs", "fast", "dogs", "dog"}
    assert set(of(stem="english")) == {"cat", "run", "fast", "dog"}
    assert len(of(min_docs=1, words=2)) == 2
    assert set(of(max_docs=0.5, stem="english")) == {"fast", "dog"}
    for wrong in ({"min_docs": 0}, {"stem": "klingon"}, {"max_docs": 1.5}, {"nosuch": 1}, {"ngrams": 99}):
        with pytest.raises(cavi.UsageError, match=next(iter(wrong))):
            of(**wrong)


def test_names_that_stand_twice_are_kept_apart(tmp_path):
    anndata = pytest.importorskip("anndata")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = anndata.AnnData(RANDOM.poisson(2.0, size=(12, 5)).astype(float))
        data.obs_names, data.var_names = [f"c{own}" for own in range(12)], ["g1", "g1", "g2", "g3", "g4"]
        data.write_h5ad(tmp_path / "x.h5ad")
    options = {"x": tmp_path / "x.h5ad", "programme": 2, "sweeps": 5, "seed": 1}
    with pytest.raises(cavi.DataError, match="g1"):
        cavi.fit("nmf_gamma_joint", **options)
    fit = cavi.fit("nmf_gamma_joint", unique=True, **options)
    assert fit.axis("gene") == ["g1", "g1-1", "g2", "g3", "g4"]
    # What is asked of it later is read in the same way.
    fit.save(tmp_path / "fit")
    loaded = cavi.load(tmp_path / "fit")
    assert len(loaded.impute("x", all=True, x=tmp_path / "x.h5ad")) == 60
    assert loaded.transform(x=tmp_path / "x.h5ad", axis="cell").axis("gene") == fit.axis("gene")


# Who keeps a fit, and what can be copied.


def test_a_process_that_was_forked_leaves_the_fit_of_its_parent():
    if not hasattr(os, "fork"):
        pytest.skip("this system does not fork")
    script = """
import os, sys
import numpy as np
import cavi
fit = cavi.fit("ppca", x=np.random.default_rng(0).normal(size=(20, 4)), factor=2, sweeps=3, seed=1)
for child in (lambda: None, lambda: globals().pop("fit")):
    pid = os.fork()
    if not pid:
        child()
        sys.exit(0)
    os.waitpid(pid, 0)
    fit["z"].array
place = fit.path
del fit
import gc
gc.collect()
assert not place.exists()
"""
    done = subprocess.run([sys.executable, "-W", "error::ResourceWarning", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_a_program_can_be_copied():
    program = cavi.compile("lda", set={"topic": 3})
    copied = pickle.loads(pickle.dumps(program))
    assert (copied.text, copied.file_name, copied.factorisation) == (program.text, program.file_name, program.factorisation)
    assert copied._core.settable == program._core.settable


def test_what_is_set_of_a_program_is_set_in_every_call_that_takes_it():
    text = """axis user[u]
axis item[i]
axis part[k] = 2
const s = 1
data y[u, i] : count
w[u, k] ~ Gamma(1, rate = s)
h[i, k] ~ Gamma(1, rate = 1)
y[u, i] ~ Poisson(sum[k](w[u, k] * h[i, k]))
"""
    counts = np.arange(20).reshape(5, 4) % 7
    program = cavi.compile(text, set={"part": 4, "s": 0.1})
    options = {"seed": 1, "sweeps": 3}
    expected = cavi.fit(text, y=counts, set={"part": 4, "s": 0.1}, **options)
    for own in (program, pickle.loads(pickle.dumps(program)), cavi.compile(program)):
        fit = cavi.fit(own, y=counts, **options)
        assert fit.array("w.mean").shape == (5, 4) and fit.elbo == expected.elbo
    # What a call sets comes first, and the answers of a fit know what it was fitted with.
    assert cavi.fit(program, y=counts, part=3, **options).elbo == cavi.fit(text, y=counts, part=3, s=0.1, **options).elbo
    assert fit.transform(y=counts, axis="user").array("w.mean").shape == (5, 4)
    assert np.shape(cavi.simulate(program, user=4, item=3).latents["w"]) == (4, 4)
    pytest.importorskip("sklearn")
    from cavi.sklearn import Model

    model = Model(cavi.compile(text, set={"part": 3}), max_iter=3)
    assert model.fit(counts).transform(counts).shape == (5, 3)


def test_a_fit_to_files_with_a_constant_in_memory_answers(tmp_path):
    text = """axis row[i]
axis col[j]
data y[i, j] : real, absent = NA
const e[j]
m[i] ~ Normal(0, sd = 10)
y[i, j] ~ Normal(e[j] * m[i], sd = 1)
"""
    table = np.array([[1.0, 2.0, np.nan], [0.5, 1.0, 1.5]])
    np.save(tmp_path / "y.npy", table)
    scale = np.array([0.5, 1.0, 2.0])
    expected = cavi.fit(text, y=table, e=scale).impute("y", draws=0)["mean"]
    found = cavi.fit(text, y=tmp_path / "y.npy", e=scale).impute("y", draws=0)["mean"]
    # The mean of `m[0]` is (0.5 * 1 + 1 * 2) / (0.25 + 1 + 0.01), and the missing entry twice that.
    assert np.allclose(expected, found) and np.allclose(found, 2 * 2.5 / 1.26)


def test_a_model_of_a_program_is_an_estimator():
    pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.model_selection import cross_val_score

    from cavi.sklearn import Model

    x = np.random.default_rng(0).poisson(1.0, size=(20, 6))
    own = Model(cavi.compile(RATINGS), random_state=0, max_iter=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(own).fit(x)
        assert fitted.elbo_ == Model(RATINGS, random_state=0, max_iter=5).fit(x).elbo_
        assert pickle.loads(pickle.dumps(fitted)).transform(x) == pytest.approx(fitted.transform(x))
        assert len(cross_val_score(own, x, cv=2)) == 2


def test_what_a_sparse_matrix_does_not_list_is_zero():
    pytest.importorskip("sklearn")
    from scipy import sparse

    from cavi.sklearn import NMF, Model

    random = np.random.default_rng(0)
    x = np.where(random.random((40, 6)) < 0.5, 0, random.normal(size=(40, 6)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = [Model("ppca", set={"factor": 2}, random_state=0, max_iter=20).fit(own) for own in (x, sparse.csr_matrix(x))]
        assert fits[0].elbo_ == fits[1].elbo_
        np.testing.assert_array_equal(fits[0].transform(x), fits[1].transform(sparse.coo_matrix(x)))
        # Entries that stand twice are their sum.
        twice = sparse.coo_matrix(([1.0, 2.0, 3.0, 4.0], ([0, 0, 1, 2], [0, 0, 1, 2])), shape=(3, 3))
        assert NMF(1, random_state=0).fit(twice).reconstruction_err_ == NMF(1, random_state=0).fit(twice.toarray()).reconstruction_err_


def test_views_with_the_index_of_frames_go_on():
    pytest.importorskip("sklearn")
    from cavi.sklearn import GroupFactorAnalysis

    random = np.random.default_rng(0)
    z = random.normal(size=(60, 2))
    views = {name: pd.DataFrame(z @ random.normal(size=(2, size)) + 0.1 * random.normal(size=(60, size))).add_prefix("f") for name, size in (("a", 8), ("b", 5))}
    part = lambda first: {name: own.iloc[first : first + 20].reset_index(drop=True) for name, own in views.items()}  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = GroupFactorAnalysis(2, max_iter=20, random_state=0).partial_fit(part(0))
        arrays = GroupFactorAnalysis(2, max_iter=20, random_state=0).partial_fit({name: one.to_numpy() for name, one in part(0).items()})
        for first in (20, 40):
            own.partial_fit(part(first))
            arrays.partial_fit({name: one.to_numpy() for name, one in part(first).items()})
    assert own.n_samples_seen_ == 60 and own.elbo_ == pytest.approx(arrays.elbo_)
    assert own.fit_.axis("sample") == [f"row {place}" for place in range(60)]


@pytest.mark.parametrize("wrong", [np.zeros((4, 3), dtype=bool), [0.1, 0.2], True, None], ids=["mask", "list", "truth", "nothing"])
def test_what_is_no_part_to_hold_out_is_told_in_few_words(wrong):
    with pytest.raises(cavi.UsageError, match="expected a fraction between 0 and 1, or a file with the entries to hide") as told:
        cavi.fit(RATINGS, y=np.ones((4, 3)), heldout={"y": wrong})
    assert len(str(told.value)) < 200 and "heldout={'y': ...}" in str(told.value)
    fit = cavi.fit(RATINGS, y=np.ones((4, 3)), sweeps=2)
    with pytest.raises(cavi.UsageError, match="given={'y': ...}: found .*; expected a file with the entries"):
        fit.score(y=np.ones((4, 3)), given={"y": wrong})


def test_groups_of_what_is_held_out_are_a_dictionary():
    program = "axis row[n]\naxis view[m]\naxis feature[j] in view[m]\ndata x[n, m, j] : real\nz[n] ~ Normal(0, sd = 1)\nx[n, m, j] ~ Normal(z[n], sd = 1)\n"
    views = {"a": np.arange(40.0).reshape(10, 4), "b": np.ones((10, 3))}
    fit = cavi.fit(program, x=views, heldout={"x": {"a": "rows:0.5"}}, seed=0)
    assert fit.elbo == cavi.fit(program, x=views, heldout={"x[a]": "rows:0.5"}, seed=0).elbo
    # All four entries of half of the rows.
    assert fit.heldout["x"]["n_scored"] == 20
