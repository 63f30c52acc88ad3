"""Messages of the library, which name options of the command line, in the words of Python: ``--draws 0`` is ``draws=0`` here.

The library and the command line share their messages. An option that has an argument of Python is called by it, with its value as Python writes it; all
else stays as it is.
"""

from __future__ import annotations

import re

__all__ = ["in_python"]

#: Options whose argument has another name, or dashes.
RENAMED = {
    "checkpoint-every": "checkpoint_every",
    "elbo-every": "elbo_every",
    "for": "each",
    "from": "source",
    "heldout-totals": "heldout_totals",
    "k-hat": "k_hat",
    "linear-response": "linear_response",
    "not-in": "not_in",
}
#: Options of one value.
VALUED = {
    "accelerate", "allocations", "axis", "batch", "bootstrap", "checkpoint-every", "draws", "elbo-every", "fits", "folds", "init", "k-hat", "keep", "level", "metrics",
    "not-in", "of", "out", "over", "precision", "rank", "restarts", "resume", "rows", "schedule", "seed", "shards", "stat", "sweeps", "threads", "tol", "transpose", "variable", "warmup",
}  # fmt: skip
#: Options whose values are NAME=VALUE, dictionaries here. `--by` has both forms, and so has `--from`.
NAMED = {"by", "columns", "data", "fix", "for", "given", "heldout", "labels", "set", "total"}
#: Options without a value.
FLAGS = {"all", "grow", "heldout-totals", "linear-response", "unique", "unseen", "verify"}
#: Options of texts, which are entries of the dictionary ``texts``.
OF_TEXTS = {"max-docs", "min-docs", "ngrams", "stem", "stop-words", "words"}
#: What the commands are called here.
COMMANDS = {
    "calibrate": "cavi.calibrate",
    "choose": "cavi.choose",
    "compare": "cavi.compare",
    "explain": "cavi.explain",
    "fit": "cavi.fit",
    "match": "cavi.match",
    "pack": "cavi.pack",
    "plan": "cavi.plan",
    "simulate": "cavi.simulate",
    "check-fit": "fit.check_fit",
    "export": "fit.export",
    "impute": "fit.impute",
    "intervals": "fit.intervals",
    "project": "fit.transform",
    "report": "fit.report",
    "sample": "fit.sample",
    "score": "fit.score",
    "top": "fit.top",
}

_VALUE = r"(?:'[^'`]*'|[^\s`,;)']+(?:,[^\s`,;)']+)*)"
_OPTION = re.compile(rf"--(?P<option>[a-z][a-z-]*)(?:(?P<gap>[ =])(?P<value>{_VALUE}))?")
_COMMAND = re.compile(rf"\bcavi (?P<command>[a-z-]+)(?P<rest>(?: (?:\.\.\.|[EW]\d{{4}}\b|[A-Z]+|--[a-z][a-z-]*(?: {_VALUE})?))*)")
#: A line of the program that a message shows.
_SHOWN = re.compile(r"^\s*\d+ \| ")


def in_python(text: str) -> str:
    """The message with arguments of Python in the place of options."""
    return "\n".join(line if _SHOWN.match(line) else _OPTION.sub(_argument, _COMMAND.sub(_call, line)) for line in text.split("\n"))


def _call(found) -> str:
    """A command as a call; one that has no call here as it is."""
    own = COMMANDS.get(found["command"])
    if own is None:
        return found[0]
    # The directory of a fit is the object here, and a variable its first argument.
    places = [place for place in re.findall(r"(?<= )(\.\.\.|[EW]\d{4}|[A-Z]+)(?= |$)", re.sub(rf"--[a-z-]+ {_VALUE}", "", found["rest"]))]
    if own.startswith("fit."):
        places = [place for place in places if place not in ("DIR", "MODEL")]
    # A code is a text.
    places = [f'"{place}"' if re.fullmatch(r"[EW]\d{4}", place) else place for place in places]
    options = [_argument(option) for option in _OPTION.finditer(found["rest"])]
    if any(option.startswith("--") for option in options):
        return found[0]
    return f"{own}({', '.join([*places, *options])})" if places or options else own


def _argument(found) -> str:
    """One option as an argument."""
    option, value = found["option"], found["value"]
    rest = f"{found['gap']}{value}" if value is not None else ""
    if option in OF_TEXTS:
        own = '"' + option.replace("-", "_") + '"'
        return f"texts={{{own}: ...}}{rest}" if value is None or not _is_value(found) else f"texts={{{own}: {_shown(value.strip(chr(39)))}}}"
    known = option in VALUED or option in NAMED or option in FLAGS or option in RENAMED
    if not known:
        return found[0]
    name = RENAMED.get(option, option)
    if option in FLAGS:
        return f"{name}=True{rest}"
    if value is None:
        return name
    value = value.strip("'")
    pair = re.fullmatch(r"([^=]+)=(.*)", value)
    if option in NAMED and pair:
        return f"{name}={_entry(pair[1], pair[2])}"
    if _is_value(found):
        if option == "accelerate" and value in ("auto", "none"):
            return f"accelerate={value == 'auto'}"
        return f"{name}={_shown(value)}"
    return f"{name}{rest}"


def _is_value(found) -> bool:
    """Whether what follows an option is its value: outside of a code span a word that follows may be the next word of the sentence."""
    in_code = found.string[: found.start()].count("`") % 2 == 1
    value = found["value"].strip("'")
    return in_code or found["value"].startswith("'") or value.isupper() or _is_number(value)


def _entry(key: str, value: str) -> str:
    """A dictionary of one entry; ``x[GROUP]`` is one of a group."""
    group = re.fullmatch(r"(.+)\[(.*)\]", key)
    if group:
        return f"{{{_shown(group[1], True)}: {{{_shown(group[2], True)}: {_shown(value)}}}}}"
    return f"{{{_shown(key, True)}: {_shown(value)}}}"


def _shown(value: str, is_key: bool = False) -> str:
    """A value as Python writes it: numbers and placeholders in capitals as they are, all else as a text."""
    is_bare = re.fullmatch(r"[A-Z]+(?:\[[A-Z]+\])?|\.\.\.|\{.*\}", value) or (not is_key and _is_number(value))
    return value if is_bare else f'"{value}"'


def _is_number(value: str) -> bool:
    try:
        float(value)
        return True
    except ValueError:
        return False
