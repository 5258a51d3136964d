"""Checkpoint: a dict or a directory to report, or a checkpoint that was saved.

    checkpoint = Checkpoint.from_dict({"model": model.state_dict(), "epoch": epoch})
    report({"loss": loss}, checkpoint=checkpoint)
    ...
    checkpoint = get_checkpoint()
    if checkpoint:
        model.load_state_dict(checkpoint.to_dict()["model"])
"""

from __future__ import annotations

import json
import mmap
import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator, Sequence

from . import _extracted, _metrics, errors
from ._session import LoneSession, server, session
from ._shard import Pickled, Shard, ShardedArray

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._session import Newest
    from .preprocessors import Preprocessor

__all__ = ["Checkpoint", "Pickled", "Shard", "ShardedArray"]

PIECE = 256 << 20  # of files that are extracted: bytes read at a time
_FILES = "files/"
DIR_NAME = "raytrain.checkpoint_dir_name"  # among the metadata


# ---- A checkpoint that was saved ----

_unused: list[tuple[int, int]] = []  # (process, id) of those that can be closed


class _Stored:
    """A checkpoint on storage, opened at its first use."""

    def __init__(self, path: str | None, awaited: int = 0) -> None:
        self.path = path  # None: the checkpoint that this attempt starts from
        # Its iteration, while it is not known to be saved; 0: it is saved.
        self.awaited = awaited
        self._face: dict[str, Any] | None = None
        self._structure: dict[str, Any] | None = None
        self._shapes: dict[str, tuple[Any, ...]] | None = None  # of the datasets

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until it is saved, or for this time. The workers save it without the
        help of their scripts."""
        pause, begun = 0.001, time.monotonic()
        while self.awaited:
            if session().call("durable")[0]["iteration"] >= self.awaited:
                self.awaited = 0
                return
            if timeout_s is not None and time.monotonic() - begun >= timeout_s:
                return
            time.sleep(pause)
            pause = min(2 * pause, 0.05)

    def face(self) -> dict[str, Any]:
        """The reply of checkpoint_open: the iteration, metrics, structure and so on."""
        self.wait()
        if self._face is None:
            while _unused:
                process, number = _unused.pop()
                if process == os.getpid():
                    session().call("checkpoint_close", {"id": number})
            args = {} if self.path is None else {"path": os.path.abspath(self.path)}
            face, _, _ = session().call("checkpoint_open", args)
            if face["id"] is None:
                raise errors.NotFound("this attempt does not start from a checkpoint")
            self._face = face
            if face["structure"] is not None:
                self._structure = json.loads(face["structure"])
        return self._face

    def __del__(self) -> None:
        # Not closed here: this may run in the middle of another request, or at the end
        # of the interpreter.
        try:
            if self.path is not None and self._face is not None:
                _unused.append((os.getpid(), self._face["id"]))
        except (AttributeError, TypeError):
            pass

    def structure(self) -> dict[str, Any] | None:
        """Its structure; None if a C program or another program wrote it."""
        self.face()
        return self._structure

    def names(self) -> list[list[Any]]:
        """[name, type, shape] of every dataset."""
        args = {"id": self.face()["id"]}
        names: list[list[Any]] = session().call("checkpoint_names", args)[0]["names"]
        return names

    def read(self, items: list[Any]) -> Any:
        """Datasets, all in one memory: a _build.Memory. An item is a name, or a name
        with a start and a count. Names must be different."""
        from ._build import Memory

        args = {"id": self.face()["id"], "items": items}
        reply, _, fds = session().call("checkpoint_read", args)
        buffer = None
        if fds:
            try:
                buffer = mmap.mmap(fds[0], reply["bytes"], access=mmap.ACCESS_COPY)
            finally:
                for fd in fds:
                    os.close(fd)
        names = [item if isinstance(item, str) else item[0] for item in items]
        return Memory(buffer, dict(zip(names, reply["items"])))

    # -- a dict --

    def pickled(self, node: dict[str, Any], allow: bool, memory: Any) -> Any:
        name = node["pickle"]
        if allow:
            return Pickled(node["type"], lambda: bytes(memory.raw(name))).load()
        return Pickled(node["type"], lambda: bytes(self.read([name]).raw(name)))

    def sharded(self, node: dict[str, Any]) -> ShardedArray:
        if self._shapes is None:
            self._shapes = {row[0]: tuple(row[2]) for row in self.names()}
        shape = self._shapes[node["name"]]
        return ShardedArray(node, shape[:-1] if _pairs(node) == 2 else shape, self)

    def to_dict(self, allow_pickle: bool, shards: bool) -> dict[str, Any]:
        structure = self.structure()
        if structure is None:
            return self.plain_dict()
        self.check_kind(structure, "dict")
        from ._build import Builder, nodes_of

        wanted: dict[str, None] = {}
        for node in nodes_of(structure["tree"]):
            if "pickle" in node and not allow_pickle:
                continue
            if node.get("shard") and not shards:
                continue
            wanted[node.get("name") or node.get("numbers") or node["pickle"]] = None
        memory = self.read(list(reversed(wanted)))  # as they are in the file
        builder = Builder(
            memory,
            lambda node: self.pickled(node, allow_pickle, memory),
            None if shards else self.sharded,
        )
        built: dict[str, Any] = builder.build(structure["tree"])
        return built

    def check_kind(self, structure: dict[str, Any], kind: str) -> None:
        if structure.get("version") != 1:
            raise errors.NotSupported(
                f"{self.face()['path']}: a newer version of raytrain has written this "
                f"checkpoint"
            )
        if structure["kind"] != kind:
            raise errors.InvalidArgument(
                f"{self.face()['path']} was made from a "
                + ("dict: use to_dict()" if kind != "dict"
                   else "directory: use as_directory() or to_directory()")
            )

    def plain_dict(self) -> dict[str, Any]:
        """A dict of the names, with arrays and strings."""
        from ._build import make_array

        rows = [row for row in self.names() if not row[0].startswith(_FILES)]
        memory = self.read([row[0] for row in rows])
        result: dict[str, Any] = {}
        for name, wire, _ in rows:
            *groups, last = name.split("/")
            inner = result
            for group in groups:
                inner = inner.setdefault(group, {})
            inner[last] = (
                memory.text(name) if wire == "string"
                else make_array(memory, _plain_node(name, wire), {})
            )
        return result

    def read_array(self, name: str, start: Sequence[int] | None = None,
                   count: Sequence[int] | None = None) -> Any:
        from ._build import make_array, nodes_of

        if (start is None) != (count is None):
            raise errors.InvalidArgument("read() takes a start and a count, or neither")
        structure = self.structure()
        node = None
        if structure is not None and structure["kind"] == "dict":
            for candidate in nodes_of(structure["tree"]):
                if candidate.get("name") == name and "at" not in candidate:
                    node = _bare(candidate)
                    if "shape" in candidate and start is None:
                        node["shape"] = candidate["shape"]
                    break
        item: Any = name
        if start is not None and count is not None:
            first, n = _with_pairs(node or {}, [int(i) for i in start],
                                   [int(i) for i in count])
            if min(first + n, default=0) < 0:
                raise errors.InvalidArgument(f"{name}: a negative start or count")
            item = [name, first, n]
        memory = self.read([item])
        wire = memory.items[name][2]
        if wire == "string":
            return memory.text(name)
        return make_array(memory, node or _plain_node(name, wire), {})

    def read_slabs(
            self,
            slabs: list[tuple[dict[str, Any], list[Any], list[Any]]]) -> list[Any]:
        """Parts of sharded arrays: (node, start, count) of each, in one request."""
        from ._build import make_array

        items = [
            [node["name"], *_with_pairs(node, start, count)]
            for node, start, count in slabs
        ]
        memory = self.read(items)
        return [make_array(memory, _bare(node), {}) for node, _, _ in slabs]

    # -- a directory --

    def metadata(self) -> dict[str, Any]:
        """All metadata, including raytrain's own."""
        text = self.face()["metadata"]
        metadata: dict[str, Any] = json.loads(text) if text else {}
        return metadata

    def dir_name(self) -> str | None:
        """The name of a directory that was given to report()."""
        name = self.metadata().get(DIR_NAME)
        safe = isinstance(name, str) and name not in ("", ".", "..") and \
            not set("/\0") & set(name)
        return name if safe else None

    def file(self) -> str:
        """The HDF5 file."""
        self.wait()
        return self.where()

    def where(self) -> str:
        """The path of the file, which may not exist yet."""
        if self.path is None or os.path.isdir(self.path):
            path: str = self.face()["path"]
            return path
        return self.path

    def has_files(self) -> bool:
        """Was it made from a directory, or did the ranks of a C program attach
        files?"""
        structure = self.structure()
        if structure is not None:
            return bool(structure["kind"] == "directory")
        return any(row[0].startswith(_FILES) for row in self.names())

    def files(self) -> tuple[list[tuple[str, str, int]], list[str]]:
        """(name, relative path, bytes) of each file; and empty directories."""
        structure = self.structure()
        names: dict[str, Any] = {}
        empty: list[Any] = []
        if structure is not None:
            self.check_kind(structure, "directory")
            names, empty = structure["names"], structure["directories"]
        files = []
        for name, wire, shape in self.names():
            if name.startswith(_FILES) and wire == "bytes" and len(shape) == 1:
                short = name[len(_FILES) :]
                real = names.get(short)
                path = short if real is None else os.fsdecode(bytes.fromhex(real))
                files.append((name, path, shape[0]))
        if structure is None and not files:
            raise errors.InvalidArgument(
                f"{self.face()['path']} has no files: use to_dict()"
            )
        return files, empty

    def extract(self, directory: str) -> None:
        files, empty = self.files()
        for path in empty:
            os.makedirs(_inside(directory, path), exist_ok=True)
        batch: list[tuple[Any, str, int]] = []  # item, path, where in the file
        total = 0
        for name, path, size in files:
            for at in range(0, size, PIECE) or (0,):
                n = min(PIECE, size - at)
                if total + n > PIECE and batch:
                    self.write(directory, batch)
                    batch, total = [], 0
                batch.append(([name, [at], [n]], path, at))
                total += n
        if batch:
            self.write(directory, batch)

    def write(self, directory: str, batch: list[Any]) -> None:
        memory = self.read([item for item, _, _ in batch])
        for (name, _, _), path, at in batch:
            target = _inside(directory, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "r+b" if at > 0 else "wb", buffering=0) as file:
                file.seek(at)
                rest = memory.raw(name)
                while len(rest) > 0:
                    rest = rest[file.write(rest) :]


