"""The compiled part of the package."""

from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Labels = list[list[str] | None]
_Callback = Callable[[dict[str, Any]], Any] | None
_Path = str | PathLike[str]
#: Name, axes, letters, whether values are labels, whether it has to be given, whether what is not listed is 0, axes of groups, axis of values, which axes are ragged.
_Symbol = tuple[str, list[str], list[str], bool, bool, bool, list[str], str | None, list[bool]]

__version__: str

class CaviError(ValueError):
    code: str

class ProgramError(CaviError): ...
class DataError(CaviError): ...
class UsageError(CaviError): ...
class BrokenPromise(RuntimeError): ...

class Inputs:
    def __new__(
        cls,
        data: list[str],
        columns: list[str],
        transpose: list[str],
        labels: list[str],
        set: list[str],
        heldout: list[str],
        given: bool = False,
    ) -> Inputs: ...
    def dense(
        self,
        name: str,
        group: str | None,
        values: NDArray[np.float64],
        labels: _Labels,
        counts: list[bool] = ...,
        rows_are: str | None = None,
    ) -> None: ...
    def sparse(
        self,
        name: str,
        group: str | None,
        shape: list[int],
        indices: list[NDArray[np.uint32]],
        values: NDArray[np.float64],
        labels: _Labels,
        counts: list[bool] = ...,
    ) -> None: ...
    def words(
        self,
        name: str,
        group: str | None,
        shape: list[int],
        names: list[str],
        codes: NDArray[np.uint32],
        labels: _Labels,
        counts: list[bool] = ...,
    ) -> None: ...
    def table(
        self,
        name: str,
        group: str | None,
        names: list[str],
        columns: list[NDArray[np.int64] | NDArray[np.float64] | tuple[list[str], NDArray[np.uint32]]],
        rows: int,
        counts: bool,
    ) -> None: ...
    def columns(self, name: str, columns: list[tuple[str, str]]) -> None: ...
    def order(self, wanted: list[tuple[str, str | None]]) -> None: ...
    def keep_apart(self) -> None: ...
    def texts(
        self,
        min_docs: int | None,
        max_docs: str | None,
        words: int | None,
        ngrams: int | None,
        stem: str | None,
        stop_words: str | None,
    ) -> None: ...
    def kept(self) -> None: ...
    def labels(self, axis: str, group: str | None, labels: list[str]) -> None: ...
    def constants(self, values: Inputs) -> None: ...

class Program:
    name: str
    text: str
    warnings: list[str]
    notes: list[str]
    latents: list[str]
    predicted: list[str]
    factorisation: list[str]
    data: list[_Symbol]
    latent_symbols: list[_Symbol]
    constant_symbols: list[_Symbol]
    settable: list[str]
    def derive(self, format: str, variable: str | None, level: str) -> str: ...
    def graph(self, format: str) -> str: ...

class Variable:
    name: str
    group: list[tuple[str, str]]
    axes: list[tuple[str, list[str]]]
    columns: list[str]
    parameter: str
    values: NDArray[np.float64]
    deviations: NDArray[np.float64] | None
    def quantile(self, probability: float) -> NDArray[np.float64] | None: ...

def compile(text: str, file_name: str, set: list[tuple[str, float | None]]) -> Program: ...
def builtin() -> list[tuple[str, str, str]]: ...
def bundled(name: str) -> list[tuple[bool, str, str, bytes]] | None: ...
def fit(
    text: str, file_name: str, inputs: Inputs, options: dict[str, Any], out: _Path, callback: _Callback
) -> tuple[str, list[str], list[str]]: ...
def pack(text: str, file_name: str, inputs: Inputs, out: _Path) -> tuple[list[str], list[str], int]: ...
def explain(code: str | None = None) -> str: ...
def plan(text: str, file_name: str, inputs: Inputs, threads: int | None = None) -> str: ...
def read(text: str, file_name: str, inputs: Inputs) -> tuple[list[str], list[str]]: ...
def variables(directory: _Path, name: str | None = None) -> list[Variable]: ...
def top(directory: _Path, name: str, over: int, count: int, by: str) -> list[list[list[tuple[str, float]]]]: ...
def export(directory: _Path, out: _Path) -> list[str]: ...
def project(
    directory: _Path, inputs: Inputs, axis: str | None, options: dict[str, Any], out: _Path, callback: _Callback
) -> tuple[str, list[str]]: ...
def score(
    directories: list[str],
    inputs: Inputs,
    options: dict[str, Any],
    metrics: str | None,
    rank: str | None,
    callback: _Callback,
) -> tuple[str, list[str]]: ...
def impute_entries(
    directory: _Path,
    inputs: Inputs | None,
    all: bool,
    of: list[str],
    only: list[tuple[str, str]],
    draws: int,
    threads: int | None,
) -> list[tuple[str, int, int, int, bool, str]]: ...
def rankings(
    directory: _Path,
    inputs: Inputs | None,
    rank: str,
    each: list[tuple[str, str | None]],
    of: str | None,
    count: int,
    not_in: _Path | None,
    unseen: bool,
    threads: int | None,
) -> tuple[str, list[str]]: ...
def heldout_score(
    directories: list[str],
    inputs: Inputs | None,
    metrics: str | None,
    rank: str | None,
    seed: int | None,
    threads: int | None,
) -> tuple[str, list[str]]: ...
def compare_fits(fits: list[tuple[str, Inputs | None]], threads: int | None) -> str: ...
def match_components(a: _Path, b: _Path, variable: str | None, axis: str | None) -> str: ...
def grid(text: str) -> list[float] | None: ...
def choose_fit(fits: list[tuple[list[tuple[str, float]], str, Inputs | None]], threads: int | None) -> str: ...
def simulate_prior(
    text: str, file_name: str, inputs: Inputs, seed: int, totals: list[tuple[str, int]], out: _Path
) -> tuple[str, list[str]]: ...
def simulate_fit(
    directory: _Path, inputs: Inputs | None, seed: int, totals: list[tuple[str, int]], out: _Path
) -> tuple[str, list[str]]: ...
def report(directory: _Path, title: str | None, by: list[str]) -> str: ...
def draw(
    directory: _Path, inputs: Inputs | None, names: list[str], draws: int, seed: int
) -> tuple[list[tuple[str, str, str, list[tuple[str, list[str]]], NDArray[np.float64]]], list[tuple[str, str]]]: ...
def calibrated(
    text: str,
    file_name: str,
    inputs: Inputs,
    other: tuple[str, str, Inputs] | None,
    totals: list[tuple[str, int]],
    fits: int,
    draws: int,
    sweeps: int | None,
    tol: float | None,
    restarts: int | None,
    seed: int,
    threads: int | None,
) -> tuple[str, list[str]]: ...
def intervals_of(
    directory: _Path,
    inputs: Inputs | None,
    names: list[str],
    level: float,
    bootstrap: int | None,
    rows: str | None,
    form: str,
    linear_response: bool,
    seed: int,
    sweeps: int | None,
    tol: float | None,
    threads: int | None,
) -> tuple[str, list[str], list[tuple[str, str]]]: ...
def predictive_checks(
    directory: _Path,
    inputs: Inputs | None,
    statistics: list[str],
    draws: int,
    k_hat: int | None,
    by: str | None,
    seed: int,
    threads: int | None,
) -> str: ...
def plots(directory: _Path, kinds: list[str], width: float | None, by: list[str]) -> list[tuple[str, bytes]]: ...
def format_number(value: float) -> str: ...
def command_line(arguments: list[str]) -> int: ...
