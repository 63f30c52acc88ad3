"""Questions to fits: the answers are those of the command line, for data in files and in memory."""

import json
import pickle

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.io import mmread
from test_fit import command

import cavi

RANDOM = np.random.default_rng(5)
COUNTS = sparse.csr_matrix(RANDOM.poisson(0.8, size=(30, 20)).astype(float))


@pytest.fixture(scope="module")
def ratings():
    """A table with a fifth of its entries missing, and the low rank that it has."""
    users, items = RANDOM.normal(size=(25, 2)), RANDOM.normal(size=(15, 2))
    whole = users @ items.T + 0.1 * RANDOM.normal(size=(25, 15))
    labels = [f"u{own}" for own in range(25)], [f"i{own}" for own in range(15)]
    hidden = RANDOM.random(whole.shape) < 0.2
    return pd.DataFrame(np.where(hidden, np.nan, whole), *labels), whole, hidden


PPCA = """model ppca
axis row[n]
axis column[d]
axis factor[k] = 2
data x[n, d] : real, absent = NA
z[n, k] ~ Normal(0, sd = 1)
w[d, k] ~ Normal(0, sd = 1)
tau ~ Gamma(1, rate = 1)
x[n, d] ~ Normal(sum[k](z[n, k] * w[d, k]), prec = tau)
"""


@pytest.fixture(scope="module")
def completed(ratings):
    return cavi.fit(PPCA, x=ratings[0], sweeps=200, seed=1)


def test_missing_entries_are_imputed_as_by_the_command_line(completed, ratings, tmp_path):
    frame, whole, hidden = ratings
    table = completed.impute("x", draws=50)
    assert list(table.columns) == ["row", "column", "mean", "sd"] and len(table) == hidden.sum()
    places = [(int(row[1:]), int(column[1:])) for row, column in zip(table["row"], table["column"])]
    truth = np.array([whole[own] for own in places])
    assert np.corrcoef(truth, table["mean"])[0, 1] > 0.95
    frame.to_csv(tmp_path / "x.csv")
    (tmp_path / "model.cavi").write_text(PPCA)
    command("fit", tmp_path / "model.cavi", "--data", f"x={tmp_path / 'x.csv'}", "--sweeps", 200, "--seed", 1, "--quiet", "--out", tmp_path / "fit")
    command("impute", tmp_path / "fit", "--draws", 50, "--quiet", "--out", tmp_path / "x.imputed.csv")
    theirs = pd.read_csv(tmp_path / "x.imputed.csv")
    pd.testing.assert_frame_equal(table, theirs)
    # By its files, without data.
    pd.testing.assert_frame_equal(cavi.load(tmp_path / "fit").impute("x", draws=50), theirs)


def test_all_entries_or_those_of_some_labels(completed, ratings):
    frame, _, hidden = ratings
    every = completed.impute(all=True, draws=0)["x"]
    assert len(every) == frame.size and every["value"].isna().sum() == hidden.sum()
    assert "sd" not in every or every["sd"].isna().all()
    some = completed.impute("x", all=True, only={"row": ["u3", "u4"], "column": "i2"}, draws=0)
    assert some[["row", "column"]].values.tolist() == [["u3", "i2"], ["u4", "i2"]]
    with pytest.raises(cavi.CaviError, match="u99"):
        completed.impute(only={"row": "u99"})
    with pytest.raises(cavi.CaviError, match="y"):
        completed.impute("y")


def test_nothing_is_missing():
    assert len(cavi.fit(PPCA, x=RANDOM.normal(size=(6, 4)), sweeps=3).impute("x")) == 0


def test_rankings_are_those_of_the_command_line(tmp_path):
    given = cavi.example_data("hpf", tmp_path / "data")
    name, path = next(iter(given["data"].items()))
    fit = cavi.fit("hpf", **given, sweeps=5, seed=1, out=tmp_path / "fit")
    user, item = fit.program.data[name]
    label = fit.axis(user)[3]
    told = json.loads(command("top", tmp_path / "fit", "--rank", item, "--for", f"{user}={label}", "--n", 4, "--unseen", "--json"))
    ours = fit.recommend(label, n=4)
    assert ours[item].tolist() == [own[item] for own in told["rankings"][0]["ranking"]]
    assert ours["expected"].tolist() == [own["expected"] for own in told["rankings"][0]["ranking"]]
    every = fit.recommend(n=2)
    assert len(every) == 2 * len(fit.axis(user)) and every["rank"].tolist()[:2] == [1, 2]
    several = fit.recommend([label, fit.axis(user)[5]], n=2)
    assert len(several) == 4
    seen = fit.rank(item, {user: label}, n=4)
    assert len(seen) == 4


