"""``cavi.anndata``: results where scanpy and MOFA2's plots look for them."""

import warnings

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import cavi
import cavi.anndata as cells

RANDOM = np.random.default_rng(0)
NAMES = [f"s{own}" for own in range(60)]


def views():
    """Two views of 60 samples, of which the second lacks ten and has the others in another order; features have places and units of their own."""
    random = np.random.default_rng(4)
    z = random.normal(size=(60, 3))

    def view(size, letter, active):
        loadings = random.normal(size=(3, size)) * np.array(active)[:, None] * random.gamma(2, size=size)
        x = z @ loadings + 5 * random.normal(size=size) + 0.5 * random.normal(size=(60, size))
        obs = pd.DataFrame({"batch": ["a", "b"] * 30, "age": random.integers(20, 60, 60)}, index=NAMES)
        return anndata.AnnData(x, obs=obs, var=pd.DataFrame({"chromosome": np.arange(size)}, index=[f"{letter}{own}" for own in range(size)]))

    rna, protein = view(20, "g", [1, 1, 0]), view(12, "p", [1, 0, 1])
    return {"rna": rna, "protein": protein[random.permutation(60)[:50]].copy()}


@pytest.fixture(scope="module")
def mofa(tmp_path_factory):
    """A fit of group factor analysis, its views, and the file that is written of it."""
    h5py = pytest.importorskip("h5py", reason="h5py writes the layout of MOFA2")
    given = views()
    fit = cavi.fit("gfa", x=given, factor=4, seed=1)
    path = tmp_path_factory.mktemp("mofa") / "fit.hdf5"
    order = cells.write_mofa(fit, path)
    return h5py, fit, given, path, order


def test_rows_are_matched_by_their_names():
    counts = RANDOM.poisson(1.0, size=(12, 9)).astype(np.float32)
    data = anndata.AnnData(counts, obs=pd.DataFrame(index=[f"c{own}" for own in range(12)]), var=pd.DataFrame(index=[f"g{own}" for own in range(9)]))
    fit = cells.fit(data, "nmf_gamma_joint", set={"programme": 3}, sweeps=5, seed=1)
    turned = data[::-1].copy()
    cells.write(fit, turned)
    np.testing.assert_array_equal(turned.obsm["X_cavi"], data.obsm["X_cavi"][::-1])
    other = anndata.AnnData(counts, obs=pd.DataFrame(index=[f"d{own}" for own in range(12)]))
    with pytest.raises(cavi.DataError, match="'d0' is not in the fit"):
        cells.write(fit, other)


def test_modalities_of_a_mudata_are_views():
    mudata = pytest.importorskip("mudata", reason="MuData holds modalities")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = mudata.MuData(views())
    fit = cells.fit(data, "gfa", set={"factor": 4}, seed=1)
    for name in ("s0", "s17", "s59"):
        at = list(data.obs_names).index(name)
        np.testing.assert_array_equal(data.obsm["X_cavi"][at], fit["z"].mean.loc[name])
    np.testing.assert_array_equal(data.mod["protein"].varm["cavi_loadings"], fit["w"].mean["protein"].loc[list(data.mod["protein"].var_names)])


def test_scanpy_goes_on_from_it():
    scanpy = pytest.importorskip("scanpy", reason="scanpy finds neighbours")
    # Two kinds of cells.
    rates = np.repeat([[6.0] * 10 + [0.5] * 10, [0.5] * 10 + [6.0] * 10], 30, axis=0)
    data = anndata.AnnData(sparse.csr_matrix(RANDOM.poisson(rates).astype(np.float32)))
    data.layers["counts"] = data.X.copy()
    cells.fit(data, "nmf_gamma_joint", layer="counts", set={"programme": 2}, seed=1)
    scanpy.pp.neighbors(data, use_rep="X_cavi", n_neighbors=8)
    near = data.obsp["connectivities"].toarray() > 0
    assert not near[:30, 30:].any() and near[:30, :30].any()


