"""Makes the reference files of this directory with NumPy and SciPy: `python make.py` within it."""

import gzip

import numpy as np
import scipy.sparse as sp

# Every type, both byte orders: 0 to 5 in two rows, written in C and in Fortran order.
types = {}
for kind in "f4 f8 i1 i2 i4 i8 u1 u2 u4 u8".split():
    for order in "<>":
        array = np.arange(6, dtype=order + kind).reshape(2, 3)
        types[f"{kind}{order}c"] = array
        types[f"{kind}{order}fortran"] = np.asfortranarray(array)
np.savez_compressed("types.npz", **types)
np.save("bool.npy", np.array([True, False, True]))
np.save("signed.npy", np.array([-1, -32768, 7], dtype="i2"))
np.save("missing.npy", np.array([[1.5, np.nan], [np.inf, -0.0]]))
np.save("scalar.npy", np.array(0.25))
np.save("empty.npy", np.zeros((0, 3)))
np.save("fortran_3.npy", np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)))
np.save("complex.npy", np.array([1j]))
np.save("structured.npy", np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]))
np.save("text.npy", np.array(["ab", "c"]))
np.save("wide.npy", np.array([2**53 + 1]))
np.save("object.npy", np.array([None, 1], dtype=object), allow_pickle=True)
for version in (2, 3):
    with open(f"version_{version}.npy", "wb") as file:
        np.lib.format.write_array(file, np.arange(3.0), version=(version, 0))
with gzip.GzipFile("gzip.npy.gz", "wb", mtime=0) as file:
    np.save(file, np.arange(4.0))

# What the writer must reproduce byte for byte: many shapes, so that the padding of the header is met at its limits.
with open("written.bin", "wb") as file:
    shapes = [(), (1,), (7,), (2, 3), (10, 1), (1, 1, 1, 1, 1), (12, 1, 1, 1, 1, 1, 1)]
    shapes += [(1,) * n for n in range(8, 33)] + [(0, 12345, 7), (0, 1234567890123), (100, 2)]
    for shape in shapes:
        np.save(file, np.arange(np.prod(shape, dtype=int), dtype="f8").reshape(shape) / 3)
        np.save(file, np.arange(np.prod(shape, dtype=int), dtype="i8").reshape(shape) - 2)

# The matrix [[0 2 0 0] [1.5 0 0 nan] [0 0 0 0]] in each sparse format; `coo` lists (0, 1) twice, as 2 = 0.5 + 1.5.
matrix = sp.csr_matrix(np.array([[0, 2, 0, 0], [1.5, 0, 0, np.nan], [0, 0, 0, 0]]))
for name in ("csr", "csc", "bsr", "dia"):
    sp.save_npz(f"{name}.npz", matrix.asformat(name))
coo = sp.coo_matrix(([0.5, 1.5, np.nan, 1.5], ([0, 1, 1, 0], [1, 0, 3, 1])), shape=(3, 4))
sp.save_npz("coo.npz", coo)
sp.save_npz("coo_array.npz", sp.coo_array(coo))
sp.save_npz("csr_int_stored.npz", sp.csr_array(np.array([[0, 3], [4, 0]])), compressed=False)
np.savez("one.npz", np.arange(6.0).reshape(2, 3))
np.savez("two.npz", a=np.arange(2), b=np.zeros(1))
np.savez_compressed("start.npz", **{"w.mean/rna": np.arange(4.0).reshape(2, 2), "w.mean/b.c": np.ones(1),
                                    "tau.rate": np.array(2.0), "w.index": np.array([[1, 2]])})