def test_what_was_held_out_is_scored_with_metrics(tmp_path):
    given = cavi.example_data("hpf", tmp_path / "data")
    fit = cavi.fit("hpf", **given, sweeps=5, seed=1, heldout={"y": 0.2}, out=tmp_path / "fit")
    told = json.loads(command("score", tmp_path / "fit", "--metrics", "ndcg@10,auc", "--json"))
    ours = fit.heldout_score("ndcg@10,auc")
    assert ours["metrics"] == told["metrics"] and ours["log_predictive"] == told["log_predictive"]
    assert ours["log_predictive"] == pytest.approx(fit.heldout["y"]["log_predictive"], rel=1e-12)
    with pytest.raises(cavi.UsageError, match="ndgc"):
        fit.heldout_score("ndgc@10")
    with pytest.raises(cavi.DataError, match="held out"):
        cavi.fit("hpf", y=COUNTS, taste=2, sweeps=2).heldout_score()


def test_fits_are_compared_and_matched(tmp_path):
    one, two = (cavi.fit("hpf", y=COUNTS, taste=own, sweeps=20, seed=1, heldout={"y": 0.2}) for own in (2, 4))
    compared = cavi.compare([one, two])
    assert compared["n_scored"] == one.heldout["y"]["n_scored"]
    scores = [own.heldout["y"]["log_predictive"] for own in (one, two)]
    assert [own["log_predictive"] for own in compared["fits"]] == pytest.approx(scores, rel=1e-9)
    with pytest.raises(cavi.UsageError, match="two"):
        cavi.compare([one])
    named = pd.DataFrame(COUNTS.toarray(), [f"u{own}" for own in range(30)], [f"i{own}" for own in range(20)])
    two = cavi.fit("hpf", y=named, taste=4, sweeps=20, seed=1)
    matched = cavi.match(two, two)
    assert matched["stability"] == pytest.approx(1) and len(matched["pairs"]) == 4
    components = two["beta"].mean.T
    by_table = two.match(components, variable="beta")
    assert by_table["stability"] == pytest.approx(1)


def test_a_size_is_chosen_as_by_the_command_line(tmp_path):
    from scipy.io import mmwrite

    mmwrite(tmp_path / "y.mtx", COUNTS)
    arguments = ["--data", f"y={tmp_path / 'y.mtx'}", "--set", "taste=1,3", "--sweeps", 8, "--seed", 1, "--quiet", "--json"]
    told = json.loads(command("choose", "hpf", *arguments))
    chosen = cavi.choose("hpf", y=COUNTS, taste=[1, 3], sweeps=8, seed=1)
    assert chosen.suggested == told["suggested"] and chosen.reason == told["reason"]
    for ours, theirs in zip(chosen._answer["candidates"], told["candidates"]):
        assert ours["values"] == theirs["values"]
        for name in ("score", "se", "elbo", "stability"):
            assert ours[name] == pytest.approx(theirs[name], rel=1e-6, nan_ok=True)
    assert chosen.table["taste"].tolist() == [1, 3] and chosen.fit.summary["sizes"]["taste"] == chosen.suggested["taste"]
    assert len(chosen.fits[0].runs) == 3
    kept = cavi.choose("hpf", y=COUNTS, taste="1..2", sweeps=3, seed=1, restarts=2, out=tmp_path / "kept")
    assert sorted(own.name for own in (tmp_path / "kept").iterdir()) == ["taste=1", "taste=2"] and len(kept.fits) == 2
    with pytest.raises(cavi.UsageError, match="values to choose from"):
        cavi.choose("hpf", y=COUNTS, taste=3)


def test_draws_have_the_shapes_of_the_program_and_can_be_fitted(tmp_path):
    drawn = cavi.simulate("lda", doc=12, word=30, topic=3, seed=4, total={"n": 50})
    assert drawn.data["n"].shape == (12, 30) and (drawn.data["n"].sum(axis=1) == 50).all()
    assert drawn.latents["theta"].shape == (12, 3)
    np.testing.assert_allclose(drawn.latents["theta"].sum(axis=1), 1)
    command("simulate", "lda", "--set", "doc=12", "--set", "word=30", "--set", "topic=3", "--seed", 4, "--total", "n=50", "--out", tmp_path / "drawn")
    assert (mmread(tmp_path / "drawn/data/n.mtx") != drawn.data["n"]).nnz == 0
    fit = cavi.fit("lda", data=drawn.data, topic=3, sweeps=5, seed=1)
    again = fit.simulate(seed=2)
    # Totals of rows are those of the data.
    assert (again.data["n"].sum(axis=1) == 50).all() and (again.data["n"] != drawn.data["n"]).nnz > 0
    with pytest.warns(cavi.CaviWarning, match="100 units"):
        cavi.simulate("lda", doc=2, word=3)
    with pytest.raises(cavi.CaviError, match="doc"):
        cavi.simulate("lda", word=3)


def test_ragged_draws_are_tables(tmp_path):
    text = """model schools
axis school[s]
axis pupil[i] in school[s]
data y[s, i] : real
mu[s] ~ Normal(0, sd = 1)
y[s, i] ~ Normal(mu[s], sd = 1)
"""
    (tmp_path / "y.csv").write_text("school,pupil,y\na,1,0.5\na,2,0.1\nb,1,-1\n")
    fit = cavi.fit(text, y=tmp_path / "y.csv", sweeps=5)
    table = fit.simulate(seed=1).data["y"]
    assert list(table.columns) == ["school", "pupil", "y"] and table["school"].tolist() == ["a", "a", "b"]
    assert cavi.fit(text, y=table, sweeps=5).summary["sizes"] == fit.summary["sizes"]


