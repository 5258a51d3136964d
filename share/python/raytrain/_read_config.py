"""Reads the configuration of a run, RUN/run.cfg: the text that raytrain-run has
written, which is less than libconfig's grammar has."""
from __future__ import annotations

import os
import re
from typing import Any, List, NoReturn

from . import _records
from .errors import CorruptError

_TOKEN = re.compile(r"""
    (?: \s+ | \#[^\n]* )*                 # between tokens: blanks and comments
    (?: (?P<name>[A-Za-z][-\w]*) | (?P<number>[-+]?\d[-+.\w]*)
      | "(?P<string>(?:[^"\\]|\\.)*)" | (?P<sign>[={};(),]) | (?P<end>\Z) )
    """, re.VERBOSE | re.DOTALL)
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|.)", re.DOTALL)


def parse(text: str, source: str = "run.cfg") -> dict[str, Any]:
    """Its groups as dicts, and its lists as lists.

    Raises CorruptError for what raytrain-run does not write.
    """
    return _Reader(text, source).group("end")


def score_of(run: str) -> tuple[str | None, int]:
    """The metric by which a run keeps checkpoints, and 1 if high is good, else -1."""
    try:
        text, _ = _records.read(os.path.join(run, "run.cfg"))
        config = parse(text.decode("utf-8", "replace"))
    except (OSError, CorruptError):
        return None, 1
    kept = config.get("run_config", {}).get("checkpoint_config", {})
    order = kept.get("checkpoint_score_order", "max")
    return kept.get("checkpoint_score_attribute"), -1 if order == "min" else 1


class _Reader:
    def __init__(self, text: str, source: str) -> None:
        self.text, self.source, self.at = text, source, 0
        self.kind, self.value = "", ""
        self.step()

    def step(self) -> None:
        found = _TOKEN.match(self.text, self.at)
        if not found:
            self.fail()
        self.at = found.end()
        self.kind = str(found.lastgroup)
        self.value = found[self.kind]
        if self.kind == "sign":
            self.kind = self.value

    def fail(self) -> NoReturn:
        line = self.text.count("\n", 0, self.at) + 1
        raise CorruptError(f"{self.source}:{line}: raytrain-run has not written this")

    def take(self, kind: str) -> str:
        if self.kind != kind:
            self.fail()
        value = self.value
        if kind != "end":
            self.step()
        return value

    def group(self, end: str) -> dict[str, Any]:
        members = {}
        while self.kind != end:
            name = self.take("name")
            self.take("=")
            members[name] = self.scalar_or_more()
            self.take(";")
        self.take(end)
        return members

    def list(self) -> List[Any]:
        items: List[Any] = []
        while self.kind != ")":
            if items:
                self.take(",")
            items.append(self.scalar_or_more())
        self.take(")")
        return items

    def scalar_or_more(self) -> object:
        kind = self.kind
        value = self.take(kind)
        if kind == "{":
            return self.group("}")
        if kind == "(":
            return self.list()
        if kind == "string":
            return _unescaped(value)
        if kind == "name" and value in ("true", "false"):
            return value == "true"
        if kind != "number":
            self.fail()
        try:
            return int(value.rstrip("L")) if value.rstrip("L").lstrip("+-").isdigit() \
                else float(value)
        except ValueError:
            self.fail()


def _unescaped(text: str) -> str:
    """Bytes that are no UTF-8 are surrogates, as os.fsdecode() makes them."""
    def one(found: re.Match[str]) -> bytes:
        what = found[1]
        if what[0] == "x" and len(what) == 3:
            return bytes([int(what[1:], 16)])
        return {"n": b"\n", "t": b"\t", "r": b"\r", "f": b"\f"}.get(
            what, what.encode("utf-8", "surrogateescape"))

    raw, at = b"", 0
    for found in _ESCAPE.finditer(text):
        raw += text[at:found.start()].encode("utf-8", "surrogateescape") + one(found)
        at = found.end()
    raw += text[at:].encode("utf-8", "surrogateescape")
    return raw.decode("utf-8", "surrogateescape")
