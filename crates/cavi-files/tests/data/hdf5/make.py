"""Writes the files of this folder with anndata, h5py and scipy, and beside them what they hold, as text.

    pip install anndata h5py scipy pandas
    python make.py

Ten cells by six genes; two genes share a symbol in the files whose names say so.
"""

import gzip
import pathlib

import anndata as ad
import h5py
import numpy as np
import pandas as pd
import scipy.io as sio
import scipy.sparse as sp

here = pathlib.Path(__file__).parent
draws = np.random.default_rng(7)
counts = draws.poisson(0.8, size=(10, 6)).astype(np.float32)
counts[3, :] = 0
counts[0, 0] = 5
cells = [f"CELL{row}-1" for row in range(10)]
genes = ["CD3E", "MS4A1", "GNLY", "NKG7", "LYZ", "PPBP"]
twice = ["CD3E", "TBCE", "GNLY", "TBCE", "LYZ", "PPBP"]
obs = pd.DataFrame(
    {
        "kind": pd.Categorical(["T", "B", "T", "B", "NK", "NK", "T", "B", "NK", "T"]),
        "depth": counts.sum(axis=1).astype(np.float64),
        "plate": np.arange(10) % 3,
        "site": [f"s{row % 2}" for row in range(10)],
    },
    index=cells,
)
obs.loc[cells[4], "kind"] = np.nan


def table(matrix, columns, path):
    pd.DataFrame(matrix, index=cells, columns=columns).to_csv(path)


def annotated(x, names=genes):
    return ad.AnnData(X=x, obs=obs.copy(), var=pd.DataFrame(index=names))


annotated(counts).write_h5ad(here / "dense.h5ad")
annotated(sp.csr_matrix(counts)).write_h5ad(here / "csr.h5ad", compression="gzip")
annotated(sp.csc_matrix(counts)).write_h5ad(here / "csc.h5ad", compression="lzf")
annotated(sp.csr_matrix(counts.astype(np.int32)), twice).write_h5ad(here / "twice.h5ad")
table(counts, genes, here / "counts.csv")

rich = annotated(np.log1p(counts))
rich.layers["counts"] = sp.csr_matrix(counts.astype(np.int64))
rich.layers["doubled"] = (2 * counts).astype(np.float64)
rich.raw = annotated(sp.csr_matrix(counts))
rich = rich[:, :4].copy()
rich.obsm["X_pca"] = draws.normal(size=(10, 2))
rich.obsm["protein"] = pd.DataFrame({"CD3": np.arange(10), "CD19": np.arange(10)[::-1]}, index=cells)
rich.write_h5ad(here / "rich.h5ad", compression="gzip")
table(np.log1p(counts)[:, :4], genes[:4], here / "logs.csv")

# Whole chunks, a gap among them, and big-endian numbers.
with h5py.File(here / "plain.h5", "w") as file:
    file.create_dataset("a/whole", data=np.arange(12, dtype=">i4").reshape(3, 4))
    chunked = file.create_dataset(
        "a/chunked", shape=(1000, 3), dtype="f8", chunks=(64, 2), compression="gzip", shuffle=True, fletcher32=True
    )
    chunked[:300] = np.arange(900).reshape(300, 3)
    file.create_dataset("truth", data=np.array([True, False, True]))
    file.create_dataset("one", data=2.5)
    file.create_dataset("text", data=np.array([b"a", b"b"]))

# Groups that hold each other, so that paths have no end.
with h5py.File(here / "loop.h5", "w") as file:
    for name in ("a", "b"):
        file.create_group(name)
        file[name]["own"] = file[name]
    file["a/b"], file["b/a"] = file["b"], file["a"]
    file.create_dataset("numbers", data=np.arange(3.0))


def ten_x(path, names, kinds, version):
    """What Cell Ranger writes: genes by cells, by columns."""
    matrix = sp.csc_matrix(counts.T.astype(np.int32))
    fixed = lambda texts: np.array([text.encode() for text in texts])
    with h5py.File(path, "w") as file:
        group = file.create_group("matrix" if version == 3 else "GRCh38")
        for name in ("data", "indices", "indptr"):
            values = getattr(matrix, name)
            values = values.astype(np.int64) if name != "data" else values
            group.create_dataset(name, data=values, compression="gzip", chunks=True, shuffle=True)
        group.create_dataset("shape", data=np.array(matrix.shape, dtype=np.int32))
        group.create_dataset("barcodes", data=fixed(cells))
        ids = [f"ENSG{row:05}" for row in range(6)]
        if version == 3:
            features = group.create_group("features")
            features.create_dataset("id", data=fixed(ids))
            features.create_dataset("name", data=fixed(names))
            features.create_dataset("feature_type", data=fixed(kinds))
            features.create_dataset("genome", data=fixed(["GRCh38"] * 6))
        else:
            group.create_dataset("genes", data=fixed(ids))
            group.create_dataset("gene_names", data=fixed(names))


