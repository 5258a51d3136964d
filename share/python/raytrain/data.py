"""Datasets: files of rows, of which every worker gets its shard in batches.

    trainer = TorchTrainer(train, datasets={"train": read_hdf5("train.h5", shuffle=True)})

    def train():
        shard = raytrain.get_dataset_shard("train")
        for epoch in range(10):
            for batch in shard.iter_torch_batches(batch_size=256):
                ...

Names and meaning as in ``ray.data``. Rows are read by raytrain's C library, a batch ahead,
and reach Python in shared memory.
"""
from __future__ import annotations

import glob
import os
from typing import Any

from . import _config, _frame, _mapping, _memory, _session, _slots, _warnings
from ._batches import Batches
from .errors import NoSuchDataset

__all__ = ["read_csv", "read_hdf5", "read_idx", "read_libsvm", "read_numpy", "read_text",
           "from_numpy", "from_pandas", "Dataset", "DataIterator", "get_dataset_shard"]


def read_hdf5(path: str, *, columns: list[Any] | None = None, label: str | None = None,
              shuffle: bool = False, shuffle_window: int | None = None,
              limit: int | None = None, filter: dict[str, Any] | None = None,
              last_batch: str | None = None) -> Dataset:
    """The rows of an HDF5 file: its datasets are the columns, their first dimension the
    rows; strings, of fixed or variable length, are a column of words. columns: the names of those to read. shuffle: in a new order in every epoch.
    shuffle_window: mix that many rows at a time with each other, instead of all. filter:
    {"column": NAME, "min": A, "max": B}, the rows with a value in this range; one of the
    bounds may be left out. limit: how many of these rows. last_batch: what becomes of the
    rows that do not fill a batch: "keep", "drop" or "pad", with rows from the start
    (see DataIterator.padding)."""
    return Dataset(path, format="hdf5", columns=columns, label=label, shuffle=shuffle,
                   shuffle_window=shuffle_window, limit=limit, filter=filter,
                   last_batch=last_batch)


def read_idx(path: str, *, label: str | None = None, shuffle: bool = False,
             **options: object) -> Dataset:
    """The rows of an IDX file, such as Fashion-MNIST's images, also compressed with gzip.
    label: the file of the labels; found by its name if the images are in
    NAME-images-idx3-ubyte. options: see read_hdf5()."""
    return Dataset(path, format="idx", label=label, shuffle=shuffle, **options)


def read_numpy(path: str, *, columns: list[Any] | None = None, label: str | None = None,
               shuffle: bool = False, **options: object) -> Dataset:
    """The rows of arrays that numpy.save or numpy.savez wrote; their first dimension are
    the rows. An .npy file is a column that is named after the file, without a number at
    its end; the fields of a structured array, and the arrays of an .npz file, are a
    column each. label: such a file too, or a column. options: see read_hdf5()."""
    return Dataset(path, format="numpy", columns=columns, label=label, shuffle=shuffle,
                   **options)


def read_csv(path: str, *, columns: list[Any] | None = None,
             delimiter: str | None = None, header: bool = True,
             dtypes: dict[str, Any] | None = None, missing: list[Any] | None = None,
             label: str | None = None, shuffle: bool = False,
             **options: object) -> Dataset:
    """The rows of a CSV file, also compressed with gzip or zstd. The first line has the
    names of the columns; header=False: there is none. delimiter: what separates fields, a
    comma if nothing is said and the file does not end in .tsv. dtypes: {column: "float32",
    "float64", "int64", "bool", "words" or "text"}, of others it is found out from their
    values. missing: the texts that mean a missing value; if nothing is said, no text, and
    those that pandas takes for it. options: see read_hdf5()."""
    return Dataset(path, format="csv", columns=columns, label=label, shuffle=shuffle,
                   delimiter=delimiter, header=None if header else False,
                   types=None if dtypes is None else _types(dtypes),
                   missing=None if missing is None else list(missing), **options)


def _types(dtypes: dict[str, Any]) -> list[Any]:
    """The option `types`, for columns of any name."""
    names = {"str": "words", "category": "words", "string": "text", "float": "float64",
             "int": "int64"}
    given = {column: kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
             for column, kind in dtypes.items()}
    return [{"column": column, "type": names.get(kind, kind)}
            for column, kind in given.items()]


def read_text(path: str, *, shuffle: bool = False, **options: object) -> Dataset:
    """The lines of text files, as the column "text". options: see read_hdf5()."""
    return Dataset(path, format="text", shuffle=shuffle, **options)


