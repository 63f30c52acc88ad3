"""Sets the derivation of every program in LaTeX: no error, and no box that is wider than its line.

Usage: python tests/long/latex.py CAVI [FOLDER]   (with pdflatex, amsmath and mathtools; CAVI is the binary)

The programs of `tests/models` and `examples` are set in one column, those of `examples` also in two. FOLDER keeps the documents.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# TeX reports what is wider by more than this; a tenth of a point is not seen.
LEAST = 0.1


def run(*arguments, **options):
    return subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True, errors="replace", **options)


def documents():
    """Programs with the number of columns."""
    examples = sorted((ROOT / "examples").glob("*/*.cavi"))
    models = sorted((ROOT / "tests" / "models").glob("*.cavi"))
    return [(path, 1) for path in examples + models] + [(path, 2) for path in examples]


def set_in_latex(cavi, path, columns, folder):
    """How many pages it has, what is wider than its line in points, and the first error."""
    name = f"{path.parent.name}-{path.stem}-{columns}"
    page = run(cavi, "derive", path, "--format", "latex", "--standalone", "--columns", columns)
    if page.returncode != 0:
        return name, 0, [], page.stderr.strip().splitlines()[0]
    (folder / f"{name}.tex").write_text(page.stdout)
    log = ""
    for _ in range(2):
        run("pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{name}.tex", cwd=folder)
        log = (folder / f"{name}.log").read_text(errors="replace")
    wide = [float(size) for size in re.findall(r"Overfull \\hbox \(([0-9.]+)pt too wide\)", log)]
    error = next((line for line in log.splitlines() if line.startswith("!") or "undefined" in line), None)
    pages = re.search(r"Output written on .*? \((\d+) pages?", log)
    return name, int(pages[1]) if pages else 0, [size for size in wide if size > LEAST], error


def main():
    cavi = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(lambda own: set_in_latex(cavi, *own, folder), documents()))
    failed = 0
    for name, _, wide, error in found:
        if error is not None:
            print(f"{name}: {error}")
        for size in wide:
            print(f"{name}: a box is {size} points too wide")
        failed += error is not None or bool(wide)
    print(f"{len(found)} documents of {sum(pages for _, pages, _, _ in found)} pages, {failed} with an error or a box that is too wide")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
