"""Datasets: files of rows. Every worker gets its shard of the rows, in batches.

    rows = read_hdf5("train.h5", shuffle=True)
    trainer = TorchTrainer(train, datasets={"train": rows})

    def train():
        shard = raytrain.get_dataset_shard("train")
        for epoch in range(10):
            for batch in shard.iter_torch_batches(batch_size=256):
                ...

Names and meaning as in ``ray.data``. Rows are read by raytrain's C library, a batch
ahead, and reach Python in shared memory.
"""
from __future__ import annotations

import builtins
import collections.abc
import glob
import os
from contextlib import contextmanager
from typing import (TYPE_CHECKING, Any, Callable, Iterator, Mapping, Sequence, Sized,
                    cast)

from . import (_config, _frame, _made_rows, _mapping, _memory, _reading, _row_ops,
               _session, _slots, _sources, _warnings, _whole)
from ._batches import Batches
from ._ingest import (ActorPoolStrategy, DataContext, ExecutionOptions,
                      ExecutionResources, TaskPoolStrategy)
from ._instead import INSTEAD, refuse
from ._transforms import Schema, Transforms, frame_of, schema_of
from .errors import NoSuchDataset

if TYPE_CHECKING:
    import pandas
    import torch

    from ._protocols import Path, Paths

# range() is data.range() alone: `from raytrain.data import *` keeps Python's.
__all__ = ["read_csv", "read_hdf5", "read_idx", "read_json", "read_libsvm",
           "read_numpy", "read_parquet", "read_text", "from_items", "from_numpy",
           "from_pandas", "from_torch", "ActorPoolStrategy", "DataContext",
           "DataIterator", "Dataset", "ExecutionOptions", "ExecutionResources",
           "MaterializedDataset", "NodeIdStr", "Schema", "TaskPoolStrategy",
           "get_dataset_shard"]

NodeIdStr = str  # Ray's name for the type of a node's name


def __getattr__(name: str) -> Any:
    refuse("data", name)


def read_hdf5(path: Path, *, columns: Sequence[str] | None = None,
              label: str | None = None, shuffle: bool = False,
              shuffle_window: int | None = None, limit: int | None = None,
              filter: dict[str, Any] | None = None,
              last_batch: str | None = None) -> Dataset:
    """The rows of an HDF5 file: its datasets are the columns, their first dimension the
    rows; strings, of fixed or variable length, are a column of words.

    Args:
        path: The file, a directory of files, or a pattern such as "train-*.h5".
        columns: The names of the columns to read; None: all.
        label: The column of the labels.
        shuffle: Read the rows in a new order in every epoch.
        shuffle_window: Mix only this number of rows at a time, instead of all.
        limit: The number of rows, of those that pass the filter.
        filter: {"column": NAME, "min": A, "max": B}: only rows with a value in this
            range; one of the bounds may be left out.
        last_batch: How rows are used that do not fill a batch: "keep", "drop" or "pad",
            which adds rows from the start (see DataIterator.padding).

    Returns:
        The Dataset.
    """
    _reading.check_path(path)
    return Dataset(path, format="hdf5", columns=columns, label=label, shuffle=shuffle,
                   shuffle_window=shuffle_window, limit=limit, filter=filter,
                   last_batch=last_batch)


def read_idx(path: Path, *, label: str | None = None, shuffle: bool = False,
             **options: Any) -> Dataset:
    """The rows of an IDX file, such as Fashion-MNIST's images. It may be compressed
    with gzip.

    Args:
        path: See read_hdf5().
        label: The file of the labels. If the images are in NAME-images-idx3-ubyte, it
            is found by its name.
        shuffle: See read_hdf5().
        options: Its other arguments.

    Returns:
        The Dataset.
    """
    _reading.check_path(path)
    return Dataset(path, format="idx", label=label, shuffle=shuffle, **options)


def read_numpy(paths: Paths | None = None, *, columns: Sequence[str] | None = None,
               label: str | None = None, shuffle: bool | str | None = False,
               **options: Any) -> Dataset:
    """The rows of arrays that numpy.save or numpy.savez wrote; their first dimension is
    the rows. An .npy file is a column that is named after the file, without a number at
    its end. Each field of a structured array is a column, and so is each array of an
    .npz file.

    Args:
        paths: See read_csv().
        columns: See read_hdf5().
        label: The files of the labels, or a column.
        shuffle: See read_csv().
        options: See there.

    Returns:
        The Dataset.
    """
    path = _reading.path_of("read_numpy", paths, options)
    return Dataset(path, format="numpy", columns=columns, label=label,
                   shuffle=_reading.shuffled("read_numpy", shuffle),
                   **_reading.others("read_numpy", options))


def read_csv(paths: Paths | None = None, *, columns: Sequence[str] | None = None,
             delimiter: str | None = None, header: bool = True,
             dtypes: dict[str, Any] | None = None, missing: Sequence[str] | None = None,
             label: str | None = None, shuffle: bool | str | None = False,
             **options: Any) -> Dataset:
    """The rows of a CSV file, which may be compressed with gzip or zstd. The first line
    has the names of the columns.

    Args:
        paths: The file, a directory of files, or a pattern such as "train-*.csv"; or a
            list with one of these.
        columns: See read_hdf5().
        delimiter: The character between fields; None: a comma, unless the file ends in
            .tsv.
        header: False: there is no line with the names of the columns.
        dtypes: {column: "float32", "float64", "int64", "bool", "words" or "text"}; the
            types of other columns depend on their values.
        missing: The texts that mean a missing value; None: an empty text, and the
            missing values of pandas.
        label: The column of the labels.
        shuffle: True or "files": read the rows in a new order in every epoch.
        options: The other arguments of read_hdf5(), and those of Ray: file_extensions
            chooses files of a directory by their endings, and parse_options has the
            delimiter. Arguments for tasks that read have no effect, see range(). Others
            are refused, with advice on what to use.

    Returns:
        The Dataset.
    """
    path = _reading.path_of("read_csv", paths, options)
    delimiter = _reading.delimiter_of(options, delimiter)
    return Dataset(path, format="csv", columns=columns, label=label,
                   shuffle=_reading.shuffled("read_csv", shuffle),
                   delimiter=delimiter, header=None if header else False,
                   types=None if dtypes is None else _types(dtypes),
                   missing=None if missing is None else list(missing),
                   **_reading.others("read_csv", options))


def _types(dtypes: dict[str, Any]) -> list[Any]:
    """The option `types`, for columns of any name."""
    names = {"str": "words", "category": "words", "string": "text", "float": "float64",
             "int": "int64"}
    given = {column: kind if isinstance(kind, str)
             else getattr(kind, "__name__", str(kind))
             for column, kind in dtypes.items()}
    return [{"column": column, "type": names.get(kind, kind)}
            for column, kind in given.items()]