expressed = ["Gene Expression"] * 6
ten_x(here / "ten_x.h5", genes, expressed, 3)
ten_x(here / "ten_x_2.h5", genes, expressed, 2)
ten_x(here / "ten_x_twice.h5", twice, expressed, 3)
ten_x(here / "ten_x_kinds.h5", genes, ["Gene Expression"] * 4 + ["Antibody Capture"] * 2, 3)

for folder, names, kinds in [
    ("ten_x", genes, expressed),
    ("ten_x_twice", twice, expressed),
    ("ten_x_kinds", genes, ["Gene Expression"] * 4 + ["Antibody Capture"] * 2),
]:
    path = here / folder
    path.mkdir(exist_ok=True)
    with gzip.GzipFile(path / "matrix.mtx.gz", "wb", mtime=0) as file:
        sio.mmwrite(file, sp.coo_matrix(counts.T.astype(np.int32)))
    with gzip.GzipFile(path / "features.tsv.gz", "wb", mtime=0) as file:
        for row in range(6):
            file.write(f"ENSG{row:05}\t{names[row]}\t{kinds[row]}\n".encode())
    with gzip.GzipFile(path / "barcodes.tsv.gz", "wb", mtime=0) as file:
        file.write("".join(f"{cell}\n" for cell in cells).encode())


def frame(file, path, index, order):
    """A group as anndata writes a data frame."""
    group = file.create_group(path)
    group.attrs["encoding-type"] = "dataframe"
    group.attrs["encoding-version"] = "0.1.0"
    group.attrs["_index"] = "_index"
    group.attrs.create("column-order", np.array(order, dtype=object), dtype=h5py.string_dtype())
    group.create_dataset("_index", data=np.array(index, dtype=object), dtype=h5py.string_dtype())
    return group


# Categories as anndata 0.7 wrote them: codes that point to a list beside the columns. And whole numbers that are no doubles.
with h5py.File(here / "old.h5ad", "w") as file:
    file.create_dataset("X", data=np.arange(8.0).reshape(4, 2))
    obs = frame(file, "obs", ["c1", "c2", "c3", "c4"], ["age", "kind", "donor"])
    lists = obs.create_group("__categories")
    for name, texts, codes in [("age", ["30", "45", "60"], [0, 2, 1, 2]), ("kind", ["T", "B"], [1, 0, -1, 1])]:
        lists.create_dataset(name, data=np.array(texts, dtype=object), dtype=h5py.string_dtype())
        column = obs.create_dataset(name, data=np.array(codes, dtype="i1"))
        column.attrs["categories"] = lists[name].ref
    first = 2**53 + 1
    obs.create_dataset("donor", data=np.array([first, first, first - 1, first - 1], dtype="i8"))
    frame(file, "var", ["g1", "g2"], [])

# Categories in Latin-1, and arrays of names for whole numbers.
with h5py.File(here / "latin.h5ad", "w") as file:
    file.create_dataset("X", data=np.arange(4.0).reshape(2, 2))
    obs = frame(file, "obs", ["c1", "c2"], ["fixed", "variable"])
    for name, dtype in [("fixed", "S4"), ("variable", h5py.string_dtype("ascii"))]:
        column = obs.create_group(name)
        column.attrs["encoding-type"] = "categorical"
        column.create_dataset("categories", data=np.array([b"caf\xe9", b"caf\xe8"], dtype="S4").astype(dtype), dtype=dtype)
        column.create_dataset("codes", data=np.array([0, 1], dtype="i1"))
    frame(file, "var", ["g1", "g2"], [])
with h5py.File(here / "names.h5", "w") as file:
    low = h5py.enum_dtype({"LOW": -1, "HIGH": 2}, basetype="i1")
    file.create_dataset("low", data=np.array([-1, 2, 2, -1], dtype="i1"), dtype=low)
    three = h5py.enum_dtype({"A": -300, "B": 2, "C": 70000}, basetype=">i4")
    file.create_dataset("three", data=np.array([-300, 70000, 2], dtype=">i4"), dtype=three)
    file["link"] = h5py.SoftLink("/nowhere")