def read_libsvm(path: str, *, shuffle: bool = False, **options: object) -> Dataset:
    """The rows of a file in LIBSVM's format: the columns "label" and "features", which are
    sparse vectors. options: see read_hdf5()."""
    return Dataset(path, format="libsvm", shuffle=shuffle, **options)


def from_numpy(arrays: object) -> Dataset:
    """The rows of {column: array}, or of an array as the column "data". They are written to
    a file, which is removed when nothing refers to the Dataset any more; a trainer keeps a
    copy beside its run. Columns of numbers may have rows of any shape; bool become uint8.
    Columns of str have one str a row, any text, or None if it is missing."""
    file = _memory.file_of(arrays if isinstance(arrays, dict) else {"data": arrays})
    made = Dataset(file.path, format="numpy")
    made._file = file
    return made


def from_pandas(df: object) -> Dataset:
    """The rows of a DataFrame of pandas, or of a list of DataFrames, as from_numpy() has
    them. Categories are their values; a column of integers or bool with missing values is
    float64, with NaN. The index is left out: df.reset_index() makes columns of it. Times
    are refused: make numbers of them, df["t"].astype("int64")."""
    if isinstance(df, (list, tuple)):
        import pandas

        df = pandas.concat(df, ignore_index=True)
    if not hasattr(df, "columns") or not hasattr(df, "iloc"):
        raise TypeError("from_pandas() takes a DataFrame, or a list of DataFrames, not "
                        f"{type(df).__name__}")
    columns = {str(name): df.iloc[:, i] for i, name in enumerate(df.columns)}
    if len(columns) < len(df.columns):
        raise ValueError(f"columns have the same name: {list(map(str, df.columns))}")
    return from_numpy(columns)


