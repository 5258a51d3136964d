#!/usr/bin/python3
"""named_paths.py TREE: what the guides of a source tree, and comments of its sources,
name although it does not exist.

In the guides these are paths, names of files in backquotes, and functions: `name()`,
and in the file that follows, as in "`name()` in `FILE`" or "`name()` (`FILE`)". Of
blocks of commands, and of the guide to frameworks, which names files of theirs,
these are only paths from the top of the tree. In sources these are FILE.c,
ROOM/FILE.c, headers, tests and paths from the top of the tree."""

import os
import re
import sys

FOREIGN = "share/doc/frameworks.md"  # has names of files of frameworks
GUIDES = ["README.md", "INSTALL.md", "HACKING.md", "CONTRIBUTING.md", "t/README.md",
          "share/doc/lives.md", FOREIGN]
TOP = "src|scripts|share|t"
HALLS = "cmd|launcher|worker|serve|common"
ENDINGS = r"(?:[ch]|hpp|py|t|sh|mk|md|f90|ac|proto|css|js|html)"
# Headers of libraries, what is generated, files of users, and templates of names.
OTHERS = re.compile(r"^(hdf5|libconfig|pmix|mpi|cuda)\.h$|^assets\.c$"
                    r"|^(train|maps|b)\.(py|c)$|NAME|NNNN|HALL|\*")

PATH = re.compile(rf"(?<![\w/.*-])((?:{TOP})/[\w./*-]*[\w/*])")
HALL = re.compile(rf"(?<![\w/.*-])((?:{HALLS})/[\w./*-]*[\w/*])")
FILE = re.compile(rf"`([\w./*-]+\.{ENDINGS})`")
CALL_IN = re.compile(rf"`(\w+)\(\)`\s+(?:in\s+|\()`([\w./]+\.{ENDINGS})`")
CALL = re.compile(r"`(\w+)\(\)`")
SOURCE = re.compile(r"(?<![\w/.$%<*-])([a-z0-9_]+\.[ch])\b(?![\w.])")
ROOM_FILE = re.compile(r"(?<![\w/.-])([a-z]+/[a-z0-9_]+\.[ch])\b(?!\w)")
TEST = re.compile(r"(?<![\w/])(t/\d{4}-[a-z0-9-]+\.t|t/unit/test_\w+)")


def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def tree_of(top):
    """All files and folders of the tree, without what git ignores in it."""
    found = set()
    for folder, folders, names in os.walk(top):
        here = os.path.relpath(folder, top)
        folders[:] = [d for d in folders if d != "trash"
                      and not d.startswith((".git", "build", "autom4te"))]
        for name in [*folders, *names]:
            found.add(os.path.normpath(os.path.join(here, name)))
    return found


class Tree:
    def __init__(self, top):
        self.top = top
        self.paths = tree_of(top)
        self.ends = {}  # the last part of a path: the paths
        for path in self.paths:
            self.ends.setdefault(os.path.basename(path), []).append("/" + path)
        self.texts = {path: text_of(os.path.join(top, path))
                      for path in sorted(self.paths)
                      if path.startswith(("src/", "share/python/", "t/unit/"))
                      and path.endswith((".c", ".h", ".py"))}
        self.rooms = {os.path.basename(os.path.dirname(path)) for path in self.texts
                      if path.startswith("src/")}

    def has_function(self, name, file=""):
        """Is it called or defined anywhere, or in a file with this name?"""
        return any(name + "(" in text for path, text in self.texts.items()
                   if ("/" + path).endswith("/" + file if file else ""))

    def has(self, name):
        """Is there a path that ends with this one? A unit test may lack its ending."""
        name = name.rstrip("/")
        return any(end.endswith("/" + path) for path in (name, name + ".c")
                   for end in self.ends.get(os.path.basename(path), ()))


def guide(tree, name):
    is_block = False
    text = text_of(os.path.join(tree.top, name))
    for call, file in CALL_IN.findall(text):
        if tree.has(file) and not tree.has_function(call, file):
            yield f"{name}: there is no {call}() in {file}"
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            is_block = not is_block
        is_prose = not is_block and name != FOREIGN
        paths = PATH.findall(line)
        if is_prose:
            paths += HALL.findall(line) + FILE.findall(line)
        for path in dict.fromkeys(paths):
            if not OTHERS.search(path) and not tree.has(path):
                yield f"{name}:{number}: there is no {path}"
        for call in CALL.findall(line) if is_prose else ():
            if not tree.has_function(call):
                yield f"{name}:{number}: there is no {call}()"


def comments(tree, name, text):
    for number, line in enumerate(text.splitlines(), 1):
        if "#include" in line or "." not in line:
            continue
        paths = SOURCE.findall(line) + PATH.findall(line) + TEST.findall(line)
        paths += [path for path in ROOM_FILE.findall(line)
                  if path.split("/")[0] in tree.rooms]
        for path in dict.fromkeys(paths):
            if not OTHERS.search(path) and not tree.has(path):
                yield f"{name}:{number}: there is no {path}"


def main():
    tree = Tree(sys.argv[1])
    for name in GUIDES:
        if name in tree.paths:
            yield from guide(tree, name)
    for name, text in tree.texts.items():
        if not name.startswith("t/"):
            yield from comments(tree, name, text)


if __name__ == "__main__":
    for wrong in main():
        print(wrong)
