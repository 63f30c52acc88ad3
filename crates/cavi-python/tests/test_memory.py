"""A dense array is read where the caller has it, by fits that neither centre nor scale it."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "tests" / "long" / "memory.py"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from /proc")
def test_a_dense_array_is_not_copied():
    # What a fit takes beside the data, some 20 MB, is a larger part of these than of data that fill a memory.
    done = subprocess.run([sys.executable, str(SCRIPT), "300", "--limit", "1.2"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_array_stays_as_it_is():
    import numpy as np

    import cavi

    program = "axis row[i]\naxis column[j]\ndata x[i, j] : real, absent = NA, center over i\nm[i] ~ Normal(0, sd = 1)\nx[i, j] ~ Normal(m[i], sd = 1)\n"
    for missing in (False, True):
        x = np.random.default_rng(0).normal(size=(60, 100))
        if missing:
            x[2, 1] = np.nan
        before = x.copy()
        fits = [cavi.fit(program, x=x, seed=1, threads=threads) for threads in (1, 2)]
        np.testing.assert_array_equal(x, before)
        # An array that does not begin at a multiple of its numbers' size is copied, and gives the same.
        room = np.empty(x.nbytes + 1, dtype=np.uint8)
        shifted = room[1:].view(np.float64).reshape(x.shape)
        shifted[:] = x
        fits.append(cavi.fit(program, x=shifted, seed=1))
        assert len({fit.elbo for fit in fits}) == 1


def test_labels_and_orders_of_memory_do_not_matter_to_the_copy():
    import numpy as np
    import pandas as pd

    import cavi

    program = "axis row[i]\naxis column[j]\ndata x[i, j] : real, absent = NA\nm[i] ~ Normal(0, sd = 1)\nx[i, j] ~ Normal(m[i], sd = 1)\n"
    x = np.random.default_rng(0).normal(size=(6, 4))
    x[2, 1] = np.nan
    frame = pd.DataFrame(x, index=list("uvwxyz"), columns=list("abcd"))
    fits = [
        cavi.fit(program, x=x),
        cavi.fit(program, x=np.asfortranarray(x)),
        cavi.fit(program, x=frame),
        # Columns in another order than the labels that are given, so that no number is where it belongs.
        cavi.fit(program, x=frame[list("dcba")], labels={"column": list("abcd")}),
        cavi.fit(program, x=x.T.copy(), transpose="x"),
    ]
    assert all(own.elbo == pytest.approx(fits[0].elbo, rel=1e-12) for own in fits)
    np.testing.assert_allclose(fits[3]["m"].array, fits[0]["m"].array, rtol=1e-12)
    # The array is as it was.
    assert np.isnan(x[2, 1]) and np.isfinite(x).sum() == 23
