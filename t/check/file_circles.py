#!/usr/bin/python3
"""file_circles.py SRC OBJECTS: circles of files within a room of SRC, the folder src,
by their includes and by the functions that they call. OBJECTS is the same folder in a
build tree.

A file is a .c file with the header of its name, and with NAME_impl.h, which is for the
inside of it. A table of implementations does not make a circle: it refers to data of
their files, and their functions may call its own.
Each line is "includes" or "calls", and the files of one circle."""

import collections
import os
import re
import subprocess
import sys

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def files_below(root, ending):
    """The files with this ending, from root, without it."""
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith(ending):
                yield os.path.relpath(os.path.join(folder, name), root)[:-len(ending)]


def room_of(file):
    return os.path.dirname(file)


def owner_of(file):
    return file.removesuffix("_impl")


def includes_in(src):
    """{file: files of its room that it includes}"""
    found = collections.defaultdict(set)
    for ending in (".c", ".h"):
        for file in files_below(src, ending):
            with open(os.path.join(src, file + ending), encoding="utf-8") as text:
                headers = INCLUDE.findall(text.read())
            room, owner = room_of(file), owner_of(file)
            for header in headers:
                folder, _, name = header.rpartition("/")
                other = owner_of(os.path.join(room, name.removesuffix(".h")))
                if folder in ("", os.path.basename(room)) and other != owner:
                    found[owner].add(other)
    return found


def calls_in(src, objects):
    """{file: files of its room that have a function that it uses}"""
    built = [file for file in files_below(src, ".c")
             if os.path.exists(os.path.join(objects, file + ".o"))]
    if not built:
        sys.exit(f"{objects}: there are no objects")
    listed = subprocess.run(["nm", "-P", "-A", *(file + ".o" for file in built)],
                            cwd=objects, check=True, stdout=subprocess.PIPE, text=True)
    homes, used = collections.defaultdict(list), []
    for line in listed.stdout.splitlines():
        place, symbol, kind = line.split()[:3]
        file = place.removesuffix(":").removesuffix(".o")
        if kind == "U":
            used.append((file, symbol))
        elif kind in "TW":
            homes[symbol].append(file)
    found = collections.defaultdict(set)
    for file, symbol in used:
        found[file].update(home for home in homes[symbol]
                           if room_of(home) == room_of(file))
    return found


def reached_from(file, uses):
    """All files that a file uses, directly or through others."""
    reached, left = set(), list(uses.get(file, ()))
    while left:
        other = left.pop()
        if other not in reached:
            reached.add(other)
            left += uses.get(other, ())
    return reached


def circles(uses):
    """The largest sets of files that use each other, each sorted."""
    reached = {file: reached_from(file, uses) for file in uses}
    return sorted({tuple(sorted(other for other in reached[file]
                                if file in reached.get(other, ())))
                   for file in uses if file in reached[file]})


def main(src, objects):
    for what, uses in (("includes", includes_in(src)),
                       ("calls", calls_in(src, objects))):
        for circle in circles(uses):
            print(what, *circle)


if __name__ == "__main__":
    main(*sys.argv[1:])