class DataIterator:
    """Batches of rows. Each call of an iter_ method is one epoch, a pass over the shard;
    the first one in a restarted worker goes on at the position of the checkpoint."""

    def __init__(self, source: dict[str, Any], equal: bool = True) -> None:
        self._source = source
        self._equal = equal
        self._handle: dict[str, Any] | None = None
        self._server: object = None  # that opened it: a helper may be replaced
        self._slots = _slots.Slots()
        self._state: bytes | None = None  # preprocessors, see raytrain.preprocessors
        self._functions: list[Any] = []  # that are applied to batches
        self._padding = 0
        self._rest: object = None  # of the preprocessors, what is done here before those

    # ---- Iteration ----

    def iter_batches(self, *, batch_size: int = 256, batch_format: str | None = "numpy",
                     drop_last: bool = False, prefetch_batches: int = 1,
                     local_shuffle_buffer_size: int | None = None,
                     local_shuffle_seed: int | None = None):
        """{column: array} for each batch, the first dimension of each array being the
        batch's rows: batch_size, and fewer in the last one, which drop_last leaves out.

        Of a dataset that is divided among the workers, all get equal numbers of rows in
        each batch: up to (workers - 1) rows at the end of an epoch are left out, with a
        warning. get_dataset_shard(name, equal=False) gives them all, for an evaluation.

        NumPy arrays, or memoryviews if NumPy is not installed; a bfloat16 as the uint16 of
        its bits, and so is a float16 in a memoryview. They are yours: a batch is overwritten only once nothing refers to it.
        Words and texts are arrays of str, with None for a missing word; sparse vectors a
        scipy.sparse.csr_matrix or, if SciPy is not installed, an object with its data,
        indices, indptr and shape.

        With last_batch="pad" among the options of the dataset all batches are full: the
        last one ends with rows of the epoch's beginning, as many as `padding` says.
        """
        _refuse_local_shuffle(local_shuffle_buffer_size)
        if batch_format not in ("numpy", "default", None):
            raise ValueError(f"batch_format={batch_format!r}: batches are dicts of NumPy "
                             "arrays, 'numpy'")
        return self._batches(batch_size, drop_last)

    def iter_torch_batches(self, *, batch_size: int = 256, dtypes: object = None,
                           device: object = "auto", collate_fn: object = None,
                           drop_last: bool = False, prefetch_batches: int = 1,
                           local_shuffle_buffer_size: int | None = None,
                           local_shuffle_seed: int | None = None,
                           pin_memory: bool = False):
        """As iter_batches(), with torch.Tensors. Words are their int64 codes, -1 if they are
        missing (words() has the words); sparse vectors a torch.sparse_csr_tensor; texts
        cannot be tensors, and stay arrays of str, as do words if a preprocessor is a
        BatchMapper. dtypes: a torch.dtype for all columns, or
        {column: torch.dtype}. device: "auto" is that of this worker. collate_fn: takes
        the dict of NumPy arrays, and returns what is yielded."""
        _refuse_local_shuffle(local_shuffle_buffer_size)
        if collate_fn is not None and dtypes is not None:
            raise ValueError("iter_torch_batches: give dtypes or collate_fn, not both")
        if device == "auto":
            device = _device()

        def begin():
            make, codes = collate_fn, False
            if make is None:
                columns = self._open()["columns"]
                codes = self._rest is None

                def make(batch):
                    return _to_torch(batch, columns if codes else _frame.described(batch),
                                     dtypes)
            for batch in self._generate(batch_size, drop_last, codes, False):
                yield _to_device(make(batch), device, pin_memory)

        _check_size(batch_size)
        return Batches(begin)

    def iter_rows(self, *, prefetch_batches: int = 1):
        """An iterator over rows, as {column: scalar or array}."""
        for batch in self._batches(256, False, unpadded=True):
            for values in zip(*batch.values()):
                yield dict(zip(batch, values))

    def iter_epochs(self, max_epoch: int | None = None):
        """Yields this iterator once an epoch, without end or max_epoch times."""
        from itertools import count

        for _ in count() if max_epoch is None else range(max_epoch):
            yield self

    def materialize(self) -> dict[str, Any]:
        """All rows of one epoch of this shard, as {column: array}. Needs NumPy."""
        parts = list(self._batches(4096, False, unpadded=True))
        if not parts:
            return {name: _frame.empty(c) for name, c in self._open()["columns"].items()}
        return {name: _frame.concatenate([p[name] for p in parts]) for name in parts[0]}

    # ---- What it is ----

    def count(self) -> int:
        """Rows of the dataset, over all workers."""
        return self._open()["rows"]

    @property
    def padding(self) -> int:
        """How many rows at the end of the batch that an iter_ method gave last fill it up:
        rows that an evaluation must not count again. 0 without last_batch="pad"."""
        return self._padding

    def schema(self) -> dict[str, Any]:
        """{column: (dtype, shape of a row)}; the dtype of words and texts is "str"."""
        return {name: (c.dtype, c.shape) for name, c in self._open()["columns"].items()}

    def words(self, column: str) -> list[Any]:
        """The distinct words of a column of words, by their codes."""
        found = self._open()["columns"].get(column)
        if found is None or found.words is None:
            raise KeyError(f"{column!r} is no column of words")
        return list(found.words)

    def columns(self) -> list[Any]:
        """The names of the columns."""
        return list(self._open()["columns"])

    def __repr__(self) -> str:
        return f"DataIterator({self._source})"

    # ---- The other side: dataset_requests.c ----

    def _open(self) -> dict[str, Any]:
        server = _session.server()
        if self._handle is None or self._server is not server:
            import weakref

            closed = server.__dict__.setdefault("closed_datasets", [])
            close = [closed.pop() for _ in range(len(closed))]
            if self._state is not None:
                _mapping.check(server, self._state)
            reply, data, _ = server.call("dataset_open", {**self._source, "close": close,
                                                          "maps": True},
                                         self._state or b"")
            self._handle = {**reply, "columns": _frame.columns_of(reply, data)}
            self._server = server
            self._slots = _slots.Slots()
            if "maps" in reply:
                self._rest = _mapping.rest(server, reply["maps"], self._state)
            # Closing it is a request, and this may be called in the middle of one.
            weakref.finalize(self, closed.append, self._handle["id"]).atexit = False
            _warnings.show(getattr(self, "path", None), reply)
        return self._handle

    def _batches(self, batch_size: int, drop_last: bool, codes: bool = False,
                 unpadded: bool = False):
        """Each iter() begins an epoch at the first batch that is asked for."""
        _check_size(batch_size)
        return Batches(lambda: self._generate(batch_size, drop_last, codes, unpadded))

    def _generate(self, batch_size: int, drop_last: bool, codes: bool, unpadded: bool):
        handle = self._open()
        server = self._server
        begun = server.call("dataset_begin", {
            "id": handle["id"], "batch_size": batch_size, "drop_last": drop_last,
            "equal": self._equal, "unpadded": unpadded})[0]
        while True:
            slot = self._slots.choose()
            reply, _, fds = server.call("dataset_next", {
                "id": handle["id"], "pass": begun["pass"], "slot": slot})
            if reply["rows"] == 0:
                return
            for fd in fds:
                self._slots.map(slot, fd)
            self._padding = reply.get("padding", 0)
            # No name refers to the batch while it is in use: it may be freed before the
            # next one is asked for.
            yield self._mapped(_frame.decode(handle["columns"], self._slots.lend(slot),
                                             reply["rows"], reply["places"], codes))

    def _mapped(self, batch: dict[str, Any]) -> dict[str, Any]:
        if self._rest is not None:
            batch = self._rest(batch)
        for function in self._functions:
            batch = function(batch)
        return batch


