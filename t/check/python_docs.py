#!/usr/bin/python3
"""python_docs.py DIR: what docstrings of public functions and classes of the Python client
in DIR lack: a parameter below "Args:", "Returns:", "Raises:"."""

import ast
import os
import re
import sys

# Classes of other modules that a script gets by a public name.
ALSO = {"_batches.py": {"Batches"}, "_gbdt.py": {"GBDTTrainer"},
        "_gbdt_model.py": {"TreePredictor"}, "_serve_client.py": {"Client", "ServeError"},
        "_shard.py": {"Pickled", "Shard", "ShardedArray"},
        "_transforms.py": {"Schema", "Transforms"}, "_tree_reports.py": {"TreeReports"},
        "_whole.py": {"Groups"}, "_worker_group.py": {"Future", "WorkerGroup"}}


def trees_of(root):
    """{path below root: its tree}"""
    trees = {}
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    trees[os.path.relpath(path, root)] = ast.parse(file.read())
    return trees


def value_of(tree, name):
    """What a module assigns to a name."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name:
            return ast.literal_eval(node.value)
    return {}


def public_names(trees):
    """{path: names}; None stands for all names without an underscore."""
    found = {path: None for path in trees if not os.path.basename(path).startswith("_")}
    for path, names in ALSO.items():
        found[path] = set(names)
    for path, tree in trees.items():
        if os.path.basename(path) == "__init__.py":
            found[path] = None
            for name, module in value_of(tree, "_NAMES").items():
                there = os.path.join(os.path.dirname(path), module + ".py")
                if found.setdefault(there, set()) is not None:
                    found[there].add(name)
    return found


def parameters(function, bound):
    """The names of its parameters, without self and those that are not public."""
    given = function.args
    names = [arg.arg for arg in [*given.posonlyargs, *given.args]][bound:]
    names += [arg.arg for arg in [*given.kwonlyargs, given.vararg, given.kwarg] if arg]
    return [name for name in names if not name.startswith("_")]


def is_property(function):
    return any(ast.unparse(d) in ("property", "cached_property")
               for d in function.decorator_list)


def raises(function):
    """Does it raise an exception itself?"""
    nodes = list(function.body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Raise) and node.exc is not None:
            return True
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            nodes += ast.iter_child_nodes(node)
    return False


def lacks(function, bound, text):
    """What its docstring, or that of its class, lacks."""
    names = parameters(function, bound)
    sections = set(re.findall(r"^ *(Args|Returns|Yields|Raises):$", text, re.MULTILINE))
    found = [name for name in names
             if not re.search(rf"^ *\**{name}: \S", text, re.MULTILINE)]
    if names and "Args" not in sections:
        found.append("Args:")
    answer = "None" if function.returns is None else ast.unparse(function.returns)
    if (names and answer not in ("None", "NoReturn") and not is_property(function)
            and not sections & {"Returns", "Yields"}):
        found.append("Returns:")
    if raises(function) and "Raises" not in sections:
        found.append("Raises:")
    if not text:
        found.append("a docstring")
    return found


def members(node):
    """(name, function, is it bound, docstring) of a function or a class."""
    if isinstance(node, ast.FunctionDef):
        yield node.name, node, False, ast.get_docstring(node) or ""
        return
    for function in node.body:
        if isinstance(function, ast.FunctionDef):
            text = ast.get_docstring(function) or ""
            bound = "staticmethod" not in map(ast.unparse, function.decorator_list)
            if function.name == "__init__":
                yield node.name, function, bound, text or ast.get_docstring(node) or ""
            elif not function.name.startswith("_"):
                yield f"{node.name}.{function.name}", function, bound, text


def main(root):
    trees = trees_of(root)
    for path, names in sorted(public_names(trees).items()):
        for node in trees[path].body:
            if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or (
                    node.name.startswith("_") if names is None else node.name not in names):
                continue
            for name, function, bound, text in members(node):
                found = lacks(function, bound, text)
                if found:
                    print(f"{path}:{function.lineno}: the docstring of {name} lacks "
                          + ", ".join(found))


main(sys.argv[1])
