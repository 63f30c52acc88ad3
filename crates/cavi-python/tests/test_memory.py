"""A dense array is copied once: the caller has it, the fit has it, and the run of this program keeps squares of it."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "tests" / "long" / "memory.py"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from /proc")
def test_a_dense_array_is_copied_once():
    done = subprocess.run([sys.executable, str(SCRIPT), "200", "--limit", "3.15"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


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
