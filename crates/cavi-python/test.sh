#!/usr/bin/env bash
# Builds the wheel, installs it into a clean environment, and runs its tests there. PYTHON names another interpreter (3.10 or newer), PROFILE another
# profile: what people install is `release`, and `dev` shares what the tests of the workspace have compiled.
set -euo pipefail
cd "$(dirname "$0")"

python="${PYTHON:-python3}"
environment="target/environment-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
rm -rf "$environment" target/wheels
"$python" -m venv "$environment"
"$environment/bin/pip" install --quiet 'maturin>=1.9,<2'
"$environment/bin/maturin" build --profile "${PROFILE:-release}" --locked --quiet --out target/wheels
"$environment/bin/pip" install --quiet "$(echo target/wheels/*.whl)[test]"
# Away from `python/`, so that what is tested is the wheel.
"$environment/bin/python" -m pytest --quiet -p no:cacheprovider --rootdir=. tests