def test_the_layout_is_that_of_mofapy2(mofa, tmp_path):
    entry_point = pytest.importorskip("mofapy2.run.entry_point", reason="mofapy2 writes the layout to compare with").entry_point
    h5py, _, given, path, _ = mofa
    model = entry_point()
    model.set_data_options(scale_views=False)
    names = [list(own.var_names) for own in given.values()]
    rows = [own.to_df().reindex(NAMES).to_numpy() for own in given.values()]
    model.set_data_matrix([[own] for own in rows], views_names=list(given), groups_names=["group1"], samples_names=[NAMES], features_names=names)
    model.set_model_options(factors=4)
    model.set_train_options(iter=5, seed=1, quiet=True)
    model.build()
    model.run()
    model.save(str(tmp_path / "theirs.hdf5"))

    def entries(file):
        found = {}
        with h5py.File(file) as opened:
            opened.visititems(lambda name, own: found.update({name: own}) if hasattr(own, "shape") else None)
            return {name: (own.shape, own.dtype.kind, sorted(own.attrs)) for name, own in found.items()}

    theirs, ours = entries(tmp_path / "theirs.hdf5"), entries(path)
    # Its course has as many entries as there were sweeps, and it may have switched factors off.
    lengths = [name for name in theirs if name.startswith("training_stats")]
    assert set(theirs) <= set(ours) and {name for name in set(ours) - set(theirs)} == {
        f"{what}_metadata/{place}"
        for what, place in [("features", "rna/chromosome"), ("features", "protein/chromosome")]
    }
    for name, (shape, kind, attributes) in theirs.items():
        assert ours[name][1:] == (kind, attributes), name
        assert len(ours[name][0]) == len(shape), name
        assert name in lengths or ours[name][0] == shape, name


def test_what_is_written_is_the_fit(mofa):
    h5py, fit, given, path, order = mofa
    z, w = fit["z"].mean, fit["w"].mean
    with h5py.File(path) as file:
        samples = file["samples/group1"].asstr()[:]
        assert sorted(samples) == sorted(NAMES) and file["views/views"].asstr()[:].tolist() == ["rna", "protein"]
        np.testing.assert_array_equal(file["expectations/Z/group1"][:], z.loc[samples, order].T)
        for view, own in given.items():
            features = file[f"features/{view}"].asstr()[:]
            loadings = file[f"expectations/W/{view}"][:]
            np.testing.assert_array_equal(loadings, w[view].loc[features, order].T)
            # The data as the program standardised them: no place, and units of standard deviations.
            frame = own.to_df()
            expected = ((frame - frame.mean()) / frame.std(ddof=0)).reindex(samples)
            data = file[f"data/{view}/group1"][:]
            np.testing.assert_allclose(data, expected, atol=1e-6)
            np.testing.assert_allclose(file[f"intercepts/{view}/group1"][:], frame.mean() / frame.std(ddof=0), rtol=1e-5)
            # Variance explained, by its definition.
            at = ["rna", "protein"].index(view)
            seen = np.isfinite(data)
            factors = file["expectations/Z/group1"][:]
            total = np.sum(data[seen] ** 2)
            for k in range(4):
                rest = np.sum((data - np.outer(factors[k], loadings[k]))[seen] ** 2)
                assert file["variance_explained/r2_per_factor/group1"][at, k] == pytest.approx(100 * (1 - rest / total), abs=1e-9)
            rest = np.sum((data - factors.T @ loadings)[seen] ** 2)
            assert file["variance_explained/r2_total/group1"][at] == pytest.approx(100 * (1 - rest / total), abs=1e-9)
        # The first factor explains most.
        together = file["variance_explained/r2_per_factor/group1"][:].sum(axis=0)
        assert (np.diff(together) <= 0).all()
    shares = fit.summary["components"]["x"]["factor"]
    for view, own in shares["groups"].items():
        with h5py.File(path) as file:
            found = file["variance_explained/r2_per_factor/group1"][["rna", "protein"].index(view)]
        np.testing.assert_allclose(found, 100 * np.array([own[shares["labels"].index(k)] for k in order]), atol=1e-4)


def test_mofax_opens_it_and_draws_it(mofa):
    mofax = pytest.importorskip("mofax", reason="mofax draws models of MOFA2")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    _, fit, _, path, order = mofa
    model = mofax.mofa_model(str(path))
    assert model.shape == (60, 32) and model.nfactors == 4 and model.groups == ["group1"]
    factors = model.get_factors(df=True)
    np.testing.assert_array_equal(factors, fit["z"].mean.loc[factors.index, order])
    # mofax's own figure, from the data that are in the file.
    theirs = model.calculate_variance_explained().set_index("View")["R2"]
    np.testing.assert_allclose(model.model["variance_explained/r2_total/group1"][:], theirs.loc[["rna", "protein"]], atol=1e-6)
    for draw in (mofax.plot_r2, mofax.plot_factors_scatter, mofax.plot_weights, mofax.plot_weights_heatmap, mofax.plot_data_overview):
        assert draw(model) is not None
    model.close()


