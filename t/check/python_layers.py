#!/usr/bin/python3
"""python_layers.py DIR: circles of modules of the Python client in DIR, and imports of a layer
above. Imports inside functions count, those for type checkers do not.

The layers are: the connection; what a script calls in a worker; trainers, services and the
programs that they start."""

import ast
import os
import sys

CONNECTION = {"_exit", "_helper", "_home", "_launch", "_metrics", "_session", "_settings",
              "_wire", "errors"}
SCRIPT = {"_context", "_preemption", "_reported", "_upload", "checkpoint", "collective",
          "data", "preprocessors"}
TRAINERS = {"_events", "_fit", "_gbdt", "_predict", "_worker", "batch_predictor", "serve",
            "trainer"}


def files_of(root):
    """{module: path}; a package is named as itself."""
    files = {}
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                module = os.path.relpath(path, root)[:-3].replace(os.sep, ".")
                files[module[:-len(".__init__")] if module.endswith(".__init__")
                      else module] = path
    return files


def nodes_of(tree):
    """All nodes but those for type checkers."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)):
            yield node
            yield from nodes_of(node)


def names_in(node, package):
    """The dotted names that a statement imports; from raytrain, without that word."""
    if isinstance(node, ast.Import):
        names = [name.name for name in node.names]
    elif isinstance(node, ast.ImportFrom):
        base = package[:len(package) + 1 - node.level] if node.level else []
        base += [node.module] if node.module else []
        names = [".".join([*base, name.name]) for name in node.names]
        if node.level:
            return names
    else:
        return []
    return [name[len("raytrain."):] for name in names if name.startswith("raytrain.")]


def imports_of(module, files):
    """{module: line} of the modules of raytrain that a module imports."""
    package = module.split(".")
    if not files[module].endswith("__init__.py"):
        package.pop()
    with open(files[module], encoding="utf-8") as file:
        tree = ast.parse(file.read())
    found = {}
    for node in nodes_of(tree):
        for name in names_in(node, package):
            while name and name not in files:
                name = name.rpartition(".")[0]
            if name and name != module:
                found.setdefault(name, node.lineno)
    return found


def circle_from(module, imports, path=(), done=None):
    """The modules of a circle that can be reached from a module, or None."""
    done = set() if done is None else done
    if module in path:
        return path[path.index(module):] + (module,)
    if module in done:
        return None
    for other in imports[module]:
        circle = circle_from(other, imports, path + (module,), done)
        if circle:
            return circle
    done.add(module)
    return None


def main(root):
    files = files_of(root)
    imports = {module: imports_of(module, files) for module in files
               if module != "__init__"}
    for module in sorted(imports):
        circle = circle_from(module, imports)
        if circle:
            print("circle:", " -> ".join(circle))
            break
    for module, names in sorted(imports.items()):
        for name, line in sorted(names.items()):
            if module in CONNECTION and name not in CONNECTION or \
                    module in SCRIPT and name in TRAINERS:
                print(f"{module}:{line}: imports {name} of a layer above")


if __name__ == "__main__":
    main(sys.argv[1])
