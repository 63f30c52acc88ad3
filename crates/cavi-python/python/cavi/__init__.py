"""Cavi: a factor model as text; its variational inference derived, shown and run.

>>> import cavi
>>> program = cavi.compile("lda")                    # a built-in program, a file, or a text
>>> fit = cavi.fit("lda", n=counts, topic=20)        # NumPy, SciPy sparse, pandas, files
>>> fit["beta"].mean                                 # topics by words, with labels
>>> fit.transform(n=new_counts)["theta"].mean        # topics of new documents

A fit is the directory that the command line writes: ``fit.save(directory)`` and ``cavi.load(directory)`` exchange fits with it.
"""

from ._core import (
    BrokenPromise,
    CaviError,
    DataError,
    ProgramError,
    UsageError,
    __version__,
)
from ._asking import Choice, Simulated, choose, compare, match, simulate
from ._fit import CaviWarning, Fit, Variable, fit, load, pack, plan, read, score
from ._program import Program, builtin, compile, example_data, explain
from ._uncertain import Calibration, Check, calibrate

__all__ = [
    "BrokenPromise",
    "Calibration",
    "CaviError",
    "CaviWarning",
    "Check",
    "Choice",
    "DataError",
    "Fit",
    "Program",
    "ProgramError",
    "Simulated",
    "UsageError",
    "Variable",
    "__version__",
    "builtin",
    "calibrate",
    "choose",
    "compare",
    "compile",
    "example_data",
    "explain",
    "fit",
    "load",
    "match",
    "pack",
    "plan",
    "read",
    "score",
    "simulate",
]
