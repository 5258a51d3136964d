"""
Open pages of runs in headless Chromium, and look at them as a person would.

    page_browser.py PAGE RUN [PAGE RUN ...]     check each page, of this run directory, or of
                                                the runs in this directory
    page_browser.py --load PAGE                 print the milliseconds until it is loaded

Chromium is driven through chromedriver's HTTP interface (W3C WebDriver). Prints a line for
each problem; exit status 1 if there is one. Everything that was started has ended, and the
browser's files are removed, when it returns; the caller sets a limit with timeout(1).
"""
import base64
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zlib

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--disable-default-apps", "--no-default-browser-check",
         "--hide-scrollbars", "--force-color-profile=srgb"]
SIZES = {"phone": (390, 844), "small phone": (360, 640), "tablet": (820, 1100),
         "desktop": (1440, 900)}
LOCAL = ("file:", "data:", "about:", "chrome:", "devtools:")


class Browser:
    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="browser-")
        environment = dict(os.environ, HOME=self.directory, TMPDIR=self.directory)
        for name in [n for n in environment if n.lower().endswith("_proxy")]:
            del environment[name]
        # Chromium links with none of the libraries under test.
        environment.pop("LD_LIBRARY_PATH", None)
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, env=environment, start_new_session=True)
        self.open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
        self.url = None
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self):
        for line in self.driver.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                self.url = "http://127.0.0.1:%s/session" % found[1]
                break
        if not self.url:
            raise RuntimeError("chromedriver did not start")
        answer = self.ask("", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {
                "args": FLAGS + ["--user-data-dir=" + self.directory + "/profile"]},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}})
        self.url += "/" + answer["sessionId"]

    def close(self):
        try:
            if self.url:
                self.open(urllib.request.Request(self.url, method="DELETE"), timeout=20).read()
        except OSError:
            pass
        finally:
            try:
                os.killpg(self.driver.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.driver.wait()
            # A process that is killed may still write there for a moment.
            end = time.monotonic() + 30
            while (processes := self.processes()) and time.monotonic() < end:
                for pid in processes:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                time.sleep(0.01)
            shutil.rmtree(self.directory, ignore_errors=True)

    def processes(self):
        """Those that have the directory of this browser in their command line."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as file:
                    if self.directory.encode() in file.read():
                        found.append(int(pid))
            except OSError:
                pass  # it has just ended
        return found

    def ask(self, path, body=None):
        request = urllib.request.Request(
            self.url + path, data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        try:
            with self.open(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError("%s: %s" % (path, error.read().decode()[:2000])) from None

    def run(self, script, *args):
        return self.ask("/execute/sync", {"script": script, "args": list(args)})

    def command(self, name, **parameters):
        return self.ask("/goog/cdp/execute", {"cmd": name, "params": parameters})

    def size(self, width, height, mobile):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height,
                     deviceScaleFactor=1, mobile=mobile)

    def dark(self, dark):
        self.command("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def log(self, kind):
        return self.ask("/se/log", {"type": kind})

    def keys(self, key):
        self.ask("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": [
            {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]}]})

    def move(self, x, y):
        self.ask("/actions", {"actions": [
            {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
             "actions": [{"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)}]}]})
        self.frame()

    def picture(self, width, height):
        """A PNG of the window, in a quarter of its size: to read pixels takes time."""
        return self.command("Page.captureScreenshot", format="png", clip={
            "x": 0, "y": 0, "width": width, "height": height, "scale": 0.25})["data"]

    def frame(self):
        """Two frames later, what was asked for is there."""
        self.ask("/execute/async", {"script": """
            const done = arguments[arguments.length - 1];
            requestAnimationFrame(() => requestAnimationFrame(() => done(0)));""", "args": []})


# ---- What must hold at every width, light and dark ----

OVERFLOW = """
return document.documentElement.scrollWidth > window.innerWidth
  ? ["the page is " + document.documentElement.scrollWidth + " wide, the window " +
     window.innerWidth] : [];
"""

TABLES = """
const limit = document.querySelector("main").getBoundingClientRect().right;
return [...document.querySelectorAll("table, .wide, p, p > *, .values")]
  .filter(element => !element.parentElement.closest(".wide") &&
          element.getBoundingClientRect().right > limit + 0.5)
  .map(element => element.tagName + "." + element.className + " is wider than the page");
"""

CURVES = """
const problems = [];
for (const figure of document.querySelectorAll(".curve")) {
  const name = figure.id, svg = figure.querySelector("svg").getBoundingClientRect();
  const frame = figure.getBoundingClientRect();
  if (svg.width < 150 || svg.height < 100)
    problems.push(name + ": an SVG of " + svg.width + " x " + svg.height);
  const line = figure.querySelector("path.line, path.dots");
  if (!line || !line.getAttribute("d")) problems.push(name + ": no line");
  for (const path of figure.querySelectorAll("path")) {
    if (!path.getAttribute("d")) continue;
    const box = path.getBoundingClientRect();
    if (box.left < svg.left - 4 || box.right > svg.right + 4 || box.top < svg.top - 4 ||
        box.bottom > svg.bottom + 4)
      problems.push(name + ": a path outside its SVG: " + path.getAttribute("class"));
  }
  for (const axis of figure.querySelectorAll(".xlabels, .ylabels")) {
    const boxes = [...axis.children].map(label => label.getBoundingClientRect());
    boxes.forEach((box, i) => {
      if (box.left < frame.left || box.right > frame.right || box.top < frame.top ||
          box.bottom > frame.bottom)
        problems.push(name + ": a label is cut: " + axis.children[i].textContent);
      if (i > 0) {
        const other = boxes[i - 1];
        if (box.left < other.right + 2 && other.left < box.right + 2 &&
            box.top < other.bottom && other.top < box.bottom)
          problems.push(name + ": labels overlap: " + axis.children[i].textContent);
      }
    });
  }
}
const ticks = [...document.querySelectorAll(".times div span")].map(t => t.getBoundingClientRect());
ticks.forEach((box, i) => {
  if (i > 0 && box.left < ticks[i - 1].right + 2) problems.push("times overlap");
});
return problems;
"""

CONTRAST = """
const parse = text => {
  const numbers = text.match(/[\\d.]+/g).map(Number);
  return numbers.length < 4 ? [...numbers, 1] : numbers;
};
const light = ([r, g, b]) => {
  const [x, y, z] = [r, g, b].map(c => c / 255)
    .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};
const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
const back = element => {
  const layers = [];
  for (let e = element; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
  return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
};
const problems = new Set(), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
let n = 0;
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || element.closest("script, style") ||
      element.getClientRects().length === 0) continue;
  const b = back(element), c = over(parse(getComputedStyle(element).color), b);
  const [low, high] = [light(b), light(c)].sort((p, q) => p - q);
  const ratio = (high + 0.05) / (low + 0.05);
  n++;
  if (ratio < 4.5)
    problems.add("contrast " + ratio.toFixed(2) + " of " + element.tagName + "." + element.className);
}
return n < 10 ? ["hardly any text"] : [...problems];
"""


def colours(png):
    """The number of colours of a picture, counted on some of its pixels."""
    data, at, packed = base64.b64decode(png), 8, b""
    while at < len(data):
        length, kind = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
        chunk = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, depth = int.from_bytes(chunk[:4], "big"), {2: 3, 6: 4}[chunk[9]]
        elif kind == b"IDAT":
            packed += chunk
        at += 12 + length
    raw, stride, seen = zlib.decompress(packed), width * depth + 1, set()
    before = bytes(stride - 1)
    for row in range(len(raw) // stride):
        line = bytearray(raw[row * stride + 1:(row + 1) * stride])
        method = raw[row * stride]
        for i in range(len(line)):
            left = line[i - depth] if i >= depth else 0
            up, corner = before[i], before[i - depth] if i >= depth else 0
            if method == 1:
                line[i] = (line[i] + left) & 255
            elif method == 2:
                line[i] = (line[i] + up) & 255
            elif method == 3:
                line[i] = (line[i] + (left + up) // 2) & 255
            elif method == 4:
                guess = left + up - corner
                near = [abs(guess - left), abs(guess - up), abs(guess - corner)]
                line[i] = (line[i] + (left, up, corner)[near.index(min(near))]) & 255
        before = line
        seen.update(bytes(line[i:i + 3]) for i in range(0, len(line), 5 * depth))
    return len(seen)


# ---- What a person does ----

def shown(browser, figures):
    """The iterations and the values that curves show."""
    texts = browser.run("return arguments[0].map(id => document.getElementById(id)"
                        ".querySelector('.read').textContent)", figures)
    return [shown_in(text) for text in texts]


def shown_in(text):
    found = re.match(r"(no number|[-\d.,e+]+) at ([\d,]+)", text)
    if not found:
        return None, text
    value = None if found[1] == "no number" else float(found[1].replace(",", ""))
    return int(found[2].replace(",", "")), value


def reports_of(run):
    """The reports that count, and the names of metrics that have a number, as curves are."""
    reports, names = {}, []
    with open(os.path.join(run, "result.json"), encoding="utf-8") as file:
        for line in file:
            report = json.loads(line)
            if reports and report["training_iteration"] <= max(reports): # it went back
                reports = {i: r for i, r in reports.items() if i < report["training_iteration"]}
            reports[report["training_iteration"]] = report
            names += [name for name in report["by_rank"] if name not in names]
    return reports, [name for name in names if any(
        isinstance(report.get(name), float) for report in reports.values())]


def agrees(shown_value, value):
    if value is None or shown_value is None:
        return value is None and shown_value is None
    return abs(shown_value - value) <= 5e-5 * abs(value)


def check_hover(browser, run):
    problems, (reports, names) = [], reports_of(run)
    figures = browser.run("return [...document.querySelectorAll('.curve[id^=metric-]')]"
                          ".map(f => f.id)")
    if len(figures) != len(names):
        return ["%d curves of %d metrics" % (len(figures), len(names))]
    first = figures[0]
    browser.run("document.getElementById(arguments[0]).scrollIntoView({block: 'center'})", first)
    box = browser.run("const b = document.getElementById(arguments[0]).querySelector('.area')"
                      ".getBoundingClientRect(); return [b.left, b.top, b.width, b.height]",
                      first)
    at = set()
    for share in (0.1, 0.5, 0.77):
        browser.move(box[0] + share * box[2], box[1] + box[3] / 2)
        for name, (iteration, value) in zip(names, shown(browser, figures)):
            at.add(iteration)
            if iteration not in reports or not agrees(value, reports[iteration].get(name)):
                problems.append("%s shows %s at %s" % (name, value, iteration))
    if len(at) < 3:
        problems.append("the pointer does not move: %s" % at)
    hidden = browser.run("return document.querySelectorAll('.cursor:not([hidden])').length")
    if hidden < 1:
        problems.append("no line at the pointer")
    browser.run("document.getElementById(arguments[0]).querySelector('.area').focus()", first)
    browser.keys("\ue010") # End
    browser.frame()
    end = shown(browser, [first])[0][0]
    browser.keys("\ue012") # left
    browser.frame()
    iteration, value = shown(browser, [first])[0]
    if end != max(reports) or not iteration < end or \
            not agrees(value, reports[iteration].get(names[0])):
        problems.append("the arrow keys lead from %s to %s: %s" % (end, iteration, value))
    spoken = browser.run("return document.getElementById(arguments[0])"
                         ".querySelector('.area').getAttribute('aria-valuetext')", first)
    if "at iteration %d" % iteration not in spoken:
        problems.append("a screen reader says %s" % spoken)
    browser.move(1, 1)
    return problems


def values_of(directory):
    """{run: {metric: {iteration: value}}} of runs without attempts that went back."""
    values = {}
    for run in sorted(os.listdir(directory)):
        path = os.path.join(directory, run, "result.json")
        for line in open(path, encoding="utf-8") if os.path.exists(path) else ():
            report = json.loads(line)
            for name in report["by_rank"]:
                values.setdefault(run, {}).setdefault(name, {})[
                    report["training_iteration"]] = report[name]
    return values


ROWS = """
return [...document.querySelectorAll(".overlay")].map(figure => [figure.dataset.name,
  figure.querySelector(".read").textContent, figure.querySelectorAll(".dot:not([hidden])").length,
  [...figure.querySelectorAll(".values > div:not([hidden])")].map(row =>
    [row.querySelector("dt").textContent, row.querySelector("dd").textContent])]);
