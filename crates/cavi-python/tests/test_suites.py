"""scikit-learn's own suites on the classes of ``cavi.sklearn``; ``suites.py`` says which of their tests run, and why others cannot."""

import ast
import importlib.util
import os
import subprocess
import sys
import xml.etree.ElementTree as tree
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def tables():
    """``RUN`` and ``LEFT_OUT``, read from the text: the plugin itself puts Cavi's classes in the place of scikit-learn's."""
    names, found = {}, {}
    for own in ast.parse((HERE / "suites.py").read_text()).body:
        if isinstance(own, ast.Assign) and isinstance(own.value, (ast.Constant, ast.Dict)):
            name = own.targets[0].id
            found[name] = names[name] = eval(compile(ast.Expression(own.value), "suites.py", "eval"), {}, dict(names))
    return found["RUN"], found["LEFT_OUT"]


RUN, LEFT_OUT = tables()


@pytest.mark.parametrize("module", sorted(RUN))
def test_what_is_shared_passes(module, tmp_path):
    source = importlib.util.find_spec("sklearn").origin
    text = (Path(source).parent / (module.replace(".", "/") + ".py")).read_text(encoding="utf-8")
    there = {own.name for own in ast.parse(text).body if isinstance(own, ast.FunctionDef) and own.name.startswith("test_")}
    assert not set(RUN[module]) & set(LEFT_OUT[module])
    wanted = there & set(RUN[module])
    if not wanted:
        pytest.skip("; ".join(dict.fromkeys(LEFT_OUT[module].values())) or f"this scikit-learn has none of {RUN[module]}")
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "suites", "-p", "no:cacheprovider", "-W", "ignore", f"--junitxml={report}"]
    paths = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [*command, "--pyargs", f"sklearn.{module}"], capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    cases = tree.parse(report).getroot().iter("testcase")
    passed = {case.get("name").split("[")[0] for case in cases if case.find("skipped") is None}
    assert passed == wanted
    # A newer scikit-learn may have tests that nobody has looked at.
    unknown = there - wanted - set(LEFT_OUT[module])
    if unknown:
        pytest.skip(f"of this scikit-learn nobody has said whether these run: {', '.join(sorted(unknown))}")
