"""Opens pages of `cavi report` in headless Chromium and looks whether they hold what they promise.

    pip install playwright            # drives a Chromium of the system; none is downloaded
    npm pack axe-core && tar xf axe-core-*.tgz
    python tests/long/pages.py --cavi target/release/cavi --axe package/axe.min.js [--shots FOLDER] [--chromium /usr/bin/chromium] [PAGE.html ...]

Without pages, those of all built-in programs are made first. Of each page, in light and in dark and at 375 and 1,280 pixels: no message on the
console, no request, every chart drawn (marks in its drawing, or a canvas that is not of one colour), no sideways scrolling, and no serious
finding of axe-core. Exit status 1 where one of these fails.
"""

import argparse
import pathlib
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
            try:
                page.wait_for_function("document.documentElement.dataset.drawn === 'yes'", timeout=60000)
            except Exception:
                wrong.append(f"{case}: not drawn within a minute")
            seconds = time.time() - start
            wrong += [f"{case}: not drawn: {title}" for title in page.evaluate(UNDRAWN)]
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wrong.append(f"{case}: scrolls sideways")
            if page.evaluate("document.querySelectorAll('.chart').length") < 1:
                wrong.append(f"{case}: no chart")
            if shots:
                page.screenshot(path=str(shots / f"{path.stem}-{width}-{theme}.png"), full_page=True)
            if axe:
                # A script of the tester's own stands outside of the page's content policy.
                client = page.context.new_cdp_session(page)
                client.send("Page.enable")
                world = client.send("Page.createIsolatedWorld", {"frameId": client.send("Page.getFrameTree")["frameTree"]["frame"]["id"]})
                context = world["executionContextId"]
                client.send("Runtime.evaluate", {"expression": axe, "contextId": context})
                found = client.send("Runtime.evaluate", {"expression": "axe.run().then(own => JSON.stringify(own.violations.map(v => [v.impact, v.id, v.nodes.length, v.nodes[0].html.slice(0, 160), v.nodes[0].failureSummary])))", "contextId": context, "awaitPromise": True, "returnByValue": True})
                import json
                for impact, name, count, html, why in json.loads(found["result"]["value"]):
                    if impact in ("serious", "critical"):
                        wrong.append(f"{case}: axe: {name} ({impact}, {count}): {html} {why}")
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
        pages = own.pages or built_in(str(pathlib.Path(own.cavi).resolve()), pathlib.Path(folder))
        browser = playwright.chromium.launch(executable_path=own.chromium, args=["--no-sandbox"])
        for path in pages:
            wrong += look(browser, path, axe, own.shots)
        browser.close()
    print("\n".join(wrong) or "nothing wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