def _check_size(batch_size: object) -> None:
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise ValueError(f"batch_size is an integer of at least 1, not {batch_size!r}")


def _refuse_local_shuffle(size: int | None) -> None:
    if size is not None:
        raise ValueError(
            "local_shuffle_buffer_size: raytrain shuffles all rows, in an order that is "
            "the same on any number of workers: datasets={NAME: read_hdf5(PATH, "
            "shuffle=True)}")


def _device():
    from . import torch

    return torch.get_device()


def _to_torch(batch: dict[str, Any], columns: dict[str, Any],
              dtypes: object) -> dict[str, Any]:
    """Tensors that share the batch's memory, unless their type must change."""
    import torch

    tensors = {}
    for name, array in batch.items():
        column = columns[name]
        if column.kind in ("text", "word_lists"):
            tensors[name] = array
            continue
        if column.kind == "sparse":
            tensor = _sparse_tensor(torch, array)
        elif column.kind == "words":
            tensor = _tensor(torch, array, "int32").long()
        else:
            tensor = _tensor(torch, array, column.dtype)
        wanted = dtypes.get(name) if isinstance(dtypes, dict) else dtypes
        tensors[name] = tensor if wanted is None else tensor.to(wanted)
    return tensors


def _sparse_tensor(torch: object, rows: object):
    import numpy

    return torch.sparse_csr_tensor(
        torch.from_numpy(numpy.asarray(rows.indptr).astype("i8")),
        torch.from_numpy(numpy.asarray(rows.indices).astype("i8")),
        torch.from_numpy(numpy.asarray(rows.data)), size=rows.shape)


# torch 1.13 has one unsigned type.
_WIDER = {"uint16": "i4", "uint32": "i8", "uint64": "i8"}


def _tensor(torch: object, array: object, dtype: str):
    if isinstance(array, memoryview):  # without NumPy
        flat = array.cast("B") if array.nbytes else array
        if dtype in _WIDER:
            return torch.tensor(array.tolist())
        kind = torch.uint8 if dtype == "bytes" else getattr(torch, dtype)
        return torch.frombuffer(flat, dtype=kind).reshape(array.shape)
    if dtype == "bfloat16":
        return torch.from_numpy(array.view("i2")).view(torch.bfloat16)
    if dtype in _WIDER:
        array = array.astype(_WIDER[dtype])
    return torch.from_numpy(array)