def test_a_page_is_written(tmp_path):
    fit = cavi.fit("hpf", y=COUNTS, taste=2, sweeps=3)
    page = fit.report(tmp_path / "page.html", title="Tastes & more")
    text = page.read_text()
    assert text.startswith("<!") and "Tastes &amp; more" in text and fit.report(title="Tastes & more") == text
    with pytest.raises(cavi.UsageError):
        fit.report(by={"": "x"})


def test_questions_need_the_data(completed, ratings, tmp_path):
    copied = pickle.loads(pickle.dumps(completed))
    with pytest.raises(cavi.CaviError, match="does not say which files"):
        copied.impute()
    pd.testing.assert_frame_equal(copied.impute("x", x=ratings[0], draws=20), completed.impute("x", draws=20))
    with pytest.raises(cavi.UsageError, match="no data are given"):
        completed.impute(labels={"row": ["a"]})


def test_new_rows_are_imputed(completed, ratings):
    new = completed.transform(x=ratings[0].iloc[:4], axis="row")
    table = new.impute("x", draws=20)
    assert set(table["row"]) <= {"u0", "u1", "u2", "u3"}


def test_stubs_name_what_there_is():
    import ast
    from pathlib import Path

    path = Path(cavi.__file__).parent
    assert (path / "py.typed").exists()
    tree = ast.parse((path / "_core.pyi").read_text())
    functions = {own.name for own in tree.body if isinstance(own, (ast.FunctionDef, ast.ClassDef))}
    there = {name for name in dir(cavi._core) if not name.startswith("_")}
    assert functions == there
    for own in tree.body:
        if isinstance(own, ast.FunctionDef):
            text = getattr(cavi._core, own.name).__text_signature__
            names = [part.split("=")[0].strip() for part in text.strip("()").split(",") if part.strip() not in ("", "$module", "/")]
            assert [argument.arg for argument in own.args.args] == names, own.name


def test_cells_and_genes_are_written_where_scanpy_looks():
    import cavi.anndata as cells

    counts = sparse.csr_matrix(RANDOM.poisson(1.0, size=(12, 9)).astype(np.float32))
    data = anndata.AnnData(
        X=counts * 0, obs=pd.DataFrame(index=[f"c{own}" for own in range(12)]), var=pd.DataFrame(index=[f"g{own}" for own in range(9)])
    )
    data.layers["counts"] = counts
    fit = cells.fit(data, "nmf_gamma_joint", layer="counts", set={"programme": 3}, sweeps=10, seed=1)
    np.testing.assert_array_equal(data.obsm["X_cavi"], fit["h"].array)
    np.testing.assert_array_equal(data.varm["cavi_loadings"], fit["w"].array.T)
    assert data.uns["cavi"]["elbo"] == fit.elbo and fit.axis("gene") == list(data.var_names)
    with pytest.raises(cavi.DataError, match="layer"):
        cells.fit(data, "nmf_gamma_joint", layer="raw", set={"programme": 3})


def test_what_was_written_survives_a_file(tmp_path):
    import cavi.anndata as cells

    data = anndata.AnnData(X=RANDOM.poisson(1.0, size=(8, 6)).astype(np.float32))
    cells.fit(data, "nmf_gamma_joint", set={"programme": 2}, sweeps=5, seed=1, key="programmes")
    data.write_h5ad(tmp_path / "data.h5ad")
    read = anndata.read_h5ad(tmp_path / "data.h5ad")
    assert read.obsm["X_programmes"].shape == (8, 2) and read.uns["programmes"]["sweeps"] == 5


def test_what_is_recommended_in_a_network_is_a_node_for_a_node():
    program = """
axis node[i, j]
axis part[k] = 2
data y[i, j] : count, i != j, absent = 0
a[i, k] ~ Gamma(1, rate = 1)
b[j, k] ~ Gamma(1, rate = 1)
y[i, j] ~ Poisson(sum[k](a[i, k] * b[j, k]))
"""
    names = list("wxyz")
    y = pd.DataFrame([[0.0, 5, 9, 0], [1, 0, 2, 0], [0, 1, 0, 30], [0, 0, 0, 0]], index=names, columns=names)
    fit = cavi.fit(program, y=y, seed=0)
    expected = pd.DataFrame(fit["a"].array @ fit["b"].array.T, index=names, columns=names)
    np.fill_diagonal(expected.values, -np.inf)
    best = expected.loc["w"].sort_values(ascending=False)
    found = fit.recommend("w", n=3, unseen=False)
    assert found["j"].tolist() == best.index[:3].tolist() and found["expected"].tolist() == pytest.approx(best.to_numpy()[:3])
    # What it has no entry of: zeros, of which the best is first.
    assert fit.recommend("w", n=1)["j"].tolist() == ["z"]
    assert fit.recommend(n=1, unseen=False)["j"].tolist() == expected.idxmax(axis=1).tolist()