def _pairs(node: dict[str, Any]) -> int:
    """The number of elements of its dataset for an element of an array."""
    from ._tree import STORED_AS

    dtype = node.get("dtype")
    return STORED_AS.get(dtype, ("", 1))[1] if isinstance(dtype, str) else 1


def _with_pairs(node: dict[str, Any], start: list[Any],
                count: list[Any]) -> tuple[list[Any], list[Any]]:
    """The start and count in the dataset, for those in an array."""
    if _pairs(node) == 2:
        return [*start, 0], [*count, 2]
    return [*start], [*count]


def _bare(node: dict[str, Any]) -> dict[str, Any]:
    """The type of an array without its place and shape."""
    return {key: node[key] for key in ("array", "name", "dtype") if key in node}


def _plain_node(name: str, wire: str) -> dict[str, Any]:
    if wire == "bytes":
        return {"array": "bytes", "name": name, "dtype": "B"}
    if wire == "bfloat16":  # NumPy does not have it; without torch: its bits
        return {"array": "torch", "name": name, "dtype": wire}
    return {"array": "numpy", "name": name, "dtype": wire}


def _inside(directory: str, path: str) -> str:
    """The path of a file of the checkpoint, which must be in the directory."""
    if path.startswith("/") or ".." in path.split("/") or "\0" in path:
        raise errors.CorruptError(f"the checkpoint has a file of the name {path!r}")
    return os.path.join(directory, path)


