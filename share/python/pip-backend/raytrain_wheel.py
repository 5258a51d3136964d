"""What ``pip install`` of this directory calls (PEP 517, PEP 660): writes the module as
a wheel.

It needs the standard library only, so that pip fetches nothing: a node of a cluster may
have no network. The directory may be that of the source, or of an installation; the
wheel of the latter knows where that is, and the module finds raytrain-run there if it
is not on PATH.
"""
from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import tarfile
import zipfile

_here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_STAMP = (1980, 1, 1, 0, 0, 0)  # the same input gives the same wheel


def _project() -> dict[str, str]:
    """Name, version and so on, from the lines of pyproject.toml (tomllib is of Python
    3.11)."""
    with open(os.path.join(_here, "pyproject.toml"), encoding="utf-8") as file:
        return dict(re.findall(r'^([a-z-]+) = "(.*)"$', file.read(), re.MULTILINE))


def _modules() -> list[tuple[str, bytes]]:
    """The files of the module: (path in the wheel, contents)."""
    found = []
    for folder, folders, names in os.walk(os.path.join(_here, "raytrain")):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            if name.endswith((".py", ".pyi")) or name == "py.typed":
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found.append((os.path.relpath(path, _here), file.read()))
    return found


def _home() -> list[tuple[str, bytes]]:
    """Of an installation: where its programs are. PREFIX/share/raytrain/python is this
    directory."""
    prefix = os.path.normpath(os.path.join(_here, *[os.pardir] * 3))
    if not os.access(os.path.join(prefix, "bin", "raytrain-run"), os.X_OK):
        return []
    text = ('"""Where the installation is from which pip took this."""\n'
            f"PREFIX = {prefix!r}\n")
    return [("raytrain/_home.py", text.encode())]


def _metadata(project: dict[str, str]) -> bytes:
    return (f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: "
            f"{project['version']}\nSummary: {project['description']}\n"
            f"Requires-Python: {project['requires-python']}\n").encode()


def _write_wheel(directory: str, files: list[tuple[str, bytes]]) -> str:
    project = _project()
    name, version = project["name"], project["version"]
    info = f"{name}-{version}.dist-info"
    files = files + [
        (f"{info}/METADATA", _metadata(project)),
        (f"{info}/WHEEL", b"Wheel-Version: 1.0\nGenerator: raytrain\n"
                          b"Root-Is-Purelib: true\nTag: py3-none-any\n"),
    ]
    record = ""
    for path, contents in files:
        digest = hashlib.sha256(contents).digest()
        digest = base64.urlsafe_b64encode(digest).rstrip(b"=")
        record += f"{path},sha256={digest.decode()},{len(contents)}\n"
    record += f"{info}/RECORD,,\n"
    wheel = f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, wheel), "w",
                         zipfile.ZIP_DEFLATED) as archive:
        for path, contents in [*files, (f"{info}/RECORD", record.encode())]:
            entry = zipfile.ZipInfo(path, _STAMP)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, contents, zipfile.ZIP_DEFLATED)
    return wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _write_wheel(wheel_directory, _modules() + _home())


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _write_wheel(wheel_directory, [("raytrain.pth", f"{_here}\n".encode())])


def build_sdist(sdist_directory, config_settings=None):
    project = _project()
    root = f"{project['name']}-{project['version']}"
    name = f"{root}.tar.gz"
    files = _modules() + [("PKG-INFO", _metadata(project))]
    for path in ("pyproject.toml", "pip-backend/raytrain_wheel.py"):
        with open(os.path.join(_here, path), "rb") as file:
            files.append((path, file.read()))
    with tarfile.open(os.path.join(sdist_directory, name), "w:gz") as archive:
        for path, contents in files:
            entry = tarfile.TarInfo(f"{root}/{path}")
            entry.size = len(contents)
            archive.addfile(entry, io.BytesIO(contents))
    return name