def read_text(paths: Paths | None = None, *, encoding: str = "utf-8",
              drop_empty_lines: bool = False, shuffle: bool | str | None = False,
              **options: Any) -> Dataset:
    """The lines of text files, as the column "text".

    Args:
        paths: See read_csv(). For a directory, the files that end in .txt, unless
            file_extensions has other endings.
        encoding: UTF-8, or ASCII, which is part of it.
        drop_empty_lines: Leave out lines that are empty or blank. The workers do this
            once, before the first epoch.
        shuffle: See read_csv().
        options: See there.

    Returns:
        The Dataset.
    """
    path = _reading.path_of("read_text", paths, options)
    _reading.check_encoding(encoding)
    mixed = _reading.shuffled("read_text", shuffle)
    rest = _reading.others("read_text", options)
    if not drop_empty_lines:
        return Dataset(path, format="text", shuffle=mixed, **rest)
    ds = Dataset(path, format="text", **rest)._changed_by(_sources.DropEmptyLines())
    return _as_dataset(ds.random_shuffle() if mixed else ds)


def read_libsvm(path: Path, *, shuffle: bool = False, **options: Any) -> Dataset:
    """The rows of a file in LIBSVM's format: the columns "label" and "features", which
    are sparse vectors.

    Args:
        path: See read_hdf5().
        shuffle: See there.
        options: Its other arguments.

    Returns:
        The Dataset.
    """
    _reading.check_path(path)
    return Dataset(path, format="libsvm", shuffle=shuffle, **options)


def from_numpy(ndarrays: Any = None, *, arrays: Any = None) -> Dataset:
    """The rows of arrays in memory. They are written to a file, which is removed when
    nothing refers to the Dataset any more; a trainer keeps a copy beside its run.

    Args:
        ndarrays: {column: array}, or an array, which becomes the column "data"; or a
            list of arrays, whose rows follow each other. Columns of numbers may have
            rows of any shape; bool become uint8. Columns of str have one str per row,
            which may be any text, or None if it is missing.
        arrays: Another name for ndarrays.

    Returns:
        The Dataset.

    Raises:
        TypeError: Neither is given, or both are.
    """
    if (ndarrays is None) == (arrays is None):
        raise TypeError("from_numpy() takes an array, {column: array}, or a list of "
                        "arrays")
    given = _frame.plain_dict(arrays if ndarrays is None else ndarrays)
    if isinstance(given, (list, tuple)) and given \
            and all(getattr(array, "ndim", 0) > 0 for array in given):
        import numpy

        given = numpy.concatenate(given)
    file = _memory.file_of(given if isinstance(given, dict) else {"data": given})
    made = Dataset(file.path, format="numpy")
    made._file = file
    return made


def from_pandas(dfs: pandas.DataFrame | Sequence[pandas.DataFrame] | None = None, *,
                df: pandas.DataFrame | Sequence[pandas.DataFrame] | None = None,
                **tasks: Any) -> Dataset:
    """The rows of a DataFrame of pandas, kept as from_numpy() keeps them. Categories
    become their values; a column of integers or bool with missing values becomes
    float64, with NaN. The index is left out: df.reset_index() converts it to columns.
    Times are refused: convert them to numbers, df["t"].astype("int64").

    Args:
        dfs: The DataFrame, or a list of DataFrames.
        df: Another name for dfs.
        tasks: See range().

    Returns:
        The Dataset.

    Raises:
        TypeError: It is not a DataFrame, or both are given.
        ValueError: Two columns have the same name, or one has values that no column can
            have.
    """
    _reading.check("from_pandas", tasks)
    if (dfs is None) == (df is None):
        raise TypeError("from_pandas() takes a DataFrame, or a list of DataFrames")
    given: Any = df if dfs is None else dfs
    if isinstance(given, (list, tuple)):
        import pandas

        given = pandas.concat(given, ignore_index=True)
    if not hasattr(given, "columns") or not hasattr(given, "iloc"):
        raise TypeError("from_pandas() takes a DataFrame, or a list of DataFrames, not "
                        f"{type(given).__name__}")
    columns = {str(name): given.iloc[:, i] for i, name in enumerate(given.columns)}
    if len(columns) < len(given.columns):
        raise ValueError(f"columns have the same name: {list(map(str, given.columns))}")
    return from_numpy(columns)


def from_items(items: list[Any], **tasks: Any) -> Dataset:
    """The rows of a list, kept as from_numpy() keeps them.

    Args:
        items: Dicts, {column: value}, or values, which become the column "item".
        tasks: See range().

    Returns:
        The Dataset.
    """
    _reading.check("from_items", tasks)
    return from_numpy(_sources.columns_of_items(items))


def range(n: int, **tasks: Any) -> Dataset:
    """The numbers 0 to n - 1, as the column "id".

    Args:
        n: Their number.
        tasks: parallelism, concurrency, override_num_blocks and the other arguments of
            Ray for the tasks that read. They have no effect: the workers that train
            read the rows.

    Returns:
        The Dataset.

    Raises:
        ValueError: n is not a positive int.
        TypeError: There is no such argument.
    """
    _reading.check("range", tasks)
    file = _sources.Numbers(n)
    made = Dataset(file.path, format="numpy")
    made._file = file
    return made


def from_torch(dataset: object, local_read: bool = False) -> Dataset:
    """The rows of a dataset of torch. The workers get its items while they read.

    Args:
        dataset: A dataset that has a length. A dict is a row; the columns of a tuple
            are "item_0", "item_1" and so on; any other item is the column "item".
        local_read: Without effect.

    Returns:
        The Dataset.
    """
    op, sized = _sources.torch_op(dataset), cast(Sized, dataset)
    return _as_dataset(range(len(sized))._changed_by(op))


def read_parquet(paths: Paths, *, columns: list[str] | None = None,
                 partitioning: object = "hive", include_paths: bool = False,
                 ignore_missing_paths: bool = False,
                 shuffle: bool | str | None = None,
                 file_extensions: Sequence[str] | None = _sources.PARQUET,
                 **options: Any) -> Dataset:
    """The rows of Parquet files. Needs pyarrow, here and in the workers, which read
    each row group once, before the first epoch.

    Args:
        paths: A path, a pattern, a directory with its subdirectories, or a list of
            these.
        columns: The names of the columns to read.
        partitioning: "hive": directories such as year=2024 become columns of str; None:
            they do not.
        include_paths: The column "path" has the path of the file.
        ignore_missing_paths: Leave out paths that do not exist.
        shuffle: See read_csv().
        file_extensions: The endings of the files of a directory; None: all its files.
        options: See read_csv().

    Returns:
        The Dataset.

    Raises:
        ValueError: partitioning is something else, or there are no rows.
    """
    _reading.check("read_parquet", options)
    style = str(getattr(getattr(partitioning, "style", partitioning), "value", None)
                or partitioning)
    if partitioning is not None and style != "hive":
        raise ValueError("read_parquet: partitioning is \"hive\", for directories "
                         f"named as year=2024, or None, not {partitioning!r}: read "
                         "each directory by itself, and add_column()")
    mixed = _reading.shuffled("read_parquet", shuffle)
    parts = partitioning is not None
    files = _sources.parquet_files(paths, file_extensions, ignore_missing_paths)
    groups, total, dtypes = _sources.parquet_groups(paths, files, columns, parts)
    ds = from_items(groups)._changed_by(_sources.ReadGroups(
        columns, total, dtypes, parts, include_paths))
    return _as_dataset(ds.random_shuffle() if mixed else ds)


