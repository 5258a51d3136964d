"""Ray's arguments of the functions that read files. What has a meaning here is taken,
how many tasks read has no effect, and the rest is refused with what to use."""

from __future__ import annotations

import errno
import glob
import os
from typing import Any, Sequence

from . import _config
from ._protocols import Path

# Of Ray's tasks that read: how many there are, and what each has.
TASKS = {"parallelism", "concurrency", "override_num_blocks", "ray_remote_args",
         "num_cpus", "num_gpus", "memory", "compute"}

# How readers of Arrow and NumPy work, which does not change the rows.
WITHOUT_EFFECT = {
    "read_csv": {"memory_pool"},
    "read_json": {"memory_pool"},
    "read_numpy": {"mmap_mode", "fix_imports", "encoding", "max_header_size"},
    "read_parquet": {"use_threads", "batch_size", "batch_readahead",
                     "fragment_readahead", "cache_metadata", "memory_pool"},
}

_FILES = {
    "filesystem": "files are read by their paths: mount the file system on every node, "
                  "and give the path there",
    "partition_filter": "choose the files by a pattern, such as \"2024-*/*.csv\"",
}
_NAMES_OF_FILES = {
    **_FILES,
    "partitioning": "names of directories are columns for read_parquet() alone: read "
                    "each directory by itself, and add_column()",
    "include_paths": "rows do not have the name of their file: read each file by "
                     "itself, and add_column(\"path\", ...)",
}
_TYPES = "the types of columns are those of the files: change them by map_batches()"

# {function: {argument: what to use}}: those of Ray that have no meaning here.
INSTEAD: dict[str, dict[str, str]] = {
    "read_csv": {
        **_NAMES_OF_FILES,
        "read_options": "header=False is for files without names of columns, which "
                        "rename_columns() gives",
        "convert_options": "give dtypes=, missing= and columns= to read_csv() itself",
    },
    "read_json": {
        **_NAMES_OF_FILES,
        "read_options": "files are read in UTF-8, line by line",
        "parse_options": "give dtypes= to read_json() itself",
    },
    "read_text": _NAMES_OF_FILES,
    "read_numpy": {
        **_NAMES_OF_FILES,
        "allow_pickle": "arrays of objects of Python are not read: "
                        "from_items(list(numpy.load(path, allow_pickle=True)))",
    },
    "read_parquet": {
        **_FILES,
        "tensor_column_schema": "make arrays of the bytes by map_batches() and "
                                "numpy.frombuffer()",
        "filter": "give it to the Dataset, ds.filter(expr=\"x > 5\")",
        "schema": _TYPES,
        "dataset_kwargs": _TYPES,
        "fragment_scan_options": "files are read as pyarrow.parquet.ParquetFile does",
    },
}