# ---- File systems ----


class LocalFileSystem:
    """The filesystem of local paths, if pyarrow is not installed."""

    type_name = "local"

    def __eq__(self, other: object) -> bool:
        return getattr(other, "type_name", None) == "local"

    def __hash__(self) -> int:
        return hash(self.type_name)

    def __repr__(self) -> str:
        return "LocalFileSystem()"


def local_filesystem() -> Any:
    """The filesystem of a path, as in Ray.

    Returns:
        pyarrow.fs.LocalFileSystem(), or a stand-in for it without pyarrow.
    """
    try:
        from pyarrow.fs import LocalFileSystem as PyarrowFileSystem
    except ImportError:
        return LocalFileSystem()
    return PyarrowFileSystem()


def check_filesystem(filesystem: Any) -> None:
    """Refuse a filesystem that is not mounted.

    Args:
        filesystem: Of pyarrow, or None.

    Raises:
        NotSupported: It is not that of local paths.
    """
    if filesystem is None or getattr(filesystem, "type_name", "local") == "local":
        return
    raise errors.NotSupported(
        f"filesystem={filesystem!r}: raytrain reads and writes files of mounted file "
        f"systems; mount the storage on all nodes, and give the path there"
    )


# ---- Checkpoint ----


class Checkpoint:
    """A dict or a directory to report, or a checkpoint that was saved.

    Args:
        path: A directory, as in ray.train; or a checkpoint file of raytrain, the
            directory of a run (its best checkpoint), or an HDF5 file of another
            program.
        filesystem: Only that of local paths.
    """

    _dict: dict[str, Any] | None
    _directory: str | None
    _stored: _Stored | None
    _metadata: dict[str, Any] | None  # None: as it is stored

    def __init__(self, path: str | os.PathLike[str], filesystem: Any = None):
        path = os.fspath(path)
        check_filesystem(filesystem)
        self._init()
        if os.path.isdir(path) and not os.path.exists(os.path.join(path, "run.cfg")):
            file = _extracted.file_of(path)
            if file is None:
                self._directory = os.path.abspath(path)
            else:
                self._stored = _Stored(file)
        else:
            self._stored = _Stored(os.path.abspath(path))

    def _init(self) -> None:
        self._dict = None
        self._directory = None
        self._stored = None
        self._metadata = None

    @classmethod
    def _of(cls, **members: Any) -> Self:
        checkpoint = cls.__new__(cls)
        checkpoint._init()
        vars(checkpoint).update(members)
        return checkpoint

    @classmethod
    def from_directory(cls, path: str | os.PathLike[str]) -> Self:
        """The files of a directory, which are read when the checkpoint is reported.

        Subdirectories and symbolic links to files in the directory are followed.
        report() refuses links that lead elsewhere or in circles.

        Args:
            path: The directory.

        Returns:
            The checkpoint.

        Raises:
            NotADirectoryError: There is no such directory.
        """
        path = os.fspath(path)
        if not os.path.isdir(path):
            raise NotADirectoryError(
                f"Checkpoint.from_directory(): {path!r} is not a directory"
            )
        return cls._of(_directory=os.path.abspath(path))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """A dict of arrays, numbers, strings, and lists, tuples and dicts of these.

        Arrays are torch tensors, NumPy arrays, and objects with the buffer protocol;
        they are copied when the checkpoint is reported, not before. Each becomes a
        dataset of an HDF5 file, named by its keys. Objects of other types are pickled.
        For a Shard, a DTensor or a ShardedTensor each worker reports its part.

        Args:
            data: The dict.

        Returns:
            The checkpoint.

        Raises:
            TypeError: It is not a dict.
        """
        if not isinstance(data, dict):
            raise TypeError(
                f"Checkpoint.from_dict() takes a dict, not {type(data).__name__}"
            )
        return cls._of(_dict=data)

    # -- what it is --

    @property
    def path(self) -> str | None:
        """A directory with the files that were reported; None for a dict to report.

        For a checkpoint that was saved, it is made at the first use, in the directory
        of the run: checkpoint_000012/, or the checkpoint_dir_name of report(). It is
        removed with the checkpoint. For a worker, or if it cannot be written there, it
        is in TMPDIR of this node. If no files were reported, it has the HDF5 file.
        """
        if self._stored is None:
            return self._directory
        named = self._stored.path
        if not (named is None or named.endswith(".h5") or os.path.lexists(named)):
            return named  # of another machine, or not made yet
        return _extracted.directory(self._stored,
                                    not isinstance(session(), LoneSession))

    @property
    def file(self) -> str | None:
        """The HDF5 file of a checkpoint that was saved, else None."""
        return None if self._stored is None else self._stored.file()

    @property
    def filesystem(self) -> Any:
        """pyarrow.fs.LocalFileSystem() if pyarrow is installed, else an object with the
        same type_name: shared storage is mounted, and path is a local path."""
        return local_filesystem()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Checkpoint):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[str, object]:
        """Its path, or the dict if it was not saved."""
        if self._stored is not None:
            return "file", os.path.realpath(self._stored.where())
        if self._directory is not None:
            return "directory", os.path.realpath(self._directory)
        return "dict", id(self._dict)

    def get_preprocessor(self, allow_code: bool = False) -> Preprocessor | None:
        """The fitted preprocessors of the run that saved the checkpoint, for
        transform() and transform_batch(); see raytrain.preprocessors.

        Args:
            allow_code: Load their functions (BatchMapper), which runs code from the
                checkpoint, or from files that it names. Functions that this program has
                given to a BatchMapper itself are always loaded.

        Returns:
            The preprocessors, or None.
        """
        if self._stored is None:
            return None
        from . import preprocessors

        state = server().call("preprocess_checkpoint", {"path": self.file})[1]
        return preprocessors._from_state(state, allow_code) if state else None

    @property
    def training_iteration(self) -> int:
        """The iteration of its report; 0 if it was not saved."""
        return int(self._stored.face()["iteration"]) if self._stored else 0

    @property
    def metrics(self) -> dict[str, Any]:
        """The metrics of its report: those of rank 0, or, for a training function in C,
        the means over all workers."""
        if self._stored is None:
            return {}
        face = self._stored.face()
        if face.get("reported") is not None:
            reported: dict[str, Any] = _metrics.decoded(json.loads(face["reported"]))
            return reported
        return {name: float(n) for name, n in face["metrics"].items()}

    def get_metadata(self) -> dict[str, Any]:
        """The metadata of set_metadata() and update_metadata()."""
        if self._metadata is None and self._stored is not None:
            metadata = self._stored.metadata()
            metadata.pop(DIR_NAME, None)
            return metadata
        return dict(self._metadata or {})

    def set_metadata(self, metadata: dict[str, Any]) -> None:
        """Replace the metadata, which are saved with the checkpoint. The file of a
        checkpoint that is already saved does not change.

        Args:
            metadata: A dict that JSON can hold.

        Raises:
            TypeError: It is not such a dict.
        """
        if not isinstance(metadata, dict):
            raise TypeError(f"metadata are a dict, not {type(metadata).__name__}")
        json.dumps(metadata)
        self._metadata = dict(metadata)

    def update_metadata(self, metadata: dict[str, Any]) -> None:
        """Add to the metadata.

        Args:
            metadata: See set_metadata().
        """
        self.set_metadata({**self.get_metadata(), **metadata})

    # -- a dict --

    def to_dict(self, allow_pickle: bool = False,
                shards: bool = True) -> dict[str, Any]:
        """The dict, with the same types: tensors of torch, which are on the CPU, and
        arrays of NumPy. They share one memory, which is freed with the last of them. A
        checkpoint of a C program becomes a dict of dicts by the names of its arrays.

        Args:
            allow_pickle: Load objects of other types, which runs code from the
                checkpoint; otherwise they are Pickled, with a method load().
            shards: Read sharded arrays as a whole; otherwise they are ShardedArray, to
                read in parts.

        Returns:
            The dict. Arrays are memoryviews if neither NumPy nor torch can be imported.

        Raises:
            InvalidArgument: The checkpoint is a directory.
        """
        if self._dict is not None:
            return dict(self._dict)
        if self._stored is None:
            raise errors.InvalidArgument(
                "this checkpoint is a directory: use as_directory() or to_directory()"
            )
        return self._stored.to_dict(allow_pickle, shards)

    def names(self) -> list[str]:
        """The datasets of a checkpoint that was saved: "model/fc1.weight", ..."""
        return [row[0] for row in self._need_stored("names").names()]

    def read(self, name: str, start: Sequence[int] | None = None,
             count: Sequence[int] | None = None) -> Any:
        """One array of a checkpoint that was saved. Other arrays are not read.

        Args:
            name: Its name, one of names().
            start: The first element to read, a number for each axis.
            count: The number of elements, for each axis. None for both: all.

        Returns:
            The array.
        """
        return self._need_stored("read").read_array(name, start, count)

    def _need_stored(self, call: str) -> _Stored:
        if self._stored is None:
            raise errors.InvalidArgument(
                f"{call}() reads a checkpoint that was saved; this one is to be "
                f"reported"
            )
        return self._stored

    # -- a directory --

    def to_directory(self, path: str | os.PathLike[str] | None = None) -> str:
        """Write the files into a directory. Files with other names are kept.

        Args:
            path: The directory, which need not exist; None: a new temporary one.

        Returns:
            The path of the directory.

        Raises:
            InvalidArgument: The checkpoint is a dict.
        """
        if path is None:
            path = tempfile.mkdtemp(prefix="checkpoint-")
        path = os.fspath(path)
        os.makedirs(path, exist_ok=True)
        if self._directory is not None:
            shutil.copytree(self._directory, path, dirs_exist_ok=True)
        elif self._stored is not None:
            self._stored.extract(path)
        else:
            raise errors.InvalidArgument("this checkpoint is a dict: use to_dict()")
        return path

    @contextmanager
    def as_directory(self) -> Iterator[str]:
        """A context, as in ``with checkpoint.as_directory() as path``: the directory
        itself if it is to be reported, otherwise a temporary one with its files. The
        processes of a node share it, and it is removed when the last of them has left
        the context. Change nothing in it.

        Yields:
            The path of the directory.

        Raises:
            InvalidArgument: The checkpoint is a dict.
        """
        if self._directory is not None:
            yield self._directory
            return
        if self._stored is None:
            raise errors.InvalidArgument("this checkpoint is a dict: use to_dict()")
        self._stored.files()  # raises for a checkpoint that was made from a dict
        with _extracted.borrowed(self._stored) as path:
            yield path

    # -- for report() --

    def _contents(self) -> tuple[str, Any, Any]:
        """("dict", a dict) or ("directory", a path), and an object that keeps it."""
        if self._dict is not None:
            return "dict", self._dict, None
        if self._directory is not None:
            return "directory", self._directory, None
        assert self._stored is not None
        structure = self._stored.structure()
        if structure is None or structure["kind"] == "dict":
            return "dict", self._stored.to_dict(False, True), None
        held = tempfile.TemporaryDirectory(prefix="checkpoint-")
        self._stored.extract(held.name)
        return "directory", held.name, held

    def __getstate__(self) -> dict[str, Any]:
        """A saved checkpoint travels to other processes as its path."""
        state = dict(vars(self))
        state["_stored"] = self.file
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if state["_stored"] is not None:
            self._stored = _Stored(state["_stored"])

    def __repr__(self) -> str:
        if self._dict is not None:
            return f"Checkpoint.from_dict(a dict of {len(self._dict)})"
        where = self._directory if self._stored is None else self._stored.where()
        return f"{type(self).__name__}(filesystem=local, path={where})"


def restored() -> Checkpoint:
    """The checkpoint that this attempt starts from."""
    return Checkpoint._of(_stored=_Stored(None))


def newest(reported: Newest) -> Checkpoint:
    """The checkpoint that was reported last: one object, which is opened once.

    Args:
        reported: Its path and iteration.

    Returns:
        The checkpoint.
    """
    if reported.checkpoint is None:
        reported.checkpoint = Checkpoint._of(
            _stored=_Stored(reported.path, reported.iteration))
    return reported.checkpoint
