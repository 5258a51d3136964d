"""
Check a page without a browser: page_check.py FILE

Elements are closed in the order in which they were opened, ids are unique, nothing is loaded
from elsewhere, scripts are those of the page, headings descend step by step, tables have
captions, pictures have a text. Prints a line for each problem; exit status 1 if there is one.
"""
import json
import re
import sys
from html.parser import HTMLParser

VOID = {"meta", "br", "input", "path", "rect", "link", "img", "hr"}
ELEMENTS = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "footer", "section",
    "article", "div", "span", "p", "br", "h1", "h2", "h3", "code", "pre", "small", "b", "i",
    "time", "dl", "dt", "dd", "figure", "figcaption", "svg", "path", "rect", "script", "label",
    "input", "table", "caption", "thead", "tbody", "tr", "th", "td"}


class Page(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.problems, self.ids = [], [], set()
        self.level, self.csp, self.nonce, self.scripts, self.text = 0, "", None, [], ""

    def problem(self, text):
        self.problems.append("line %d: %s" % (self.getpos()[0], text))

    def handle_starttag(self, tag, attrs):
        if tag not in ELEMENTS:
            self.problem("element %s" % tag)
        for name, value in attrs:
            if name in ("src", "href", "srcset", "action") or name.startswith("on"):
                self.problem("attribute %s of %s" % (name, tag))
            if name == "style" and "url(" in value:
                self.problem("url() in a style")
        attrs = dict(attrs)
        if attrs.get("id") in self.ids:
            self.problem("id %s again" % attrs["id"])
        self.ids.add(attrs.get("id") or object())
        if re.fullmatch("h[1-6]", tag):
            if int(tag[1]) > self.level + 1:
                self.problem("%s after h%d" % (tag, self.level))
            self.level = int(tag[1])
        if tag == "svg" and not attrs.get("aria-label"):
            self.problem("a picture without a text")
        if attrs.get("http-equiv") == "Content-Security-Policy":
            self.csp = attrs["content"]
        if tag == "script":
            self.scripts.append([attrs, ""])
        if tag == "table":
            self.captioned = False
        if tag == "caption":
            self.captioned = True
        if tag == "tr" and not self.captioned:
            self.problem("a table without a caption")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.problem("</%s> closes another element" % tag)

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1][1] += data
        elif self.open and self.open[-1] != "style":
            self.text += data


def control_characters(text):
    return sorted({"%#x" % ord(c) for c in text
                   if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160
                   or 0x202a <= ord(c) <= 0x202e})


def problems_of_line(numbers):
    """Of the numbers behind a line."""
    problems = []
    points = [column for key, column in numbers.items()
              if not key.startswith(("mean", "old", "run"))]
    if len({len(column) for column in points}) != 1 or not numbers["x"]:
        problems.append("columns of different lengths")
    if len(numbers.get("old_x", [])) != len(numbers.get("old_y", [])):
        problems.append("columns of different lengths of what was replaced")
    if sorted(set(numbers["x"])) != numbers["x"]:
        problems.append("iterations are not in order")
    if len(numbers["x"]) > 2100:
        problems.append("%d points" % len(numbers["x"]))
    return problems


def main():
    with open(sys.argv[1], encoding="utf-8", newline="") as file: # strictly
        source = file.read()
    page = Page()
    page.feed(source)
    page.close()
    problems = page.problems
    if page.open:
        problems.append("not closed: %s" % page.open)
    if control_characters(source):
        problems.append("control characters: %s" % control_characters(source))
    if "default-src 'none'" not in page.csp:
        problems.append("no policy")
    nonce = re.search("'nonce-([0-9a-f]{32})'", page.csp)
    if "unsafe-inline" in page.csp.split("script-src")[1] or not nonce:
        problems.append("the policy allows any script")
    programs = [text for attrs, text in page.scripts if "type" not in attrs]
    if len(programs) != 1 or [a for a, _ in page.scripts if "type" not in a][0]["nonce"] != nonce[1]:
        problems.append("not one script of the page's own")
    if re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(", programs[0]):
        problems.append("an address in the script")
    for attrs, text in page.scripts:
        if attrs.get("type") != "application/json":
            continue
        data = json.loads(text)
        for line in data.get("runs", [data]):
            problems += problems_of_line(line)
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(1 if problems else 0)


main()