"""


def check_values(browser, directory):
    """What the pointer shows is in the reports of the runs."""
    problems, values, at = [], values_of(directory), set()
    runs = {name for name in os.listdir(directory)}
    for share in (0.02, 0.45, 0.99):
        box = browser.run("const a = document.querySelector('.overlay .area');"
                          "a.scrollIntoView({block: 'center'}); const b ="
                          "a.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]")
        browser.move(box[0] + share * box[2], box[1] + box[3] / 2)
        for metric, read, dots, rows in browser.run(ROWS):
            iteration = int(read.replace("at ", ""))
            expected = {run: known.get(metric, {}).get(iteration) for run, known in values.items()}
            at.add(iteration)
            if {run for run, _ in rows} != runs:
                problems.append("%s: the rows are %s" % (metric, [run for run, _ in rows]))
            for run, text in rows:
                known = expected.get(run)
                shown_value = float(text) if re.match("[-\\d]", text) else None
                if not agrees(shown_value, known):
                    problems.append("%s of %s at %d: %s, not %s" % (
                        metric, run, iteration, text, known))
            if dots != sum(value is not None for value in expected.values()):
                problems.append("%s: %d dots at %d" % (metric, dots, iteration))
    if len(at) < 3:
        problems.append("the pointer does not move: %s" % at)
    browser.move(1, 1)
    return problems


def check_boxes(browser):
    """Of all runs but the second, lines and rows are gone, and the axes fit what is left."""
    problems, before, rows = [], browser.run(PATHS), browser.run(ROWS)
    click = "document.querySelectorAll('.boxes input').forEach((box, i) => i == 1 || box.click())"
    browser.run(click)
    after = browser.run(PATHS)
    if browser.run(ROWS)[0][3] != rows[0][3][1:2]:
        problems.append("runs that are not shown have rows")
    if after[0] or after[2] or not after[1] or after[1] == before[1]:
        problems.append("runs that are not shown have lines")
    browser.run(click)
    if browser.run(PATHS) != before or browser.run(ROWS) != rows:
        problems.append("runs do not return")
    return problems


PATHS = "return [...document.querySelectorAll('.curve .line')].map(p => p.getAttribute('d'))"


def check_tools(browser):
    problems, before = [], browser.run(PATHS)
    browser.run("document.getElementById('log').click()")
    if browser.run(PATHS) == before:
        problems.append("a logarithmic axis changes nothing")
    problems += ["logarithmic: " + p for p in browser.run(CURVES)]
    browser.run("document.getElementById('log').click()")
    if browser.run(PATHS) != before:
        problems.append("the curves do not return from a logarithmic axis")
    names = browser.run("return [...document.querySelectorAll('.curve[id^=metric-]')]"
                        ".map(f => f.dataset.name)")
    if len(names) >= 3:
        seen = browser.run("""
            const filter = document.getElementById("filter");
            filter.value = arguments[0];
            filter.dispatchEvent(new Event("input"));
            const seen = [...document.querySelectorAll(".curve[id^=metric-]:not([hidden])")]
              .map(f => f.dataset.name);
            filter.value = "";
            filter.dispatchEvent(new Event("input"));
            return seen;""", names[1].split()[0])
        if names[1] not in seen or len(seen) == len(names):
            problems.append("the filter shows %s" % seen)
    return problems


def check_zoom(browser):
    """Drag over the middle of the first curve; a double click returns."""
    problems, before = [], browser.run(PATHS)
    labels = "return document.querySelector('.xlabels').textContent"
    text = browser.run(labels)
    box = browser.run("const a = document.querySelector('.area');"
                      "a.scrollIntoView({block: 'center'}); const b = a.getBoundingClientRect();"
                      "return [b.left, b.top + b.height / 2, b.width]")
    move = [{"type": "pointerMove", "duration": 0, "x": int(box[0] + share * box[2]),
             "y": int(box[1])} for share in (0.3, 0.5, 0.6)]
    browser.ask("/actions", {"actions": [
        {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
         "actions": [move[0], {"type": "pointerDown", "button": 0}, move[1], move[2],
                     {"type": "pointerUp", "button": 0}]}]})
    browser.frame()
    if browser.run(PATHS) == before or browser.run(labels) == text:
        problems.append("dragging does not zoom")
    # A curve may have no point in this range.
    problems += ["zoomed: " + p for p in browser.run(CURVES) if not p.endswith("no line")]
    browser.run("document.querySelector('.area').dispatchEvent(new MouseEvent('dblclick'))")
    if browser.run(PATHS) != before or browser.run(labels) != text:
        problems.append("a double click does not return")
    browser.move(1, 1)
    return problems


def check_page(browser, page, run):
    problems, backs = [], {}
    has_reports = os.path.exists(os.path.join(run, "result.json"))
    compared = not os.path.exists(os.path.join(run, "run.cfg"))
    browser.log("performance"), browser.log("browser")
    browser.ask("/url", {"url": "file://" + os.path.abspath(page)})
    for size, (width, height) in SIZES.items():
        browser.size(width, height, "phone" in size)
        for dark in (False, True):
            browser.dark(dark)
            browser.frame()
            where = "%s, %s: " % (size, "dark" if dark else "light")
            found = browser.run(OVERFLOW) + browser.run(TABLES) + browser.run(CURVES) + browser.run(CONTRAST)
            backs[dark] = browser.run("return getComputedStyle(document.body).backgroundColor +"
                                      "getComputedStyle(document.body).color")
            if size == "phone" and colours(browser.picture(width, height)) < 10:
                found.append("the picture is blank")
            problems += [where + text for text in found]
        if has_reports and size in ("phone", "desktop"):
            # Of a mobile device, the pointer leaves with each action.
            browser.size(width, height, False)
            problems += [size + ": " + text for text in
                         check_hover(browser, run) + check_tools(browser)]
        if compared and size in ("phone", "desktop"):
            browser.size(width, height, False)
            problems += [size + ": " + text for text in
                         check_values(browser, run) + check_boxes(browser) + check_tools(browser)]
    if backs[False] == backs[True]:
        problems.append("light and dark are the same")
    if has_reports or compared:
        problems += check_zoom(browser)
    if browser.run("return document.images.length + document.querySelectorAll('iframe').length"):
        problems.append("text became an element")
    problems += ["console: " + entry["message"] for entry in browser.log("browser")]
    for entry in browser.log("performance"):
        event = json.loads(entry["message"])["message"]
        if event["method"] == "Network.requestWillBeSent":
            url = event["params"]["request"]["url"]
            if not url.startswith(LOCAL) or (url.startswith("file:") and
                                             not url.endswith(os.path.basename(page))):
                problems.append("a request: " + url)
    return problems


def load_time(browser, page):
    browser.ask("/url", {"url": "file://" + os.path.abspath(page)})
    return browser.run("const t = performance.getEntriesByType('navigation')[0];"
                       "return t.loadEventEnd - t.startTime")


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    args, problems = sys.argv[1:], []
    browser = None
    try:
        browser = Browser()
        if args[0] == "--load":
            browser.size(1440, 900, False)
            print("%.1f" % load_time(browser, args[1]))
        else:
            for page, run in zip(args[::2], args[1::2]):
                problems += [page + ": " + text for text in check_page(browser, page, run)]
    finally:
        if browser:
            browser.close()
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
