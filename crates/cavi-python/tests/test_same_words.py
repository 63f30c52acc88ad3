"""What the command line has beside a plain fit has the same name here, and the same answer."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmwrite

import cavi

RANDOM = np.random.default_rng(3)
COUNTS = sparse.csr_matrix(RANDOM.poisson(0.7, size=(40, 30)).astype(float))
#: Options of every fit here, as arguments and as options of the command line.
HOW = {"sweeps": 5, "seed": 5, "threads": 1}
OPTIONS = [word for name, value in HOW.items() for word in (f"--{name}", value)]


def command(*arguments):
    done = subprocess.run([sys.executable, "-m", "cavi", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def posterior(directory):
    """The files of the posterior as bytes."""
    return {own.name: own.read_bytes() for own in (directory / "posterior").rglob("*.npy")}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The counts as a file, which fits of the command line and of Python read alike."""
    path = tmp_path_factory.mktemp("data") / "n.mtx"
    mmwrite(path, COUNTS)
    return path


@pytest.fixture(scope="module")
def fit(data):
    return cavi.fit("lda", n=data, topic=3, **HOW)


def test_a_cross_validation_has_the_scores_of_the_command_line(data, tmp_path):
    fit = cavi.fit("lda", n=data, topic=3, folds=3, **HOW)
    command("fit", "lda", "--data", f"n={data}", "--set", "topic=3", "--folds", 3, *OPTIONS, "--quiet", "--out", tmp_path / "fit")
    told = json.loads((tmp_path / "fit" / "summary.json").read_text())
    assert fit.folds == told["folds"] and fit.folds["n_folds"] == 3
    assert len(fit.folds["arrays"]["n"]["each"]) == 3 and fit.folds["arrays"]["n"]["mean"] < 0
    assert posterior(fit.path) == posterior(tmp_path / "fit")
    assert cavi.fit("lda", n=data, topic=3, **HOW).folds is None


def test_a_cross_validation_is_refused_in_words(data, fit):
    for wrong, words in [({"folds": 1}, "folds=1"), ({"folds": 3, "heldout": {"n": 0.1}}, "heldout"), ({"folds": 3, "init": fit}, "init")]:
        with pytest.raises(cavi.UsageError, match=words):
            cavi.fit("lda", n=data, topic=3, **HOW, **wrong)
    with pytest.raises(cavi.UsageError, match="fold 1 of 3"):
        cavi.fit("lda", n=data, topic=3, folds=3, **HOW, callback=lambda _: False)


def test_shards_have_the_bits_of_the_command_line(data, tmp_path):
    ordinary = {"allocations": "ordinary", "warmup": "none"}
    fit = cavi.fit("lda", n=data, topic=3, shards="doc=4", **HOW, **ordinary)
    options = [word for name, value in ordinary.items() for word in (f"--{name}", value)]
    command("fit", "lda", "--data", f"n={data}", "--set", "topic=3", "--shards", "doc=4", *OPTIONS, *options, "--quiet", "--out", tmp_path / "fit")
    assert posterior(fit.path) == posterior(tmp_path / "fit")
    assert fit.summary["settings"]["shards"] == "doc=4"
    with pytest.raises(cavi.CaviError, match="no axis .dock."):
        cavi.fit("lda", n=data, topic=3, shards="dock", **HOW)


def test_packed_data_have_the_bits_of_their_file(data, fit, tmp_path):
    packed = cavi.pack("lda", tmp_path / "own.cavi-data", n=data)
    command("pack", "lda", "--data", f"n={data}", "--quiet", "--out", tmp_path / "other.cavi-data")
    assert packed.read_bytes() == (tmp_path / "other.cavi-data").read_bytes()
    assert posterior(cavi.fit("lda", n=packed, topic=3, **HOW).path) == posterior(fit.path)
    in_memory = cavi.pack("lda", tmp_path / "memory.cavi-data", n=COUNTS)
    assert posterior(cavi.fit("lda", n=in_memory, topic=3, **HOW).path) == posterior(fit.path)
    with pytest.raises(cavi.UsageError, match="cavi-data"):
        cavi.pack("lda", tmp_path / "own.data", n=data)


def test_tables_are_those_of_the_command_line(fit, tmp_path):
    paths = fit.export(tmp_path / "own")
    command("export", fit.path, "--csv", "--quiet", "--out", tmp_path / "other")
    assert {own.name for own in paths} >= {"beta.csv", "beta.long.csv", "theta.csv"}
    assert all(own.read_bytes() == (tmp_path / "other" / own.name).read_bytes() for own in paths)
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "letter.txt").write_text("of somebody else's")
    with pytest.raises(cavi.CaviError, match="others"):
        fit.export(tmp_path / "others")
    assert (tmp_path / "others" / "letter.txt").exists()


@pytest.mark.parametrize("by", ["weight", "lift", "frex"])
def test_the_largest_entries_are_those_of_the_command_line(fit, by):
    listed = fit.top("beta", 4, by=by)
    shown = command("top", fit.path, "beta", "--n", 4, "--by", by)
    assert list(listed) == fit.axis("topic") and all(len(entries) == 4 for entries in listed.values())
    values = fit["beta"].mean
    for topic, entries in listed.items():
        own = next(line for line in shown.splitlines() if line.strip().startswith(f"topic {topic}"))
        places = [own.find(f" {word} ") for word, _ in entries[:-1]]
        assert -1 not in places and places == sorted(places), (own, entries)
        assert all(value == values.loc[topic, word] for word, value in entries)
    # Over the other axis: the topics of each word.
    over = fit.top("beta", 2, by=by, over="topic")
    assert list(over) == fit.axis("word") and all(len(entries) == 2 for entries in over.values())


def test_an_order_that_there_is_not_is_refused(fit):
    for wrong, words in [({"by": "size"}, "weight, lift or frex"), ({"over": "author"}, "author")]:
        with pytest.raises(cavi.CaviError, match=words):
            fit.top("beta", **wrong)


def test_a_code_is_explained_as_on_the_command_line():
    assert cavi.explain("e0310") == command("explain", "E0310")
    assert "E0310  " in cavi.explain()
    with pytest.raises(cavi.UsageError, match=r"near it: .*cavi\.explain"):
        cavi.explain("E0398")