def test_groups_of_samples_and_what_is_known_of_them(mofa, tmp_path):
    h5py, fit, given, _, _ = mofa
    rna = given["rna"]
    by_series = pd.Series(["x" if own < 20 else "y" for own in range(60)], index=NAMES).sample(frac=1, random_state=0)
    cells.write_mofa(fit, tmp_path / "groups.hdf5", groups=by_series)
    with h5py.File(tmp_path / "groups.hdf5") as file:
        assert {group: own.shape for group, own in file["samples"].items()} == {"x": (20,), "y": (40,)}
        assert by_series[file["samples/x"].asstr()[:]].eq("x").all()
    alone = cavi.fit("ppca", x=rna, factor=2, seed=1)
    cells.write_mofa(alone, tmp_path / "rna.hdf5", rna, groups="batch")
    with h5py.File(tmp_path / "rna.hdf5") as file:
        samples = file["samples/b"].asstr()[:]
        np.testing.assert_array_equal(file["samples_metadata/b/age"][:], rna.obs.loc[samples, "age"])
        np.testing.assert_allclose(file["data/x/b"][:] + file["intercepts/x/b"][:], rna.to_df().loc[samples], rtol=1e-9)
    with pytest.raises(cavi.UsageError, match="column of `obs`"):
        cells.write_mofa(alone, tmp_path / "wrong.hdf5", rna, groups="tissue")
    with pytest.raises(cavi.DataError, match="3 for 60"):
        cells.write_mofa(alone, tmp_path / "wrong.hdf5", groups=["a", "b", "c"])