_JSON = ("json", "jsonl", "json.gz", "jsonl.gz", "json.zst", "jsonl.zst")


def read_json(paths: Paths | None = None, *, lines: bool | None = None,
              dtypes: dict[str, Any] | None = None,
              shuffle: bool | str | None = False, **options: Any) -> Dataset:
    """The rows of JSON files, which may be compressed with gzip. If they have an object
    in each line, the columns and their types are those of the first 1000 rows, and the
    workers read each line once, before the first epoch. Files with an array of objects,
    or one object, are read in this process.

    Args:
        paths: See read_csv(). For a directory, the files that end in .json or .jsonl.
        lines: True: an object in each line. None, False: detected from the files.
        dtypes: {column: "int64", "float64", "bool" or "str"}, for columns that appear
            later, or have another type.
        shuffle: See read_csv().
        options: See there.

    Returns:
        The Dataset.
    """
    given = options.get("path") if paths is None else paths
    if isinstance(given, (list, tuple)) and len(given) == 1:
        given = given[0]
    if (options.get("file_extensions") is None
            and isinstance(given, (str, os.PathLike))
            and os.path.isdir(_config.local_path(given))):
        options["file_extensions"] = _JSON
    path = _reading.path_of("read_json", paths, options)
    mixed = _reading.shuffled("read_json", shuffle)
    _reading.check("read_json", options)
    path = _config.local_path(path)
    whole = None if lines else _sources.json_columns(path, dtypes)
    if whole is not None:
        ds = from_numpy(whole)
    else:
        ds = _as_dataset(Dataset(path, format="text")._changed_by(
            _sources.ParseLines(_sources.json_kinds(path, dtypes))))
    return _as_dataset(ds.random_shuffle() if mixed else ds)


def _as_dataset(made: Any) -> Dataset:
    """What a method of Transforms returns."""
    assert isinstance(made, Dataset)
    return made


def from_memory(rows: Any) -> Any:
    """A Dataset of rows in memory.

    Args:
        rows: A DataFrame or {column: array}.

    Returns:
        The Dataset; anything else is returned unchanged.
    """
    if isinstance(rows, dict):
        return from_numpy(rows)
    if hasattr(rows, "columns") and hasattr(rows, "iloc"):
        return from_pandas(rows)
    return rows


