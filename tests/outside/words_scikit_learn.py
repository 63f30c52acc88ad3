"""Words of texts as scikit-learn counts them: run in this folder, `python words_scikit_learn.py`.

The documents are first lines of books in the public domain, without apostrophes, digits and letters beyond ASCII, of which
`(?u)\\b\\w\\w+\\b` makes the words that the Unicode standard makes of them.
"""

import json
import pathlib
import platform

import sklearn
from sklearn.feature_extraction.text import CountVectorizer

HERE = pathlib.Path(__file__).parent

DOCUMENTS = [
    # Melville, Moby-Dick (1851)
    "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse, and nothing "
    "particular to interest me on shore, I thought I would sail about a little and see the watery part of the world.",
    # Dickens, A Tale of Two Cities (1859)
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness, it was the "
    "epoch of belief, it was the epoch of incredulity, it was the season of Light, it was the season of Darkness.",
    # Austen, Pride and Prejudice (1813)
    "It is a truth universally acknowledged, that a single man in possession of a good fortune, must be in want of a wife. "
    "However little known the feelings or views of such a man may be on his first entering a neighbourhood, this truth is so "
    "well fixed in the minds of the surrounding families.",
    # Darwin, On the Origin of Species (1859)
    "When we look to the individuals of the same variety or sub-variety of our older cultivated plants and animals, one of the "
    "first points which strikes us, is, that they generally differ much more from each other, than do the individuals of any "
    "one species or variety in a state of nature.",
    # Genesis 1, King James Version (1611)
    "In the beginning God created the heaven and the earth. And the earth was without form, and void; and darkness was upon the "
    "face of the deep. And the Spirit of God moved upon the face of the waters. And God said, Let there be light: and there was "
    "light.",
    # Carroll, Alice in Wonderland (1865)
    "Alice was beginning to get very tired of sitting by her sister on the bank, and of having nothing to do: once or twice she "
    "had peeped into the book her sister was reading, but it had no pictures or conversations in it.",
    # Lincoln, Gettysburg (1863)
    "Four score and seven years ago our fathers brought forth on this continent, a new nation, conceived in Liberty, and "
    "dedicated to the proposition that all men are created equal.",
]
STOP_WORDS = ["the", "of", "and", "it", "was", "in", "to"]
CASES = [
    {"min_docs": 1},
    {"min_docs": 2},
    {"min_docs": 2, "max_docs": 0.5},
    {"min_docs": 1, "max_docs": 2, "stop_words": True},
    {"min_docs": 2, "ngrams": 2},
    {"min_docs": 1, "ngrams": 3, "max_docs": 0.4, "stop_words": True},
    {"min_docs": 1, "words": 5},
    {"min_docs": 2, "words": 1, "stop_words": True},
]


def count(case):
    options = {
        "token_pattern": r"(?u)\b\w\w+\b",
        "min_df": case["min_docs"],
        "max_df": case.get("max_docs", 1.0),
        "ngram_range": (1, case.get("ngrams", 1)),
        "stop_words": STOP_WORDS if case.get("stop_words") else None,
    }
    vectorizer = CountVectorizer(**options, max_features=case.get("words"))
    counts = vectorizer.fit_transform(DOCUMENTS).toarray()
    if "words" in case:
        # Which of equally frequent words stays is not defined there.
        every = sorted(CountVectorizer(**options).fit_transform(DOCUMENTS).toarray().sum(axis=0))[::-1]
        assert every[case["words"] - 1] > every[case["words"]], case
    return case | {"vocabulary": vectorizer.get_feature_names_out().tolist(), "counts": counts.tolist()}


versions = {"python": platform.python_version(), "scikit-learn": sklearn.__version__}
result = {"versions": versions, "documents": DOCUMENTS, "stop_words": STOP_WORDS, "cases": [count(case) for case in CASES]}
(HERE / "words_scikit_learn.json").write_text(json.dumps(result) + "\n")
