"""Runs the notebooks of the Python package: each as a whole, in a folder of its own.

    python tests/long/notebooks.py [--write] [--images FOLDER] [NAME ...]    (Python with `cavi[test,long]`; NAME is a notebook, without .ipynb)

Exit status 1 where a cell fails, or where an output has more than is kept (a megabyte a notebook). --write keeps the outputs in the notebooks. --images writes each
picture to FOLDER, to be looked at.
"""

import argparse
import base64
import pathlib
import sys
import tempfile
import time

import nbclient
import nbformat

ROOT = pathlib.Path(__file__).resolve().parents[2] / "crates" / "cavi-python" / "notebooks"
MOST = 1_000_000


def run(path, asked):
    """Run one; gives what is wrong with it, or nothing."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        try:
            nbclient.NotebookClient(notebook, timeout=900, resources={"metadata": {"path": folder}}).execute()
        except nbclient.exceptions.CellExecutionError as error:
            return str(error)[-2000:]
    pictures = [
        output["data"]["image/png"]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    ]
    if asked.images:
        for number, picture in enumerate(pictures):
            (asked.images / f"{path.stem}-{number}.png").write_bytes(base64.b64decode(picture))
    # When a cell ran is no part of what it shows.
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    text = nbformat.writes(notebook)
    if len(text) > MOST:
        return f"{len(text):,} bytes, more than {MOST:,}"
    if asked.write:
        path.write_text(text + "\n", encoding="utf-8")
    return None


def main():
    """Run all, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--images", type=pathlib.Path)
    asked = parser.parse_args()
    if asked.images:
        asked.images.mkdir(parents=True, exist_ok=True)
    failed = False
    for path in sorted(ROOT.glob("*.ipynb")):
        if asked.names and path.stem not in asked.names:
            continue
        began = time.time()
        wrong = run(path, asked)
        print(f"{path.stem}: {'ok' if wrong is None else wrong} ({time.time() - began:.0f} s)", flush=True)
        failed = failed or wrong is not None
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
