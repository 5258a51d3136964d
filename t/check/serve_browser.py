"""
Look at the page of a service in headless Chromium, as a person would: t/1525-serve-page.t.

    serve_browser.py SERVE_FRONT

At phone and desktop widths, light and dark: nothing is wider than the window, the page says what
the model takes and gives, a row that is typed is predicted, a bad one is explained, and the page
sends requests to its own service alone. Prints a line for each problem; exit status 1 if there is one.
"""
import json
import subprocess
import sys
import time

from page_browser import LOCAL, OVERFLOW, SIZES, Browser

WAIT_S = 60  # for what takes a moment: nothing depends on how long
FORM = 'document.querySelector("#models form")'
TYPE = "const form = %s; [...form.querySelectorAll('input, textarea')].forEach(" \
       "(field, i) => { field.value = arguments[i]; }); form.querySelector('button').click();" % FORM
ANSWER = "return document.querySelector('#models pre').textContent;"
# The colours of texts and of what is behind them differ enough (WCAG: 4.5).
CONTRAST = """
const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3).map(v => {
  v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
  if (c !== "rgba(0, 0, 0, 0)") return c; } return "rgb(255, 255, 255)"; };
return [...document.querySelectorAll("h1, h2, h3, th, td, label, small, input, button, pre, a")]
  .filter(e => e.offsetParent).map(e => { const a = light(getComputedStyle(e).color),
    b = light(behind(e)); return [e.tagName, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)]; })
  .filter(([, ratio]) => ratio < 4.5).map(([tag, ratio]) => tag + ": contrast " + ratio);
"""


def until(condition):
    limit = time.monotonic() + WAIT_S
    while not (value := condition()):
        assert time.monotonic() < limit
    return value


def answer(browser, *values):
    before = browser.run(ANSWER)
    browser.run(TYPE, *values)
    return until(lambda: (now := browser.run(ANSWER)) != before and now)


def look(browser, url, size, dark):
    browser.size(*SIZES[size], size == "phone")
    browser.dark(dark)
    browser.ask("/url", {"url": url})
    until(lambda: browser.run("return !!%s && !!%s.querySelector('button');" % (FORM, FORM)))
    until(lambda: "ready" in browser.run("return document.body.innerText;"))
    text = browser.run("return document.body.innerText;")
    problems = [f"no {word!r}" for word in ("FP32 [rows, 2]", "text [rows]", "version", "m: ready",
                                               "later: not ready")
                if word not in text]
    if not browser.run("return document.querySelector('#index a[href=\"#model-m\"]') && "
                       "!!document.getElementById('model-m');"):
        problems.append("no link to the model")
    made = answer(browser, "1.5, 2", "<b>words</b>")
    if 'y = [3.5]' not in made or '<b>words</b>' not in made:
        problems.append("the answer is " + made)
    made = answer(browser, "1.5 x", "")
    if "not all numbers" not in made:
        problems.append("a bad row gives " + made)
    return problems + browser.run(OVERFLOW) + browser.run(CONTRAST)


def strangers(browser, url):
    """Requests to others, and complaints."""
    asked = [json.loads(line["message"])["message"] for line in browser.log("performance")]
    urls = [m["params"]["request"]["url"] for m in asked
            if m["method"] == "Network.requestWillBeSent"]
    return ["it asks for " + u for u in urls if not u.startswith((url, *LOCAL))] + \
        [line["message"] for line in browser.log("browser") if line["level"] == "SEVERE"]


def main():
    front = subprocess.Popen([sys.argv[1], "--idle", "later", "127.0.0.1:0"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    url = "http://%s/" % front.stdout.readline().strip()
    front.stdin.write("worker 1\n")
    front.stdin.flush()
    front.stdout.readline()
    browser = Browser()
    problems = []
    try:
        for size in "phone", "desktop":
            for dark in False, True:
                problems += [f"{size}, {'dark' if dark else 'light'}: {problem}"
                             for problem in look(browser, url, size, dark)]
        problems += strangers(browser, url)
    finally:
        browser.close()
        front.stdin.close()
        front.wait()
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


main()
