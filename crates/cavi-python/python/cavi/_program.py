"""Programs: texts, files and built-in ones."""

from __future__ import annotations

import html
import os
import warnings
from pathlib import Path

from . import _core
from ._words import in_python


class CaviWarning(UserWarning):
    """What there is to say about a program or its data, though they can be run."""


def builtin() -> dict[str, str]:
    """The built-in programs: name and what each is."""
    return {name: description for name, description, _ in _core.builtin()}


def explain(code: str | None = None) -> str:
    """What a code of a message means, as ``E0310``, with a program that has it and one that has not; without a code, all of them with their titles.

    >>> print(cavi.explain("E0310"))
    """
    return _core.explain(code)


def example_data(name: str, directory) -> dict:
    """Write the data that a built-in program comes with to a directory; gives the arguments of ``fit`` that bind them.

    >>> cavi.fit("lda", **cavi.example_data("lda", "lda-data"))
    """
    files = _core.bundled(name)
    if files is None:
        raise _core.UsageError(f"there is no built-in program {name!r}; there are {', '.join(builtin())}")
    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    arguments: dict = {"data": {}, "labels": {}}
    for is_labels, role, file, content in files:
        path = target / file
        path.write_bytes(content)
        name, _, group = role.partition("[")
        bound = arguments["labels" if is_labels else "data"]
        if group:
            bound.setdefault(name, {})[group.removesuffix("]")] = path
        else:
            bound[name] = path
    return arguments


def source(model) -> tuple[str, str]:
    """The text of a program and what messages call it.

    A ``Program`` is itself; a text with a line break is the program; a ``Path``, or any other text that ends in ``.cavi``, is a file; what is left
    is the name of a built-in program.
    """
    if isinstance(model, Program):
        return model.text, model.file_name
    is_text = isinstance(model, str) and "\n" in model
    if isinstance(model, os.PathLike) or (isinstance(model, str) and not is_text and model.endswith(".cavi")):
        return Path(model).read_text(encoding="utf-8"), os.fspath(model)
    if not isinstance(model, str):
        raise TypeError(
            f"a program is a text, a path or the name of a built-in one, not {type(model).__name__}"
        )
    if is_text:
        return model, "<program>"
    texts = {name: text for name, _, text in _core.builtin()}
    if model in texts:
        return texts[model], model
    raise _core.UsageError(
        f"there is no built-in program {model!r}; there are {', '.join(texts)}. "
        "A file is a path that ends in .cavi, and the text of a program has line breaks."
    )


def tell(messages, stacklevel: int) -> None:
    """Give warnings."""
    for message in messages:
        warnings.warn(in_python(message.strip()), CaviWarning, stacklevel=stacklevel + 1)


class Program:
    """A program that compiles: its names, its derivation and its graph.

    In a notebook it shows its graph and its updates.
    """

    def __init__(self, core, file_name: str, values=None):
        self._core = core
        self.file_name = file_name
        # What was set of it, as it was given: calls that take the program start from it, and copies are compiled with it again.
        self._values = dict(values or {})

    def __reduce__(self):
        return _again, (self.text, self.file_name, self._values)

    @property
    def name(self) -> str:
        """The name that the text gives it."""
        return self._core.name

    @property
    def text(self) -> str:
        """The text."""
        return self._core.text

    @property
    def notes(self) -> list[str]:
        """What its author may want to know: the chosen factorisation, what only a prior fixes, and the like."""
        return self._core.notes

    @property
    def latents(self) -> list[str]:
        """The names of its unknowns."""
        return self._core.latents

    @property
    def data(self) -> dict[str, list[str]]:
        """The names of its data, each with its axes."""
        return {name: axes for name, axes, *_ in self._core.data}

    @property
    def factorisation(self) -> list[str]:
        """The factors of the approximate posterior."""
        return self._core.factorisation

    def derive(self, variable: str | None = None, format: str = "text", level: str = "full") -> str:
        """The updates and the evidence lower bound, or how the update of one variable comes about.

        ``format`` is ``text``, ``latex``, ``markdown``, ``json``, ``python`` for a file of NumPy that does what the derivation says, or ``bibtex`` for the
        literature of model, bounds and method. ``level`` says how much is explained: ``paper``, ``full`` or ``lecture``.
        """
        return self._core.derive(format, variable, level)

    def graph(self, format: str = "svg") -> str:
        """The factor graph as ``svg``, ``dot`` or ``tikz``."""
        return self._core.graph(format)

    def __repr__(self) -> str:
        data = ", ".join(f"{name}[{', '.join(axes)}]" for name, axes in self.data.items())
        return f"<cavi.Program {self.name}: data {data}; latents {', '.join(self.latents)}>"

    def _repr_html_(self) -> str:
        factors = "".join(f"<li><code>{html.escape(own)}</code></li>" for own in self.factorisation)
        return f"<div>{self.graph()}</div><p>Factors of the posterior:</p><ul>{factors}</ul>"

    def _repr_markdown_(self) -> str:
        return self.derive(format="markdown")


def compile(model, set=None) -> Program:
    """Compile a program: a text, a path, or the name of a built-in one.

    ``set`` gives values to constants and sizes to axes, as in ``{"topic": 20}``; calls that take the program have them too, unless they set others.
    Raises ``ProgramError`` with every mistake at its place, and how to mend it.
    """
    program = opened(model, set or {})
    tell(program._core.warnings, stacklevel=2)
    return program


def opened(model, values) -> "Program":
    """As ``compile``, without its warnings: a fit gives them itself."""
    kept = model._values if isinstance(model, Program) else {}
    return _again(*source(model), {**kept, **values})


def _again(text, file_name, values):
    numbers = [(name, _number(value)) for name, value in values.items()]
    return Program(_core.compile(text, file_name, numbers), file_name, values)


def _number(value) -> float | None:
    """A number, or nothing where a value is an array or a file."""
    if isinstance(value, (str, os.PathLike)):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