class DataIterator:
    """Batches of rows. Each call of an iter_ method is one epoch, a pass over the
    shard; the first one in a restarted worker continues at the position of the
    checkpoint.

    Args:
        source: The request that opens the rows in the worker.
        equal: Do all workers get the same number of rows?
    """

    def __init__(self, source: dict[str, Any], equal: bool = True) -> None:
        self._source = source
        self._equal = equal
        self._handle: dict[str, Any] | None = None
        self._server: Any = None  # has opened the handle: a helper may be replaced
        self._slots = _slots.Slots()
        self._state: bytes | None = None  # preprocessors, see raytrain.preprocessors
        self._functions: list[Any] = []  # applied to batches
        self._padding = 0
        self._rest: Any = None  # preprocessors that work here, before the functions

    # ---- Iteration ----

    def iter_batches(self, *, batch_size: int | None = 256,
                     batch_format: str | None = "numpy",
                     drop_last: bool = False, prefetch_batches: int = 1,
                     local_shuffle_buffer_size: int | None = None,
                     local_shuffle_seed: int | None = None) -> Batches[dict[str, Any]]:
        """{column: array} for each batch. The first dimension of each array is the
        rows.

        If a dataset is divided among the workers, all get the same number of rows in
        each batch: up to (workers - 1) rows at the end of an epoch are left out, with a
        warning. get_dataset_shard(name, equal=False) gives all rows, for an evaluation.

        With the option last_batch="pad" of the dataset, all batches are full: the last
        one ends with `padding` rows from the beginning of the epoch.

        Args:
            batch_size: The rows of a batch; the last one may have fewer. None: the
                number of rows in 16 MiB, at most 65536.
            batch_format: "pandas" gives DataFrames, and "pyarrow" Tables. "numpy" gives
                NumPy arrays, or memoryviews if NumPy is not installed. A bfloat16 is
                the uint16 of its bits, and so is a float16 in a memoryview. A batch is
                overwritten only when nothing refers to it any more. Words and texts are
                arrays of str, with None for a missing word. Sparse vectors are a
                scipy.sparse.csr_matrix or, if SciPy is not installed, an object with
                its data, indices, indptr and shape.
            drop_last: Leave out a last batch with fewer rows.
            prefetch_batches: Without effect: one batch is always read ahead.
            local_shuffle_buffer_size: Read the rows in a different order in each epoch,
                as with the option shuffle_window=: at least this number of rows of each
                worker are mixed at a time. A dataset that is already shuffled is not
                shuffled again. All workers must give the same number.
            local_shuffle_seed: Without effect: the order depends on the seed of the
                run.

        Returns:
            The batches, over and over: each iter() is one epoch.
        """
        mixed = _mixed(local_shuffle_buffer_size)
        if batch_format in ("numpy", "default", None):
            return self._batches(batch_size, drop_last, mixed=mixed)
        _row_ops.check_format(batch_format)
        if batch_size is not None:
            _check_size(batch_size)
        return Batches(lambda: (
            _row_ops.to_format(batch, batch_format) for batch in
            self._generate(batch_size, drop_last, False, False, mixed)))

    def iter_torch_batches(self, *, batch_size: int | None = 256,
                           dtypes: torch.dtype | dict[str, torch.dtype] | None = None,
                           device: torch.device | str | None = "auto",
                           collate_fn: Callable[[dict[str, Any]], Any] | None = None,
                           drop_last: bool = False, prefetch_batches: int = 1,
                           local_shuffle_buffer_size: int | None = None,
                           local_shuffle_seed: int | None = None,
                           pin_memory: bool = False) -> Batches[Any]:
        """Like iter_batches(), with torch.Tensors. Words are their int64 codes, -1 if
        they are missing (words() has the words); sparse vectors are a
        torch.sparse_csr_tensor. Texts cannot be tensors, and remain arrays of str, as
        do words if a preprocessor is a BatchMapper.

        Args:
            batch_size: See iter_batches().
            dtypes: A torch.dtype for all columns, or {column: torch.dtype}.
            device: The device of the tensors; "auto" is that of this worker.
            collate_fn: Takes the dict of NumPy arrays, and returns the batch.
            drop_last: See iter_batches().
            prefetch_batches: See iter_batches().
            local_shuffle_buffer_size: See iter_batches().
            local_shuffle_seed: See iter_batches().
            pin_memory: Copy to a GPU through pinned memory.

        Returns:
            The batches, over and over: each iter() is one epoch.

        Raises:
            ValueError: Both dtypes and collate_fn are given.
        """
        mixed = _mixed(local_shuffle_buffer_size)
        if collate_fn is not None and dtypes is not None:
            raise ValueError("iter_torch_batches: give dtypes or collate_fn, not both")
        if device == "auto":
            device = _device()

        def begin() -> Iterator[Any]:
            make: Any = collate_fn
            codes = False
            if make is None:
                columns = self._file_columns()
                codes = columns is not None

                def make(batch: Any) -> Any:
                    return _to_torch(batch, columns if columns is not None
                                     else _frame.described(batch), dtypes)
            for batch in self._generate(batch_size, drop_last, codes, False, mixed):
                yield _to_device(make(batch), device, pin_memory)

        if batch_size is not None:
            _check_size(batch_size)
        return Batches(begin)

    def iter_rows(self, *, prefetch_batches: int = 1) -> Iterator[dict[str, Any]]:
        """The rows of one epoch, one after the other.

        Args:
            prefetch_batches: Without effect.

        Yields:
            {column: scalar or array}.
        """
        for batch in self._batches(256, False, unpadded=True):
            for values in zip(*batch.values()):
                yield dict(zip(batch, values))

    def iter_epochs(self, max_epoch: int | None = None) -> Iterator[DataIterator]:
        """This iterator, once for each epoch.

        Args:
            max_epoch: The number of epochs; None: without end.

        Yields:
            This iterator.
        """
        from itertools import count

        for _ in count() if max_epoch is None else builtins.range(max_epoch):
            yield self

    def materialize(self) -> MaterializedDataset:
        """All rows of one epoch of this shard, in memory: a Dataset that is also
        {column: array}. Needs NumPy."""
        parts = list(self._batches(4096, False, unpadded=True))
        return MaterializedDataset.of(_row_ops.joined(parts) if parts else {
            name: _frame.empty(c) for name, c in self._open()["columns"].items()})

    # ---- What it is ----

    def count(self) -> int:
        """Rows of the dataset, over all workers."""
        rows: int = self._open()["rows"]
        return rows

    @property
    def padding(self) -> int:
        """The number of rows at the end of the latest batch that only fill it: an
        evaluation must not count them again. 0 without last_batch="pad"."""
        return self._padding

    def schema(self, fetch_if_missing: bool = True) -> Schema:
        """{column: (dtype, shape of a row)}; the dtype of words and texts is "str".
        Functions of the script are called for the first rows.

        Args:
            fetch_if_missing: Without effect: the columns are always determined.

        Returns:
            The columns.
        """
        columns = self._open()["columns"]
        if not self._functions:
            return Schema({name: (c.dtype, c.shape) for name, c in columns.items()})
        first = self._first(_made_rows.block_rows(columns, self._functions))
        made: _row_ops.Batch = next(_row_ops.pieces(self._functions, first), {})
        return schema_of(made)

    def words(self, column: str) -> list[str]:
        """The distinct words of a column of words, by their codes.

        Args:
            column: Its name.

        Returns:
            The words.

        Raises:
            KeyError: It is not a column of words.
        """
        found = self._open()["columns"].get(column)
        if found is None or found.words is None:
            raise KeyError(f"{column!r} is not a column of words")
        return list(found.words)

    def columns(self, fetch_if_missing: bool = True) -> list[str]:
        """The names of the columns.

        Args:
            fetch_if_missing: Without effect.

        Returns:
            The names.
        """
        return list(self.schema())

    def __repr__(self) -> str:
        return f"DataIterator({self._source})"

    def __getattr__(self, name: str) -> Any:
        said = INSTEAD["data.Dataset"].get(name)
        kind = "Dataset" if isinstance(self, Dataset) else "DataIterator"
        if said is not None:
            raise AttributeError(f"a {kind} has no {name}(), which ray.data has: "
                                 f"{said}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute "
                             f"{name!r}")

    # ---- The other side: dataset_requests.c ----

    def _open(self) -> dict[str, Any]:
        server = _session.server()
        if self._handle is None or self._server is not server:
            import weakref

            closed = server.__dict__.setdefault("closed_datasets", [])
            close = [closed.pop() for _ in builtins.range(len(closed))]
            if self._state is not None:
                _mapping.check(server, self._state)
            reply, data, _ = server.call(
                "dataset_open", {**self._source, "close": close, "maps": True},
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

    def _batches(self, batch_size: int | None, drop_last: bool, codes: bool = False,
                 unpadded: bool = False, mixed: int = 0) -> Batches[dict[str, Any]]:
        """Each iter() begins an epoch when its first batch is requested."""
        if batch_size is not None:
            _check_size(batch_size)
        return Batches(
            lambda: self._generate(batch_size, drop_last, codes, unpadded, mixed))

    def _generate(self, batch_size: int | None, drop_last: bool, codes: bool,
                  unpadded: bool, mixed: int) -> Iterator[dict[str, Any]]:
        handle = self._open()
        server = self._server
        if batch_size is None:
            batch_size = _made_rows.block_rows(handle["columns"], self._functions)
        begun = server.call("dataset_begin", {
            "id": handle["id"], "batch_size": batch_size, "drop_last": drop_last,
            "equal": self._equal, "unpadded": unpadded, "mixed": mixed})[0]
        while True:
            asked = self._asked("dataset_next", {"pass": begun["pass"]}, codes)
            if asked[0] is None:
                return
            self._padding = asked[1].get("padding", 0)
            # No name refers to the batch while it is in use: it may be freed before the
            # next one is asked for.
            yield self._mapped(_only(asked))

    def _file_columns(self) -> dict[str, Any] | None:
        """The columns, if nothing changes the rows after they are read."""
        columns = self._open()["columns"]
        return None if self._rest is not None or self._functions else columns

    def _source_batches(self, batch_size: int) -> Iterator[Any]:
        """A pass over all rows, before functions of the script."""
        handle = self._open()
        begun = self._server.call("dataset_begin", {
            "id": handle["id"], "batch_size": batch_size, "drop_last": False,
            "equal": False, "unpadded": True})[0]
        while True:
            batch = self._asked("dataset_next", {"pass": begun["pass"]}, False)[0]
            if batch is None:
                return
            yield batch if self._rest is None else self._rest(batch)

    def _first(self, rows: int) -> dict[str, Any]:
        """The first rows of the epoch, before functions of the script."""
        self._open()
        batch: _row_ops.Batch = self._asked("dataset_peek", {"batch_size": rows},
                                            False)[0] or {}
        return batch if self._rest is None else dict(self._rest(batch))

    def _asked(self, op: str, args: dict[str, Any], codes: bool) -> tuple[Any, ...]:
        """(the batch that a request gives, or None; the reply)"""
        slot, handle = self._slots.choose(), self._handle
        assert handle is not None  # _open() was called
        reply, _, fds = self._server.call(op, {"id": handle["id"], "slot": slot,
                                               **args})
        if reply["rows"] == 0:
            return None, reply
        for fd in fds:
            self._slots.map(slot, fd)
        return _frame.decode(handle["columns"], self._slots.lend(slot), reply["rows"],
                             reply["places"], codes), reply

    def _mapped(self, batch: dict[str, Any]) -> dict[str, Any]:
        if self._rest is not None:
            batch = self._rest(batch)
        for function in self._functions:
            batch = function(batch)
        return batch


def _check_size(batch_size: Any) -> None:
    if (isinstance(batch_size, bool) or not isinstance(batch_size, int)
            or batch_size < 1):
        raise ValueError(f"batch_size is an integer of at least 1, not {batch_size!r}")


def _only(asked: tuple[Any, ...]) -> Any:
    return asked[0]


def _mixed(size: Any) -> int:
    """The number of rows of a worker that are mixed at a time; 0: as the dataset
    says."""
    if size is None:
        return 0
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ValueError("local_shuffle_buffer_size is a number of rows of at least 1, "
                         f"or None, not {size!r}")
    rows: int = size
    return min(rows, 1 << 62)


def _device() -> Any:
    from .torch import get_device

    return get_device()


def _to_torch(batch: dict[str, Any], columns: dict[str, Any],
              dtypes: Any) -> dict[str, Any]:
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


def _sparse_tensor(torch: Any, rows: Any) -> Any:
    import numpy

    return torch.sparse_csr_tensor(
        torch.from_numpy(numpy.asarray(rows.indptr).astype("i8")),
        torch.from_numpy(numpy.asarray(rows.indices).astype("i8")),
        torch.from_numpy(numpy.asarray(rows.data)), size=rows.shape)


# torch 1.13 has one unsigned type.
_WIDER = {"uint16": "i4", "uint32": "i8", "uint64": "i8"}


def _tensor(torch: Any, array: Any, dtype: str) -> Any:
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


def _to_device(batch: Any, device: Any, pin_memory: bool) -> Any:
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


class Dataset(Transforms, DataIterator):
    """The rows of files: give it to a trainer, or look at its rows; outside workers
    these are all of them.

    Args:
        path: A file, a directory of files, or a pattern such as "train-*.h5".
        format: The format of the files; None: detected.
        columns: See read_hdf5().
        label: See read_hdf5().
        shuffle: See read_hdf5().
        shuffle_window: See read_hdf5().
        limit: See read_hdf5().
        filter: See read_hdf5().
        options: Other keys of a dataset in raytrain.cfg(5).

    Raises:
        TypeError: path is not a path.
    """

    def __init__(self, path: Path, *, format: str | None = None,
                 columns: Sequence[str] | None = None, label: str | None = None,
                 shuffle: bool = False, shuffle_window: int | None = None,
                 limit: int | None = None, filter: dict[str, Any] | None = None,
                 **options: Any) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError("path is a file, a directory of files, or a pattern such "
                            f"as 'train-*.csv', not {path!r}")
        self.path = _absolute(_config.local_path(path))
        self._settings: dict[str, Any] = {"path": self.path, "format": format,
                          "columns": list(columns) if columns is not None else None,
                          "label": label, "shuffle": bool(shuffle),
                          "shuffle_window": shuffle_window, "limit": limit,
                          "filter": dict(filter) if filter is not None else None,
                          **options}
        if label is not None and (os.path.exists(label) or _is_pattern(label)):
            self._settings["label"] = _absolute(label)
        self._file: Any = None  # of from_numpy(): removed when this is freed
        # The Dataset whose last function makes the rows.
        self._base: Dataset | None = None
        self._order: int | None = None  # the seed of steps after random_shuffle()
        self._folder = ""  # where workers make the rows
        super().__init__(_source_of(self._keys()))

    def _keys(self) -> dict[str, Any]:
        """As keys of raytrain.cfg."""
        return {name: value for name, value in self._settings.items()
                if value is not None}

    def _written(self) -> None:
        """Write rows that are in memory to a file."""

    # ---- Rows in this process ----

    def take(self, limit: int = 20) -> list[Any]:
        """The first rows.

        Args:
            limit: The maximum number of rows.

        Returns:
            {column: value} for each.
        """
        from itertools import islice

        return [{name: _plain(value) for name, value in row.items()}
                for row in islice(self.iter_rows(), limit)]

    def take_all(self, limit: int | None = None) -> list[Any]:
        """All rows.

        Args:
            limit: The greatest allowed number of rows; None: any number.

        Returns:
            {column: value} for each.

        Raises:
            ValueError: There are more rows.
        """
        rows = self.take(limit + 1 if limit is not None else 1 << 62)
        if limit is not None and len(rows) > limit:
            raise ValueError(f"take_all: there are more than {limit} rows")
        return rows

    def take_batch(self, batch_size: int = 20, *,
                   batch_format: str | None = "default") -> Any:
        """The first rows as a batch.

        Args:
            batch_size: The maximum number of rows.
            batch_format: "numpy", "pandas" or "pyarrow".

        Returns:
            The batch.

        Raises:
            ValueError: There is no row.
        """
        for batch in self.iter_batches(batch_size=batch_size):
            return _row_ops.to_format(batch, batch_format)
        raise ValueError("take_batch: there is no row")

    def show(self, limit: int = 20) -> None:
        """Print the first rows.

        Args:
            limit: The maximum number of rows.
        """
        for row in self.take(limit):
            print(row)

    def to_pandas(self, limit: int | None = None) -> Any:
        """All rows as a DataFrame.

        Args:
            limit: The greatest allowed number of rows, or a ValueError; None: any
                number.

        Returns:
            The DataFrame.
        """
        batches, rows = [], 0
        for batch in self.iter_batches(batch_size=4096):
            rows += _row_ops.rows_of(batch)
            _check_limit(rows, limit)
            batches.append(batch)
        return frame_of(batches)

    def count(self) -> int:
        """The number of rows. If a function of the script changes it, the function is
        called for all rows."""
        if self._streams():
            known = self._known_count()
            if known is not None:
                return known
            return sum(map(_row_ops.rows_of, self._blocks()))
        return super().count()

    def schema(self, fetch_if_missing: bool = True) -> Schema:
        """See DataIterator.schema().

        Args:
            fetch_if_missing: See there.

        Returns:
            The columns.
        """
        if not self._streams():
            return super().schema()
        made: _row_ops.Batch = next(self._blocks(), {})
        return schema_of(made)

    def _known_count(self) -> int | None:
        """The number of rows, if it is known without calling functions."""
        if self._settled() is not self or self._base is None \
                or len(self._base._functions) != 1 or not self._base._is_whole():
            return None
        total = getattr(self._base._functions[0], "total", None)
        most = self._first_rows()
        return total if total is None or most is None else min(total, most)

    def _is_whole(self) -> bool:
        """Does nothing leave out rows of the files?"""
        chosen = {"filter", "limit", "rows"} & set(self._keys())
        return self._base is None and not chosen

    def _file_columns(self) -> dict[str, Any] | None:
        return None if self._streams() else super()._file_columns()

    def _streams(self) -> bool:
        """May functions change the number of rows while these are read?"""
        return self._settled() is not self or self._follows()

    def _follows(self) -> bool:
        """Are rows read from the functions before? Rows that are shuffled, or chosen by
        their numbers, are files first."""
        if self._base is None or self._file is not None or self._settings["shuffle"]:
            return False
        chosen = set(self._keys()) - {"path", "format", "shuffle"}
        return not chosen or (chosen == {"rows"} and self._first_rows() is not None)

    def _first_rows(self) -> int | None:
        """The rows that limit() leaves, if nothing else chooses rows."""
        steps = self._settings.get("rows") or []
        if len(steps) == 1 and set(steps[0]) == {"first", "count"} \
                and steps[0]["first"] == 0:
            count: int = steps[0]["count"]
            return count
        return None

    def _blocks(self) -> Iterator[Any]:
        """All rows, in batches of any size."""
        if self._base is not None and self._follows():
            batches, most = self._base._blocks(), self._first_rows()
            if most is not None:
                batches = _limited(batches, most)
        else:
            columns = self._open()["columns"]
            rows = _made_rows.block_rows(columns, self._functions)
            batches = self._source_batches(rows)
        for batch in batches:
            yield from _row_ops.pieces(self._functions, batch)

    def _generate(self, batch_size: int | None, drop_last: bool, codes: bool,
                  unpadded: bool, mixed: int) -> Any:
        if not self._streams():
            return super()._generate(batch_size, drop_last, codes, unpadded, mixed)
        blocks = self._blocks()
        if mixed:
            blocks = _row_ops.mixed(blocks, mixed)
        if batch_size is None:
            return blocks
        return _row_ops.rebatched(blocks, batch_size, drop_last)

    def _make_files(self) -> None:
        """Write rows that follow a function to files, before these are opened."""
        if self._base is not None and self._file is None:
            self._file = _made_rows.Folder(self._base._blocks(),
                                           self._base._functions[-1].name)
            keys = {**self._keys(), "path": self._file.path, "format": "numpy"}
            self._source = _source_of(keys)

    def _open(self) -> dict[str, Any]:
        self._make_files()
        return super()._open()

    # ---- For workers ----

    def iterator(self) -> DataIterator:
        """An iterator over all rows. DataConfig.configure() returns it for workers that
        do not divide them.

        Returns:
            The iterator.
        """
        return self._with()

    def streaming_split(self, n: int, *, equal: bool = False,
                        locality_hints: list[str] | None = None) -> list[DataIterator]:
        """Iterators that divide the rows of each epoch among them, batch by batch.
        DataConfig.configure() returns them for the workers of a run. If a process reads
        some of them itself, functions that change the number of rows are called first,
        for all rows.

        Args:
            n: The number of iterators.
            equal: All get the same number of rows; fewer than n rows at the end of an
                epoch are left out.
            locality_hints: Without effect: names of nodes, n of them.

        Returns:
            The iterators.

        Raises:
            ValueError: n is not a positive int, or the length of locality_hints is not
                n.
        """
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise ValueError("streaming_split: n is an integer of at least 1, not "
                             f"{n!r}")
        if locality_hints is not None and len(locality_hints) != n:
            raise ValueError(f"streaming_split: {len(locality_hints)} locality_hints "
                             f"for {n} iterators")
        read = self._settled()
        return [Part(self, read, index, n, equal) for index in builtins.range(n)]

    # ---- All rows at once, in this process ----

    def unique(self, column: str, ignore_nulls: bool = False) -> list[Any]:
        """The distinct values of a column, in the order of their first occurrence. All
        missing numbers are one NaN.

        Args:
            column: Its name.
            ignore_nulls: Leave out the value that stands for missing values.

        Returns:
            The values.

        Raises:
            KeyError: There is no such column.
            ValueError: The column has vectors.
        """
        seen: dict[Any, None] = {}
        for batch in self._only_columns("unique", [column]):
            values = _whole.values_of("unique", column, batch[column])
            seen.update(dict.fromkeys(values))
        return [value for value in seen
                if not ignore_nulls or (value is not None and value == value)]

    def sort(self, key: str | list[str], descending: bool | list[bool] = False,
             boundaries: object = None) -> Dataset:
        """The rows in the order of some columns; equal rows keep their order. They are
        read in this process, which holds all of them.

        Args:
            key: The column, or several; the first one takes precedence.
            descending: The greatest first; for each column, or for all.
            boundaries: Without effect.

        Returns:
            The Dataset.

        Raises:
            KeyError: There is no such column.
            ValueError: A column has no single numbers, words or texts.
        """
        return MaterializedDataset.of(_whole.ordered(
            self.materialize()._arrays, [key] if isinstance(key, str) else list(key),
            descending))

    def union(self, *others: Dataset) -> Dataset:
        """The rows of this Dataset, followed by those of others with the same columns.
        They are read in this process, which holds all of them.

        Args:
            others: Datasets.

        Returns:
            The Dataset.

        Raises:
            ValueError: Their columns differ.
        """
        return MaterializedDataset.of(_row_ops.joined(
            [ds.materialize()._arrays for ds in (self, *others)]))

    def groupby(self, key: str | list[str],
                num_partitions: int | None = None) -> _whole.Groups:
        """Groups of the rows that have the same values in some columns. The rows are
        read in this process, which holds all of them.

        Args:
            key: The column, or several.
            num_partitions: Without effect.

        Returns:
            The Groups, which compute a row, or several rows, for each group.

        Raises:
            KeyError: There is no such column.
        """
        return _whole.Groups(self.materialize()._arrays,
                             [key] if isinstance(key, str) else list(key),
                             MaterializedDataset.of)

    def _only_columns(self, who: str, names: list[str]) -> Batches[dict[str, Any]]:
        there = self.columns()
        for name in names:
            if name not in there:
                raise KeyError(f"{who}: there is no column {name!r}; the columns are "
                               f"{there}")
        return _as_dataset(self.select_columns(names)).iter_batches(batch_size=4096)

    def _statistic(self, name: str, on: str | list[str] | None, ignore_nulls: bool,
                   ddof: int = 1) -> Any:
        """The value for one column; for several {"STATISTIC(COLUMN)": value}. As in
        Ray, on=["x"] is one column, and so is None if there is only one."""
        if on is None:
            on = [column for column, (dtype, shape) in self.schema().items()
                  if dtype != "str" and not shape]
        columns = [on] if isinstance(on, str) else list(on)
        values = _whole.statistic(name, columns, self._only_columns(name, columns),
                                  ddof, ignore_nulls)
        if len(values) == 1:
            return values[columns[0]]
        return {f"{name}({column})": value for column, value in values.items()}

    def sum(self, on: str | list[str] | None = None,
            ignore_nulls: bool = True) -> Any:
        """The sum of the numbers that are not missing.

        Args:
            on: A column, or several; None: all columns of single numbers.
            ignore_nulls: False: the sum is None if a number is missing.

        Returns:
            The sum; for several columns {"sum(COLUMN)": sum}. None for a column without
            numbers.
        """
        return self._statistic("sum", on, ignore_nulls)

    def min(self, on: str | list[str] | None = None,
            ignore_nulls: bool = True) -> Any:
        """The least value.

        Args:
            on: See sum().
            ignore_nulls: See there.

        Returns:
            See there.
        """
        return self._statistic("min", on, ignore_nulls)

    def max(self, on: str | list[str] | None = None,
            ignore_nulls: bool = True) -> Any:
        """The greatest value.

        Args:
            on: See sum().
            ignore_nulls: See there.

        Returns:
            See there.
        """
        return self._statistic("max", on, ignore_nulls)

    def mean(self, on: str | list[str] | None = None,
             ignore_nulls: bool = True) -> Any:
        """The mean.

        Args:
            on: See sum().
            ignore_nulls: See there.

        Returns:
            See there.
        """
        return self._statistic("mean", on, ignore_nulls)

    def std(self, on: str | list[str] | None = None, ddof: int = 1,
            ignore_nulls: bool = True) -> Any:
        """The standard deviation.

        Args:
            on: See sum().
            ddof: The divisor is the number of values minus this: 1 for a sample.
            ignore_nulls: See sum().

        Returns:
            See sum().
        """
        return self._statistic("std", on, ignore_nulls, ddof)

    # ---- How it is made ----

    def _followed(self, functions: list[Any]) -> Dataset:
        """The Dataset of the rows that this one's functions leave."""
        made = Dataset("rows", format="numpy")
        moved = ("shuffle", "shuffle_window", "last_batch")
        made._settings.update({name: self._settings[name] for name in moved
                               if name in self._settings})
        made._base = self._with(shuffle=False, shuffle_window=None, last_batch=None)
        made._functions, made._order = functions, self._order
        return made

    def _transformed(self, state: bytes) -> Dataset:
        """Transform it by preprocessors in this state, after earlier ones."""
        if not self._is_of_files():
            raise ValueError("a preprocessor after map_batches(): transform() the "
                             "Dataset first, and then map its batches")
        changed = self._with()
        if self._state is None:
            changed._state = state
        else:
            changed._state = _session.server().call(
                "preprocess_join", {"first": len(self._state)}, self._state + state)[1]
        return changed

    def _with(self, **changes: Any) -> Dataset:
        settings = {**self._settings, **changes}
        file = self._file if self._base is None else None
        return _dataset(Dataset, settings.pop("path"), settings, self._state,
                        list(self._functions), file, self._base, self._order,
                        self._folder)

    def __reduce__(self) -> Any:
        settings = dict(self._settings)
        return _dataset, (Dataset, settings.pop("path"), settings, self._state,
                          self._functions, None, self._base, self._order, self._folder)

    def __eq__(self, other: object) -> bool:
        return (type(other) is type(self) and isinstance(other, Dataset)
                and other._settings == self._settings and other._state == self._state
                and other._functions == self._functions
                and other._base == self._base)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        steps = [getattr(op, "name", "map_batches") for op in self._functions]
        of = repr(self.path) if self._base is None else repr(self._base)
        return ".".join([f"Dataset({of})", *steps])


class MaterializedDataset(Dataset):
    """A Dataset of rows in memory, which is also a mapping, {column: array}. The rows
    are written to a file when they are read as a Dataset."""

    _arrays: dict[str, Any]

    @classmethod
    def of(cls, arrays: dict[str, Any]) -> MaterializedDataset:
        """A Dataset of rows in memory.

        Args:
            arrays: {column: array}.

        Returns:
            The Dataset.
        """
        made = cls("rows.npz", format="numpy")
        made._arrays = arrays
        return made

    def __getitem__(self, column: str) -> Any:
        return self._arrays[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __contains__(self, column: object) -> bool:
        return column in self._arrays

    def keys(self) -> Any:
        """The names of the columns."""
        return self._arrays.keys()

    def values(self) -> Any:
        """The arrays."""
        return self._arrays.values()

    def items(self) -> Any:
        """The names and the arrays."""
        return self._arrays.items()

    def count(self) -> int:
        """The number of rows."""
        return _row_ops.rows_of(self._arrays)

    def schema(self, fetch_if_missing: bool = True) -> Schema:
        """See DataIterator.schema().

        Args:
            fetch_if_missing: See there.

        Returns:
            The columns.
        """
        return schema_of(self._arrays)

    def to_pandas(self, limit: int | None = None) -> Any:
        """See Dataset.to_pandas().

        Args:
            limit: See there.

        Returns:
            The DataFrame.
        """
        _check_limit(self.count(), limit)
        return frame_of([self._arrays])

    def materialize(self) -> MaterializedDataset:
        """The same."""
        return self

    def _blocks(self) -> Iterator[Any]:
        yield self._arrays

    def _keys(self) -> dict[str, Any]:
        if "_arrays" in self.__dict__:
            self._written()
        return super()._keys()

    def _written(self) -> None:
        if self._file is None:
            self._file = _memory.file_of(self._arrays)
            self.path = self._settings["path"] = self._file.path
            self._source = _source_of(self._keys())

    def _make_files(self) -> None:
        self._written()

    def _with(self, **changes: Any) -> Dataset:
        self._written()
        return super()._with(**changes)

    def __reduce__(self) -> Any:
        self._written()
        return super().__reduce__()

    def __eq__(self, other: object) -> bool:
        return self is other  # and it has no hash, as its class

    def __repr__(self) -> str:
        return f"MaterializedDataset({self.count()} rows of {list(self._arrays)})"


collections.abc.Mapping.register(MaterializedDataset)


class Part(DataIterator):
    """One of the iterators of Dataset.streaming_split().

    Args:
        dataset: The Dataset whose rows are divided.
        read: The same rows, with a known number, which all iterators of the split
            share.
        index: The number of this iterator.
        of: The number of iterators.
        equal: Do all get the same number of rows?
    """

    def __init__(self, dataset: Dataset, read: Dataset, index: int, of: int,
                 equal: bool) -> None:
        super().__init__({}, equal)
        self.dataset, self.index, self.of, self.equal = dataset, index, of, equal
        self._read = read

    def is_sister_of(self, other: Part) -> bool:
        """Does it divide the same rows in the same way?

        Args:
            other: Another iterator.

        Returns:
            Whether it does.
        """
        return self.dataset == other.dataset and self.equal == other.equal

    def _open(self) -> dict[str, Any]:
        read = self._read
        read._make_files()
        self._functions, self._state = read._functions, read._state
        self._source = {**read._source, "rank": self.index, "size": self.of}
        handle = super()._open()
        rest = handle["rows"] % self.of
        keeps = read._settings.get("last_batch") in (None, "keep")
        if self.equal and self.index == 0 and rest and keeps:
            _warnings.show(None, {"warnings": [
                f"{read!r}: its {handle['rows']} rows are not a multiple of {self.of}, "
                f"so {rest} of them are left out at the end of an epoch: all iterators "
                "of streaming_split(equal=True) get equal numbers of rows"]})
        return handle

    def __reduce__(self) -> Any:
        return _part, (self.dataset, self.index, self.of, self.equal)

    def __repr__(self) -> str:
        return f"{self.dataset!r}.streaming_split({self.of})[{self.index}]"


def _part(dataset: Dataset, index: int, of: int, equal: bool) -> Part:
    return Part(dataset, dataset._settled(), index, of, equal)


def _source_of(keys: dict[str, Any]) -> dict[str, Any]:
    """The request that opens a dataset with these keys of raytrain.cfg."""
    return {"config": _config.render({"datasets": {"data": keys}})}


def _check_limit(rows: int, limit: int | None) -> None:
    if limit is not None and rows > limit:
        raise ValueError(f"to_pandas: there are more than {limit} rows; "
                         f"ds.limit({limit}).to_pandas() gives the first ones")


def _dataset(kind: type[Any], path: str, settings: dict[str, Any],
             state: bytes | None = None, functions: Sequence[Any] = (),
             file: Any = None, base: Dataset | None = None, order: int | None = None,
             folder: str = "") -> Dataset:
    made: Dataset = kind(path, **settings)
    made._state, made._functions, made._file = state, list(functions), file
    made._base, made._order, made._folder = base, order, folder
    return made


def _plain(value: Any) -> Any:
    """A number as a Python number; other values unchanged."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def _limited(batches: Any, rows: int) -> Iterator[Any]:
    """The first rows of batches."""
    for batch in batches:
        here = _row_ops.rows_of(batch)
        yield batch if here <= rows else _row_ops.slice_of(batch, 0, rows)
        rows -= here
        if rows <= 0:
            return


# ---- In a worker ----


class Share:
    """How workers read a dataset, if the DataConfig of their trainer says so.

    Args:
        equal: Do all get the same number of rows?
        ranks: The workers that read the dataset; None: all.
    """

    def __init__(self, equal: bool = True, ranks: list[int] | None = None) -> None:
        self.equal, self.ranks = equal, ranks


_shards: dict[tuple[str, bool], DataIterator] = {}
_registered: dict[str, Any] = {}  # {name: Dataset} of the trainer in this worker
_shares: dict[str, Share] = {}
_prepared: dict[str, Any] = {}  # {name: (name in the configuration, functions)}


def register(datasets: Mapping[str, Any] | None,
             shares: Mapping[str, Share] | None = None) -> None:
    """In a worker: the datasets of its trainer, before the training function is called.
    COLLECTIVE: a dataset that only some workers read is opened by all of them.

    Args:
        datasets: By their names.
        shares: How workers read them.
    """
    _registered.update({name: ds for name, ds in (datasets or {}).items()
                        if isinstance(ds, Dataset)})
    _shares.update(shares or {})
    size = _session.facts()["world_size"]
    for name, share in _shares.items():
        if share.ranks is None:
            continue
        _shard(name, share.equal)._open()
        if share.ranks[-1] >= size and _session.facts()["rank"] == 0:
            _session.session().warn(
                f"configure() of the DataConfig gives {name!r} to workers "
                f"{share.ranks}, and there are {size} workers now")


@contextmanager
def given(iterators: Mapping[str, DataIterator]) -> Iterator[None]:
    """In local mode, let get_dataset_shard() return these for a while.

    Args:
        iterators: By the names of the datasets.

    Yields:
        Nothing.
    """
    before = dict(_shards)
    _shards.clear()
    for name, iterator in iterators.items():
        _shards[name, True] = _shards[name, False] = iterator
    try:
        yield
    finally:
        _shards.clear()
        _shards.update(before)


class _Shard(DataIterator):
    """A worker's shard of rows that functions of the script make."""

    def __init__(self, name: str, ds: Dataset, equal: bool) -> None:
        super().__init__({"name": name}, equal)
        self._name, self._ds = name, ds

    def _open(self) -> dict[str, Any]:
        if self._name not in _prepared:
            _prepared[self._name] = _made_rows.prepared(self._name, self._ds, _files)
        name, self._functions = _prepared[self._name]
        self._source = {"name": name}
        return super()._open()


def _files(name: str) -> DataIterator:
    """The shard of the rows in files, before functions."""
    return DataIterator({"name": name}, False)


def _shard(name: str, equal: bool) -> DataIterator:
    if (name, equal) not in _shards:
        ds = _registered.get(name)
        _shards[name, equal] = (DataIterator({"name": name}, equal)
                                if ds is None or _made_rows.is_plain(ds)
                                else _Shard(name, ds, equal))
    return _shards[name, equal]


def _no_dataset(name: str, names: list[str]) -> str:
    if not names:
        return (f"there is no dataset {name!r}, nor any other: give the trainer "
                f"datasets={{{name!r}: ...}}, or raytrain-run a key datasets.{name}")
    return f"there is no dataset {name!r}; the datasets are {', '.join(names)}"


def get_dataset_shard(dataset_name: str = "train",
                      equal: bool | None = None) -> DataIterator:
    """This worker's shard of a dataset of the trainer or of the configuration.
    COLLECTIVE at the first use of its rows.

    Args:
        dataset_name: The name of the dataset.
        equal: False: the sizes of shards may differ by a row, so that no row is left
            out; for an evaluation. None: True, unless configure() of the DataConfig
            returns something else.

    Returns:
        The shard.

    Raises:
        TypeError: The name is not a string.
        KeyError: There is no dataset with this name, or not for this worker.
    """
    name = dataset_name
    if not isinstance(name, str):
        raise TypeError(f"the name of a dataset is a string, not {type(name).__name__}")
    names = _made_rows.public_names(list(_session.facts().get("datasets", ())))
    if name not in names:
        raise NoSuchDataset(_no_dataset(name, names))
    share = _shares.get(name, Share())
    rank = _session.facts()["rank"]
    if share.ranks is not None and rank not in share.ranks:
        raise NoSuchDataset(f"worker {rank} has no dataset {name!r}: configure() of "
                            f"the DataConfig gives it to workers {share.ranks}")
    return _shard(name, share.equal if equal is None else bool(equal))