def test_a_fit_of_files_is_written_by_its_files(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py writes the layout of MOFA2")
    fit = cavi.fit("gfa", **cavi.example_data("gfa", tmp_path / "data"), factor=3, sweeps=10, seed=1)
    fit.save(tmp_path / "fit")
    cells.write_mofa(cavi.load(tmp_path / "fit"), tmp_path / "fit.hdf5")
    with h5py.File(tmp_path / "fit.hdf5") as file:
        table = pd.read_csv(tmp_path / "data" / "mor.csv", header=None, comment="#")
        assert file["data/mor/group1"].shape[0] == 400 and np.isfinite(file["data/mor/group1"][:]).all()
        np.testing.assert_allclose(file["data/mor/group1"][:].std(axis=0), 1, rtol=1e-6)
        assert len(table) in (400, 401)


def test_what_is_no_model_of_mofa2_is_refused(tmp_path):
    pytest.importorskip("h5py", reason="h5py writes the layout of MOFA2")
    counts = RANDOM.poisson(3.0, size=(20, 8))
    tensor = cavi.fit("poisson_tensor", y=RANDOM.poisson(1.0, size=(6, 5, 4)), sweeps=3)
    with pytest.raises(cavi.UsageError, match="samples by features"):
        cells.write_mofa(tensor, tmp_path / "tensor.hdf5")
    regression = cavi.fit("linear_regression_ard", x=RANDOM.normal(size=(20, 3)), y=RANDOM.normal(size=20), sweeps=3)
    with pytest.raises(cavi.UsageError):
        cells.write_mofa(regression, tmp_path / "regression.hdf5")
    # Rows under Multinomial are expected in proportion to their totals, which differ.
    with pytest.raises(cavi.UsageError, match="not factors times loadings"):
        cells.write_mofa(cavi.fit("lda", n=counts, topic=2, sweeps=3, warmup="none"), tmp_path / "lda.hdf5")
    assert not list(tmp_path.iterdir())


def test_counts_are_written_as_such(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py writes the layout of MOFA2")
    counts = sparse.csr_matrix(RANDOM.poisson(3.0, size=(20, 8)))
    fit = cavi.fit("nmf_gamma_joint", x=counts, programme=2, sweeps=5, seed=1)
    cells.write_mofa(fit, tmp_path / "counts.hdf5", sort=False)
    with h5py.File(tmp_path / "counts.hdf5") as file:
        assert file["model_options/likelihoods"][:].tolist() == [b"poisson"]
        np.testing.assert_allclose(file["data/x/group1"][:] + file["intercepts/x/group1"][:], counts.toarray(), atol=1e-9)
        np.testing.assert_allclose(file["intercepts/x/group1"][:], 0, atol=1e-9)


@pytest.mark.parametrize("program", ["factor_analysis", "ppca", "gfa"])
def test_entries_that_are_not_listed_are_missing_in_the_file(program, tmp_path):
    h5py = pytest.importorskip("h5py")
    random = np.random.default_rng(0)
    x = random.normal(size=(40, 1)) @ random.normal(size=(1, 6)) + 0.1 * random.normal(size=(40, 6)) + 3
    seen = random.random(x.shape) < 0.6
    rows, columns = np.nonzero(seen)
    dense, listed = np.where(seen, x, np.nan), sparse.csr_matrix((x[seen], (rows, columns)), shape=x.shape)
    files = []
    for own in (dense, listed):
        fit = cavi.fit(program, x={"v": own} if program == "gfa" else own, factor=1, seed=1, sweeps=100)
        cells.write_mofa(fit, tmp_path / "fit.hdf5")
        with h5py.File(tmp_path / "fit.hdf5") as file:
            (view,) = file["data"]
            files.append((file[f"data/{view}/group1"][:], file["variance_explained/r2_total/group1"][:], fit.elbo))
    (one, shares, elbo), (other, of_listed, of_listed_elbo) = files
    assert elbo == pytest.approx(of_listed_elbo, rel=1e-10) and np.isnan(one).sum() == (~seen).sum()
    np.testing.assert_array_equal(np.isnan(other), ~seen)
    np.testing.assert_allclose(other, one)
    np.testing.assert_allclose(of_listed, shares)
    # One factor made them, with little noise.
    assert shares[0] > 90


def test_zeros_that_are_not_listed_are_zeros_in_the_file(tmp_path):
    h5py = pytest.importorskip("h5py")
    counts = RANDOM.poisson(1.0, size=(20, 5)).astype(float)
    fits = [cavi.fit("nmf_gamma_joint", x=own, programme=2, seed=1, sweeps=20) for own in (counts, sparse.coo_array(counts))]
    written = []
    for fit in fits:
        cells.write_mofa(fit, tmp_path / "fit.hdf5")
        with h5py.File(tmp_path / "fit.hdf5") as file:
            (view,) = file["data"]
            written.append(file[f"data/{view}/group1"][:] + file[f"intercepts/{view}/group1"][:])
    np.testing.assert_allclose(written[0], counts, atol=1e-12)
    np.testing.assert_allclose(written[1], counts, atol=1e-12)


def test_a_table_of_entries_and_a_column_of_the_data_of_the_fit(tmp_path):
    h5py = pytest.importorskip("h5py")
    x = RANDOM.normal(size=(12, 4))
    long = pd.DataFrame({"sample": np.repeat([f"s{own}" for own in range(12)], 4), "feature": np.tile(list("abcd"), 12), "x": x.ravel()})
    wide = pd.DataFrame(x, index=[f"s{own}" for own in range(12)], columns=list("abcd"))
    data = anndata.AnnData(x, obs=pd.DataFrame({"batch": ["a", "b"] * 6}, index=wide.index), var=pd.DataFrame(index=list("abcd")))
    found = []
    for own in (long, wide, data):
        fit = cavi.fit("factor_analysis", x=own, factor=1, seed=1, sweeps=20)
        cells.write_mofa(fit, tmp_path / "fit.hdf5")
        with h5py.File(tmp_path / "fit.hdf5") as file:
            (view,) = file["data"]
            found.append(file[f"data/{view}/group1"][:])
    np.testing.assert_allclose(found[0], found[1])
    np.testing.assert_allclose(found[0], found[2])
    # The fit has the AnnData, and so its columns.
    cells.write_mofa(fit, tmp_path / "fit.hdf5", groups="batch")
    with h5py.File(tmp_path / "fit.hdf5") as file:
        assert [own.decode() for own in file["groups/groups"][:]] == ["a", "b"]


def test_a_matrix_that_stays_in_its_file_is_read(tmp_path):
    data = anndata.AnnData(sparse.csr_matrix(RANDOM.poisson(1.0, size=(20, 5)).astype(float)))
    data.write_h5ad(tmp_path / "x.h5ad")
    fits = [cavi.fit("nmf_gamma_joint", x=own, programme=2, sweeps=5, seed=1) for own in (data, anndata.read_h5ad(tmp_path / "x.h5ad", backed="r"))]
    assert fits[0].elbo == fits[1].elbo
