"""Messages name arguments of Python, not options of the command line."""

import numpy as np
import pytest

import cavi
from cavi._words import in_python

COUNTS = np.random.default_rng(0).poisson(1.0, size=(12, 8))


@pytest.mark.parametrize(
    ("option", "argument"),
    [
        ("`--draws 0`: found no draw; expected at least 1", "`draws=0`: found no draw; expected at least 1"),
        ("`--bootstrap 200` applies to any program", "`bootstrap=200` applies to any program"),
        ("`--bootstrap N` without `--rows` draws data", "`bootstrap=N` without `rows` draws data"),
        ("`--rows user`: the program has no axis", '`rows="user"`: the program has no axis'),
        ("--all predicts those that are listed", "all=True predicts those that are listed"),
        ("--variable and --axis name them", "variable and axis name them"),
        ("--variable names a latent", "variable names a latent"),
        ("`--set AXIS=SIZE` sets it", "`set={AXIS: SIZE}` sets it"),
        ("`--set topic=2`, or another", '`set={"topic": 2}`, or another'),
        ("`--data 'x[rna]=rna.csv'` if", '`data={"x": {"rna": "rna.csv"}}` if'),
        ("`--heldout n=0.1`", '`heldout={"n": 0.1}`'),
        ("cavi fit ... --heldout NAME=0.1", "cavi.fit(..., heldout={NAME: 0.1})"),
        (
            "`cavi fit ... --tol 1e-10 --sweeps 100000`, or `--accelerate auto`",
            "`cavi.fit(..., tol=1e-10, sweeps=100000)`, or `accelerate=True`",
        ),
        ("`cavi intervals DIR VAR --linear-response`; or", "`fit.intervals(VAR, linear_response=True)`; or"),
        ("`cavi plan` shows what", "`cavi.plan` shows what"),
        ("`--warmup 'means 60'` of", '`warmup="means 60"` of'),
        ("`--for user=u7`: the fit has no such label", '`each={"user": "u7"}`: the fit has no such label'),
        ("the one of `--from`", "the one of `source`"),
        ("`--k-hat {DRAWS}` works it out", "`k_hat={DRAWS}` works it out"),
        ("`cavi explain E0601`", '`cavi.explain("E0601")`'),
        ("`cavi explain` lists all", "`cavi.explain` lists all"),
        ("`cavi top DIR VAR`", "`fit.top(VAR)`"),
        ("`--shards doc=16`, or", '`shards="doc=16"`, or'),
        ("`--min-docs 1` keeps words", '`texts={"min_docs": 1}` keeps words'),
        ("--stop-words names", 'texts={"stop_words": ...} names'),
        ("`--columns x=school:a,pupil:b,value:x` if", '`columns={"x": "school:a,pupil:b,value:x"}` if'),
        # What has no argument here stays.
        ("`--memory-limit 1GB` bounds it", "`--memory-limit 1GB` bounds it"),
        ("13 | x = 1 # --draws 3", "13 | x = 1 # --draws 3"),
    ],
)
def test_an_option_is_an_argument(option, argument):
    assert in_python(option) == argument


def test_mistakes_are_told_in_arguments():
    fit = cavi.fit("hpf", y=COUNTS, taste=2, sweeps=3, seed=1)
    asked = [
        (lambda: fit.sample(draws=0), "draws=0"),
        (lambda: fit.intervals("beta", bootstrap=1), "bootstrap=1"),
        (lambda: fit.intervals("beta", bootstrap=2, rows="doc"), 'rows="doc"'),
        (lambda: cavi.fit("hpf", y=COUNTS, set={"a": -1}), 'with `set={"a": ...}`'),
        (lambda: cavi.fit("hpf"), "data={"),
        (lambda: cavi.calibrate("hpf", user=5, item=5, fits=2), "fits=2"),
    ]
    for call, words in asked:
        with pytest.raises(cavi.CaviError, match=words) as raised:
            call()
        assert "`--" not in str(raised.value)