def _to_device(batch: object, device: object, pin_memory: bool):
    if isinstance(batch, dict):
        return {name: _to_device(value, device, pin_memory)
                for name, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return type(batch)(_to_device(value, device, pin_memory) for value in batch)
    if pin_memory and device is not None and str(device) != "cpu":
        return batch.pin_memory().to(device, non_blocking=True)
    if device is None or not hasattr(batch, "to"):
        return batch
    return batch.to(device)


def _is_pattern(path: str) -> bool:
    return glob.has_magic(path) and bool(glob.glob(path))


def _absolute(path: str) -> str:
    """No character of the working directory has a meaning in a pattern."""
    if os.path.exists(path) or not glob.has_magic(path):
        return os.path.abspath(path)
    return os.path.join(glob.escape(os.getcwd()), path)


class Dataset(DataIterator):
    """The rows of a file, of the files of a directory, or of those that match a pattern
    such as "train-*.h5": give it to a trainer, or look at its rows; outside workers these
    are all of them."""

    def __init__(self, path: str, *, format: str | None = None,
                 columns: list[Any] | None = None, label: str | None = None,
                 shuffle: bool = False, shuffle_window: int | None = None,
                 limit: int | None = None, filter: dict[str, Any] | None = None,
                 **options: object) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError("path is a file, a directory of files, or a pattern such as "
                            f"'train-*.csv', not {path!r}")
        self.path = _absolute(os.fspath(path))
        self._settings = {"path": self.path, "format": format,
                          "columns": list(columns) if columns is not None else None,
                          "label": label, "shuffle": bool(shuffle),
                          "shuffle_window": shuffle_window, "limit": limit,
                          "filter": dict(filter) if filter is not None else None,
                          **options}
        if label is not None and (os.path.exists(label) or _is_pattern(label)):
            self._settings["label"] = _absolute(label)
        self._file: object = None  # of from_numpy(): exists as long as this refers to it
        super().__init__({"config": _config.render({"datasets": {"data": self._keys()}})})

    def _keys(self) -> dict[str, Any]:
        """As keys of raytrain.cfg."""
        return {name: value for name, value in self._settings.items() if value is not None}

    def random_shuffle(self, *, seed: int | None = None) -> Dataset:
        """The same rows in a new order in every epoch. The order depends on the seed of
        the run, and not on this one, which is refused."""
        if seed is not None:
            raise ValueError("random_shuffle: the order depends on the seed of the run: "
                             "RunConfig(options=['--set=seed=N'])")
        return self._with(shuffle=True)

    def select_columns(self, columns: list[Any]) -> Dataset:
        """Those columns only."""
        return self._with(columns=[columns] if isinstance(columns, str) else columns,
                          exclude=None)

    def drop_columns(self, cols: list[Any]) -> Dataset:
        """All columns but those."""
        dropped = [cols] if isinstance(cols, str) else list(cols)
        columns = self._settings["columns"]
        if columns is not None:
            return self._with(columns=[name for name in columns if name not in dropped])
        return self._with(exclude=[*(self._settings.get("exclude") or []), *dropped])

    def map_batches(self, fn: object) -> Dataset:
        """A Dataset to whose batches fn is applied when they are read: it takes {column:
        array}, and returns another such dict."""
        mapped = self._with()
        mapped._functions.append(fn)
        return mapped

    def _transformed(self, state: bytes) -> Dataset:
        """After what was done to it already, by preprocessors in this state."""
        if self._functions:
            raise ValueError("a preprocessor after map_batches(): transform() the Dataset "
                             "first, and then map its batches")
        changed = self._with()
        if self._state is None:
            changed._state = state
        else:
            changed._state = _session.server().call("preprocess_join", {"first": len(self._state)},
                                            self._state + state)[1]
        return changed

    def _with(self, **changes: object) -> Dataset:
        settings = {**self._settings, **changes}
        return _dataset(type(self), settings.pop("path"), settings, self._state,
                        list(self._functions), self._file)

    def __reduce__(self):
        settings = dict(self._settings)
        return _dataset, (type(self), settings.pop("path"), settings, self._state,
                          self._functions)

    def __eq__(self, other: object) -> bool:
        return (type(other) is type(self) and other._settings == self._settings
                and other._state == self._state and other._functions == self._functions)

    __hash__ = None

    def __repr__(self) -> str:
        return f"Dataset({self.path!r})"


def _dataset(kind: type[Any], path: str, settings: dict[str, Any],
             state: bytes | None = None, functions: list[Any] = (),
             file: object = None) -> Dataset:
    made = kind(path, **settings)
    made._state, made._functions, made._file = state, list(functions), file
    return made


_shards: dict[str, Any] = {}


def _no_dataset(name: str, names: list) -> str:
    if not names:
        return (f"there is no dataset {name!r}, nor any other: give the trainer "
                f"datasets={{{name!r}: ...}}, or raytrain-run a key datasets.{name}")
    return f"there is no dataset {name!r}; the datasets are {', '.join(names)}"


def get_dataset_shard(name: str = "train", equal: bool = True) -> DataIterator:
    """This worker's shard of the dataset `name` of the trainer or of the configuration.
    COLLECTIVE at the first use of its rows. equal=False: shards may differ by a row, so
    that none is left out; for an evaluation.

    Raises KeyError if the trainer has no dataset of this name.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a dataset is a string, not {type(name).__name__}")
    names = _session.facts().get("datasets", ())
    if name not in names:
        raise NoSuchDataset(_no_dataset(name, names))
    if (name, equal) not in _shards:
        _shards[name, equal] = DataIterator({"name": name}, equal)
    return _shards[name, equal]
