"""Writes blood.h5ad: counts of 150 blood cells of four kinds, of the 60 genes that differ most between them.

The counts are those of scanpy's bundled example (10x Genomics, PBMC 68k, reduced; BSD-3-Clause), read from
../../../shared/data/pbmc68k_reduced or from scanpy's repository.

    pip install anndata scipy pandas
    python blood.py
"""

import gzip
import pathlib
import sys

import anndata as ad
import numpy as np
import pandas as pd
import scipy.io as sio
import scipy.sparse as sp

source = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "../../../shared/data/pbmc68k_reduced")
with gzip.open(source / "counts.mtx.gz") as file:
    counts = sp.csr_matrix(sio.mmread(file))
genes = (source / "genes.txt").read_text().split("\n")[: counts.shape[1]]
kinds = np.array((source / "celltypes.txt").read_text().split("\n")[: counts.shape[0]])
chosen = {"CD14+ Monocyte": 40, "CD19+ B": 40, "CD56+ NK": 30, "CD8+ Cytotoxic T": 40}
rows = np.sort(np.concatenate([np.flatnonzero(kinds == kind)[:size] for kind, size in chosen.items()]))
part = counts[rows].toarray().astype(np.float64)
shares = part / part.sum(axis=1, keepdims=True)
means = np.array([shares[kinds[rows] == kind].mean(axis=0) for kind in chosen])
spread = means.var(axis=0) / (means.mean(axis=0) + 1e-6)
columns = np.sort(np.argsort(-spread)[:60])
print(dict(zip(*np.unique(kinds[rows], return_counts=True))), part.shape)
obs = pd.DataFrame({"kind": pd.Categorical(kinds[rows])}, index=[f"cell{row}" for row in rows])
ad.AnnData(
    X=sp.csr_matrix(part[:, columns].astype(np.float32)), obs=obs, var=pd.DataFrame(index=np.array(genes)[columns])
).write_h5ad("blood.h5ad", compression="gzip")
