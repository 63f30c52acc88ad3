"""Opens pages of `cavi report` in headless Chromium and looks whether they hold what they promise.

    pip install playwright            # drives a Chromium of the system; none is downloaded
    npm pack axe-core && tar xf axe-core-*.tgz
    python tests/long/pages.py --cavi target/release/cavi --axe package/axe.min.js [--shots FOLDER] [--chromium /usr/bin/chromium] [PAGE.html ...]

Without pages, those of all built-in programs and of twelve programs of `tests/models` (on data drawn from them) are made first, that of a `cavi choose`, and a fit with `--watch` is looked at while it runs. Of each page, in light and in dark and at 375 and 1,280 pixels: no message on the
console, no request, every chart drawn (marks in its drawing, or a canvas that is not of one colour), no sideways scrolling, and no serious
finding of axe-core. Of the page that follows a fit: the trace grows, charts of latents come and are drawn anew, nothing is asked of another
address, the page hears of the end, and stays. Exit status 1 where one of these fails.
"""

import argparse
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from playwright.sync_api import sync_playwright

UNDRAWN = """() => [...document.querySelectorAll('.chart')].filter(place => {
  const marks = place.querySelectorAll('svg .mark-rect path, svg .mark-symbol path, svg .mark-line path, svg .mark-area path, svg .mark-rule line');
  const lively = [...place.querySelectorAll('canvas')].some(canvas => {
    if (!canvas.width || !canvas.height) return false;
    const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    for (let at = 4; at < data.length; at += 4)
      if (data[at] !== data[0] || data[at + 1] !== data[1] || data[at + 2] !== data[2]) return true;
    return false;
  });
  return place.dataset.drawn !== 'yes' || (!marks.length && !lively);
}).map(place => place.closest('figure').querySelector('h3').textContent)"""


def built_in(cavi, folder):
    names = [line.split()[0] for line in subprocess.check_output([cavi, "list"], text=True).splitlines()]
    for name in names:
        done = subprocess.run([cavi, "demo", name, "--report", "--quiet", "--sweeps", "60", "--restarts", "2"], cwd=folder, stdout=subprocess.DEVNULL)
        if done.returncode:
            raise SystemExit(f"cavi demo {name} --report: status {done.returncode}")
    return [folder / f"{name}.html" for name in names]


def lines(cells):
    return "".join(f"{own}\n" for own in cells)