def others(who: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options that are not Ray's.

    Args:
        who: The name of the function that reads.
        options: Those that were given.

    Returns:
        The rest of them.

    Raises:
        ValueError: One of Ray's has a value that cannot be had here.
    """
    _check_opening(who, options)
    ignored = TASKS | WITHOUT_EFFECT.get(who, set()) | _OPENING
    rest = {}
    for name, value in options.items():
        said = INSTEAD.get(who, {}).get(name)
        if said is None:
            if name not in ignored:
                rest[name] = value
        elif value is not None and value is not False:
            raise ValueError(f"{who}: {name} is not available: {said}")
    return rest


def check(who: str, options: dict[str, Any]) -> None:
    """Of a function without options that are not Ray's.

    Args:
        who: Its name.
        options: Those that were given.

    Raises:
        TypeError: Ray does not have one of them.
    """
    unknown = sorted(others(who, options))
    if unknown:
        raise TypeError(f"{who}() has no argument {unknown[0]!r}")


_OPENING = {"arrow_open_stream_args", "arrow_open_file_args"}
_COMPRESSED = (None, "detect", "gzip", "zstd")


def _check_opening(who: str, options: dict[str, Any]) -> None:
    """How Arrow opens a file: its compression is seen by itself here."""
    for name in _OPENING & set(options):
        for key, value in (options[name] or {}).items():
            if key != "buffer_size" and (key != "compression"
                                         or value not in _COMPRESSED):
                raise ValueError(f"{who}: {name}={{{key!r}: {value!r}}} is not "
                                 "available: files are plain, or compressed with gzip "
                                 "or zstd, which is seen by itself")


# ---- Paths ----


def check_path(path: Any) -> None:
    """FileNotFoundError if there is no such file, and none that matches it."""
    if isinstance(path, (str, os.PathLike)):
        path = _config.local_path(path)
    if isinstance(path, str) and not os.path.exists(path) and not glob.glob(path):
        what = "no file matches the pattern" if glob.has_magic(path) else \
            os.strerror(errno.ENOENT)
        raise FileNotFoundError(errno.ENOENT, what, path)


def path_of(who: str, paths: Any, options: dict[str, Any]) -> Path:
    """What a Dataset of files reads, after Ray's arguments on paths, which are taken
    out of the options.

    Args:
        who: The name of the function that reads.
        paths: Its first argument.
        options: The others.

    Returns:
        A file, a directory or a pattern.

    Raises:
        TypeError: No path is given, or two are.
        ValueError: Several are given, or file_extensions choose files that no pattern
            matches.
        FileNotFoundError: There is no such file.
    """
    other = options.pop("path", None)
    if (paths is None) == (other is None):
        raise TypeError(f"{who}() takes paths: a file, a directory, or a pattern such "
                        "as 'train-*.csv'")
    path = other if paths is None else paths
    if isinstance(path, (list, tuple)):
        if len(path) != 1:
            raise ValueError(
                f"{who}: {len(path)} paths: give one, a directory or a pattern such as "
                "'train-*.csv'; or read each of them, and append them by union()")
        path = path[0]
    # A path that is ignored would leave no rows, which is an error, in Ray, too.
    options.pop("ignore_missing_paths", None)
    check_path(path)
    extensions = options.pop("file_extensions", None)
    chosen: Path = path if extensions is None else _ending_in(who, path, extensions)
    return chosen


def has_ending(path: str, extensions: Sequence[str] | None) -> bool:
    """Does a file have one of these endings, in small or capital letters? None: any."""
    return extensions is None or any(
        path.lower().endswith("." + ending.lower().lstrip("."))
        for ending in extensions)


def _ending_in(who: str, given: Any, extensions: Sequence[str]) -> str:
    path = _config.local_path(given)
    found = files_of(path)
    chosen = [name for name in found if has_ending(name, extensions)]
    if not chosen:
        raise FileNotFoundError(errno.ENOENT, f"no file ends in {list(extensions)}",
                                path)
    if not os.path.isdir(path) and len(chosen) == len(found):
        return path
    common = os.path.commonprefix([ending.lstrip(".") for ending in extensions])
    for tail in [*extensions, common + "*", "*"]:
        pattern = os.path.join(glob.escape(path), f"*.{tail.lstrip('.')}")
        if os.path.isdir(path) and sorted(glob.glob(pattern)) == chosen:
            return pattern
    raise ValueError(f"{who}: file_extensions={list(extensions)!r} choose {len(chosen)}"
                     f" of the {len(found)} files of {path}, and no pattern does: give "
                     "the pattern of those to read")


def files_of(path: Any) -> list[str]:
    """The files of a directory that are not hidden, or those that match a pattern.

    Args:
        path: A directory, a pattern, or a file.

    Returns:
        Their paths, in order.
    """
    path = os.fspath(path)
    if os.path.isdir(path):
        names = [os.path.join(path, name) for name in sorted(os.listdir(path))
                 if not name.startswith(".")]
        return [name for name in names if os.path.isfile(name)]
    return [path] if os.path.exists(path) else sorted(glob.glob(path))


# ---- Order ----


def shuffled(who: str, shuffle: Any) -> bool:
    """Are rows to be in a new order in each epoch?

    Args:
        who: The name of the function that reads.
        shuffle: Its argument: "files" of Ray shuffles the rows, too.

    Returns:
        Whether they are.

    Raises:
        ValueError: It is something else.
    """
    if shuffle is None or isinstance(shuffle, bool):
        return bool(shuffle)
    if isinstance(shuffle, str) and shuffle == "files":
        return True
    raise ValueError(f"{who}: shuffle is True or \"files\", which both shuffle the "
                     "rows, or None; random_shuffle(seed=...) gives the order of a "
                     f"seed, not {shuffle!r}")


# ---- CSV and text ----

# Attributes of pyarrow.csv.ParseOptions, with the values that rows are read with.
_PARSED = {"quote_char": '"', "double_quote": True, "escape_char": False,
           "ignore_empty_lines": True, "invalid_row_handler": None}


def delimiter_of(options: dict[str, Any], delimiter: str | None) -> str | None:
    """The delimiter of CSV files.

    Args:
        options: Those of read_csv(); parse_options is taken out.
        delimiter: Its own argument.

    Returns:
        The one that is given.

    Raises:
        ValueError: Two different ones are, or parse_options have something that rows
            are not read with.
    """
    given = options.pop("parse_options", None)
    if given is None:
        return delimiter
    for name, value in _PARSED.items():
        if getattr(given, name, value) != value:
            raise ValueError(f"read_csv: parse_options with {name}="
                             f"{getattr(given, name)!r} are not available: files are "
                             "as RFC 4180 says, with any delimiter")
    other: str | None = getattr(given, "delimiter", None)
    if delimiter is not None and other not in (None, delimiter):
        raise ValueError(f"read_csv: delimiter is {delimiter!r}, and that of "
                         f"parse_options {other!r}")
    return other if delimiter is None else delimiter


def check_encoding(encoding: Any) -> None:
    """ValueError if text in this encoding is not UTF-8."""
    if str(encoding).lower().replace("_", "-") not in ("utf-8", "utf8", "ascii",
                                                       "us-ascii"):
        raise ValueError(f"read_text: encoding={encoding!r} is not available: files "
                         "are in UTF-8; iconv(1) converts others")