# Programs of `tests/models` with sizes, and with the data that a draw is given.
MODELS = {
    "eight_schools": ({"school": 8}, {"error": lines(9 + own for own in range(8))}),
    "gp_counts": ({"cell": 30}, {"area": lines(["1.5"] * 30)}),
    "gp_rates": ({"time": 25, "place": 4}, {"t": lines(own / 5 for own in range(25))}),
    "item_response": ({"answer": 200, "person": 20, "item": 10}, {"who": lines(own % 20 for own in range(200)), "which": lines(own // 20 for own in range(200))}),
    "home_and_away": ({"game": 60, "team": 8}, {"home": lines(own % 8 for own in range(60)), "away": lines((own + 1 + own // 8) % 8 for own in range(60))}),
    "horseshoe_regression": ({"case": 40, "predictor": 6}, {"x": lines(",".join(str((7 * row + 3 * column) % 11 - 5.0) for column in range(6)) for row in range(40))}),
    "levels_by_increments": ({"time": 48}, {"mo": lines(own % 4 for own in range(48))}),
    "cp_tensor": ({"subject": 6, "voxel": 8, "time": 5}, {}),
    "crossed_effects": ({"rating": 90, "rater": 6, "item": 15}, {"rn": lines(own % 6 for own in range(90)), "it": lines(own // 6 for own in range(90))}),
    "factors_by_class": ({"row": 40, "var": 6}, {}),
    "hpf": ({"user": 30, "item": 20}, {}),
    "lda": ({"doc": 30, "word": 50}, {}),
}


def models(cavi, folder):
    """Pages of programs of `tests/models`, fitted to a draw from each."""
    pages = []
    for name, (sizes, given) in MODELS.items():
        program = pathlib.Path(__file__).parents[1] / f"models/{name}.cavi"
        options = [text for axis, size in sizes.items() for text in ("--set", f"{axis}={size}")]
        for array, text in given.items():
            (folder / f"{name}-{array}.csv").write_text(text)
            options += ["--data", f"{array}={name}-{array}.csv"]
        said = subprocess.check_output([cavi, "simulate", program, *options, "--out", f"{name}-drawn"], cwd=folder, text=True)
        fit = next(line for line in said.splitlines() if line.startswith("to fit them: "))
        words = fit.removeprefix("to fit them: cavi ").split()
        subprocess.run([cavi, *words[:-1], f"{name}-model", "--sweeps", "60", "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        page = folder / f"{name}-model.html"
        subprocess.run([cavi, "report", f"{name}-model", "--out", page], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        pages.append(page)
    return pages


def data_of_lda():
    own = pathlib.Path(__file__).parents[2] / "examples/lda/data"
    return ["--data", f"n={own}/counts.mtx", "--labels", f"doc={own}/docs.txt", "--labels", f"word={own}/vocab.txt"]


def comparison(cavi, folder):
    """Several numbers of topics, and two programs of the same data."""
    choose = [cavi, "choose", "lda", *data_of_lda(), "--set", "topic=4,8,12", "--restarts", "2", "--sweeps", "30", "--quiet", "--out", "choose"]
    subprocess.run(choose, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    one = [cavi, "fit", "plsa", *["x=" + own[2:] if own.startswith("n=") else own for own in data_of_lda()]]
    subprocess.run([*one, "--sweeps", "30", "--quiet", "--out", "plsa"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([cavi, "report", "choose", "--out", "choose.html"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([cavi, "report", "choose/topic=8", "plsa", "--out", "programs.html"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return [folder / "choose.html", folder / "programs.html"]


def follow(browser, cavi, folder, axe, shots):
    """A page that follows a fit."""
    fit = [cavi, "fit", "lda", *data_of_lda(), "--sweeps", "1000000", "--tol", "0", "--threads", "1", "--progress", "none", "--out", "watched", "--watch"]
    running = subprocess.Popen(fit, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wrong = []
    try:
        line = ""
        while not line.startswith("watch it at "):
            line = running.stderr.readline()
            if not line:
                return ["watch: the fit ended without an address"]
        address = line.removeprefix("watch it at ").strip()
        for width, theme in ((1280, "light"), (375, "dark")):
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
            case = f"watch at {width} in {theme}"
            page.on("console", lambda message: wrong.append(f"{case}: console: {message.text}"))
            page.on("pageerror", lambda error: wrong.append(f"{case}: error: {error}"))
            page.on("request", lambda request: request.url.startswith((address, "data:", "blob:")) or wrong.append(f"{case}: request: {request.url}"))
            start = time.time()
            page.goto(address)
            if not holds(page, "document.documentElement.dataset.drawn === 'yes'"):
                wrong.append(f"{case}: not drawn within a minute")
            drawn = time.time() - start
            if not holds(page, "document.querySelectorAll('#live-latents .chart[data-drawn]').length > 1"):
                wrong.append(f"{case}: no charts of latents within a minute")
            latents = time.time() - start
            state = "() => [document.querySelector('#live-state .found').textContent, document.querySelector('#live-latents .note').textContent]"
            before = page.evaluate(state)
            page.locator("#live-state details.data > summary").click()
            if not holds(page, "(before) => document.querySelector('#live-latents .note').textContent !== before", before[1]):
                wrong.append(f"{case}: the latents stand still")
            page.wait_for_timeout(1500)
            if page.evaluate(state)[0] == before[0]:
                wrong.append(f"{case}: the state stands still")
            if not page.evaluate("document.querySelector('#live-state details.data').open"):
                wrong.append(f"{case}: a table that was opened is closed again")
            page.locator("#pause").click()
            page.wait_for_timeout(300)
            wrong += [f"{case}: not drawn: {title}" for title in page.evaluate(UNDRAWN)]
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wrong.append(f"{case}: scrolls sideways")
            still = page.evaluate(state)
            page.wait_for_timeout(2500)
            if page.evaluate(state) != still:
                wrong.append(f"{case}: a page that is paused goes on")
            page.locator("#pause").click()
            if shots:
                page.screenshot(path=str(shots / f"watch-{width}-{theme}.png"), full_page=True)
            wrong += findings(page, case, axe)
            print(f"{case}: drawn in {drawn:.2f} s, latents after {latents:.2f} s", flush=True)
            if width == 1280:
                page.close()
        running.send_signal(signal.SIGINT)
        if not holds(page, "document.documentElement.dataset.watch === 'ended'"):
            wrong.append("watch: the page does not hear of the end")
        said = page.evaluate("document.getElementById('live').textContent + ' ' + document.querySelector('#live-state .found').textContent")
        if "has ended" not in said or "interrupted after" not in said:
            wrong.append(f"watch: the page says of the end: {said}")
        if running.wait(30) != 130:
            wrong.append(f"watch: the fit ended with status {running.returncode}")
        wrong += [f"watch, ended: not drawn: {title}" for title in page.evaluate(UNDRAWN)]
        page.close()
    finally:
        if running.poll() is None:
            running.kill()
    return wrong


def holds(page, expression, argument=None):
    """Waits up to a minute until an expression is true. A page that evaluates no text as code cannot be asked to wait itself."""
    end = time.time() + 60
    while time.time() < end:
        if page.evaluate(expression, argument):
            return True
        page.wait_for_timeout(50)
    return False


def findings(page, case, axe):
    """What axe-core finds."""
    if not axe:
        return []
    # A script of the tester's own stands outside of the page's content policy.
    client = page.context.new_cdp_session(page)
    client.send("Page.enable")
    world = client.send("Page.createIsolatedWorld", {"frameId": client.send("Page.getFrameTree")["frameTree"]["frame"]["id"]})
    context = world["executionContextId"]
    client.send("Runtime.evaluate", {"expression": axe, "contextId": context})
    found = client.send("Runtime.evaluate", {"expression": "axe.run().then(own => JSON.stringify(own.violations.map(v => [v.impact, v.id, v.nodes.length, v.nodes[0].html.slice(0, 160), v.nodes[0].failureSummary])))", "contextId": context, "awaitPromise": True, "returnByValue": True})
    all_found = json.loads(found["result"]["value"])
    return [f"{case}: axe: {name} ({impact}, {count}): {html} {why}" for impact, name, count, html, why in all_found if impact in ("serious", "critical")]


def look(browser, path, axe, shots):
    wrong = []
    for width in (1280, 375):
        for theme in ("light", "dark"):
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
            case = f"{path.name} at {width} in {theme}"
            page.on("console", lambda message: wrong.append(f"{case}: console: {message.text}"))
            page.on("pageerror", lambda error: wrong.append(f"{case}: error: {error}"))
            own = path.resolve().as_uri()
            page.on("request", lambda request: request.url in (own,) or request.url.startswith(("data:", "blob:")) or wrong.append(f"{case}: request: {request.url}"))
            start = time.time()
            page.goto(own)
            if not holds(page, "document.documentElement.dataset.drawn === 'yes'"):
                wrong.append(f"{case}: not drawn within a minute")
            seconds = time.time() - start
            wrong += [f"{case}: not drawn: {title}" for title in page.evaluate(UNDRAWN)]
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wrong.append(f"{case}: scrolls sideways")
            if page.evaluate("document.querySelectorAll('.chart').length") < 1:
                wrong.append(f"{case}: no chart")
            if shots:
                page.screenshot(path=str(shots / f"{path.stem}-{width}-{theme}.png"), full_page=True)
            wrong += findings(page, case, axe)
            charts = page.evaluate("document.querySelectorAll('.chart').length")
            print(f"{case}: {charts} charts, {path.stat().st_size / 1e6:.2f} MB, drawn in {seconds:.2f} s", flush=True)
            page.close()
    return wrong


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--cavi", default="target/release/cavi")
    options.add_argument("--chromium", default="/usr/bin/chromium")
    options.add_argument("--axe")
    options.add_argument("--shots", type=pathlib.Path)
    options.add_argument("pages", nargs="*", type=pathlib.Path)
    own = options.parse_args()
    axe = pathlib.Path(own.axe).read_text() if own.axe else None
    if own.shots:
        own.shots.mkdir(parents=True, exist_ok=True)
    wrong = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        cavi, folder = str(pathlib.Path(own.cavi).resolve()), pathlib.Path(folder)
        pages = own.pages or built_in(cavi, folder) + models(cavi, folder) + comparison(cavi, folder)
        browser = playwright.chromium.launch(executable_path=own.chromium, args=["--no-sandbox"])
        for path in pages:
            wrong += look(browser, path, axe, own.shots)
        if not own.pages:
            wrong += follow(browser, cavi, folder, axe, own.shots)
        browser.close()
    print("\n".join(wrong) or "nothing wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
