"""From a dict to datasets and a structure (_tree.py). Nothing is copied here: an entry
knows how to copy its bytes into a buffer."""

from __future__ import annotations

import array as _array
import json
import pickle
import struct
import sys
from collections import OrderedDict
from typing import Any, Iterator

from ._shard import Pickled, Shard
from ._tree import (
    ALIGNMENT, DIMS_MAX, NAME_MAX, RAW_KINDS, RESERVED, SCALARS, SCALARS_MAX,
    WIRE_SIZE, component, float_node, key_node, numpy_native, numpy_type, torch_type,
)

_RAW_WIRE = {
    "b": "int8", "B": "uint8", "h": "int16", "H": "uint16", "i": "int32", "I": "uint32",
    "l": "int64", "L": "uint64", "q": "int64", "Q": "uint64", "f": "float32",
    "d": "float64",
}
_ARRAY_LIBRARIES = ("jax", "jaxlib", "tensorflow", "cupy")


class Entry:
    """A dataset: its row in the offer, and how its bytes get into the buffer."""

    __slots__ = ("row", "nbytes", "write", "sharded")

    def __init__(self, row: list[Any], nbytes: int, write: Any,
                 sharded: bool = False) -> None:
        self.row = row
        self.nbytes = nbytes
        # bytes, or a function that is called with the buffer and an offset in it
        self.write = write
        self.sharded = sharded


def lay_out(entries: list[Entry], sharded: bool) -> Iterator[tuple[Entry, int]]:
    """Each entry with bytes and its offset; `sharded`: only those of which other ranks
    have parts, too."""
    end = 0
    for entry in entries:
        if entry.write is None or (sharded and not entry.sharded):
            continue
        start = -(-end // ALIGNMENT) * ALIGNMENT
        end = start + entry.nbytes
        yield entry, start


# ---- Arrays of any library ----


class _Leaf:
    """An array: what it is, and where its elements lie in memory."""

    __slots__ = (
        "node", "name", "space", "low", "high", "shape", "strides", "itemsize",
        "contiguous", "wire", "pairs", "copy", "own", "number",
    )

    def __init__(self, node: Any, name: Any, shape: Any, itemsize: Any, wire: Any,
                 pairs: Any, copy: Any) -> None:
        self.node = node
        self.name = name
        self.shape = shape
        self.itemsize = itemsize
        self.wire = wire  # the dataset's type of element
        self.pairs = pairs  # how many of them make an element: 1 or 2
        self.copy = copy  # like Entry.write
        self.space = None  # where the addresses are valid; None: it shares nothing
        self.low = self.high = 0
        self.strides: Any = None  # in bytes
        self.contiguous = True
        self.own = False
        self.number = 0  # in the order of the walk

    def place(self, space: Any, address: Any, nbytes: Any) -> None:
        """Its elements fill this memory, in the order of the axes."""
        self.space = space
        self.low = address
        self.high = address + nbytes

    def scatter(self, space: Any, address: Any, strides: Any) -> None:
        """Its elements are at these strides, in bytes."""
        self.space = space
        self.strides = strides
        self.contiguous = False
        self.low = self.high = address
        for size, stride in zip(self.shape, strides):
            if stride < 0:
                self.low += (size - 1) * stride
            else:
                self.high += (size - 1) * stride
        self.high += self.itemsize

    def steps(self) -> tuple[Any, ...]:
        """The strides, in bytes."""
        if self.strides is None:
            step, steps = self.itemsize, []
            for size in reversed(self.shape):
                steps.append(step)
                step *= size
            self.strides = tuple(reversed(steps))
        return self.strides

    @property
    def nbytes(self) -> int:
        n = self.itemsize
        for size in self.shape:
            n *= size
        return n

    def geometry(self) -> Any:
        return (self.low, self.high, self.shape, self.steps(), self.node["dtype"])


def _is_dense(shape: Any, strides: Any, itemsize: Any) -> bool:
    """Do the elements fill their memory without gaps, in some order of the axes?"""
    expected = itemsize
    for stride, size in sorted(zip(strides, shape)):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


# ---- torch ----


def _torch_copier(torch: Any, tensor: Any, wire: str) -> Any:
    def copy(buffer: Any, offset: Any) -> None:
        flat = torch.frombuffer(
            buffer, dtype=tensor.dtype, count=tensor.numel(), offset=offset
        )
        flat.view(tensor.shape).copy_(tensor.detach())

    # Of a type that frombuffer() does not know.
    def copy_bytes(buffer: Any, offset: Any) -> None:
        raw = tensor.detach().contiguous().view(torch.uint8).reshape(-1)
        torch.frombuffer(
            buffer, dtype=torch.uint8, count=raw.numel(), offset=offset
        ).copy_(raw)

    return copy_bytes if wire == "bytes" else copy


def _torch_is_plain(torch: Any, value: Any) -> bool:
    """Has it elements in memory, as strides say? Of subclasses, only if they do not
    compute in ways of their own."""
    kind = type(value)
    if kind is not torch.Tensor and kind is not torch.nn.Parameter:
        if kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
            return False
    return (
        value.layout is torch.strided
        and not value.is_quantized
        and not value.is_meta
    )


def _is_divided(value: Any) -> bool:
    """Is it a DTensor or ShardedTensor?"""
    if "torch.distributed" not in sys.modules:
        return False
    from ._sharded import is_divided

    return is_divided(value)


def _torch_leaf(torch: Any, value: Any, name: str) -> _Leaf:
    dtype, wire, pairs = torch_type(torch, value.dtype)
    node: dict[str, Any] = {"array": "torch", "name": name, "dtype": dtype}
    if value.requires_grad:
        node["grad"] = True
    if type(value) is not torch.Tensor and isinstance(value, torch.nn.Parameter):
        node["parameter"] = True
    itemsize = value.element_size()
    n = value.numel()
    leaf = _Leaf(
        node, name, tuple(value.shape), itemsize, wire, pairs,
        _torch_copier(torch, value, wire),
    )
    if n == 0 or value.is_conj() or value.is_neg():
        return leaf
    if value.is_contiguous():
        leaf.place(value.device, value.data_ptr(), n * itemsize)
    else:
        strides = tuple(step * itemsize for step in value.stride())
        leaf.scatter(value.device, value.data_ptr(), strides)
    return leaf


# ---- NumPy ----


def _numpy_copier(numpy: Any, value: Any, wire: Any) -> Any:
    native = numpy_native(value.dtype, wire)

    def copy(buffer: Any, offset: Any) -> None:
        flat = numpy.frombuffer(
            buffer, dtype=numpy.uint8, count=value.size * native.itemsize, offset=offset
        )
        numpy.copyto(flat.view(native).reshape(value.shape), value)

    return copy


def _numpy_leaf(numpy: Any, value: Any, name: str, kind: str) -> _Leaf:
    stored, wire, pairs = numpy_type(numpy, value.dtype)
    node = {"array": kind, "name": name, "dtype": stored}
    leaf = _Leaf(
        node, name, value.shape, value.itemsize, wire, pairs,
        _numpy_copier(numpy, value, wire),
    )
    leaf.own = kind == "numpy scalar"
    if kind == "numpy" and value.nbytes > 0:
        address = value.__array_interface__["data"][0]
        if value.flags.c_contiguous:
            leaf.place("numpy", address, value.nbytes)
        else:
            leaf.scatter("numpy", address, value.strides)
    return leaf


# ---- Flatten ----


class Flattener:
    """One walk over a dict: its entries and its structure."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.leaves: list[_Leaf] = []
        self.order: list[Any] = []  # entries and leaves, as the walk has met them
        self.seen: dict[int, int] = {}  # id of an array: its number
        self.n_extra = 0

    # -- names --

    def extra(self, what: str) -> str:
        """A name for something that has none of its own."""
        self.n_extra += 1
        return f"python/{what}/{self.n_extra}"

    def name_of(self, path: str) -> str:
        if len(path) > NAME_MAX // 4 and len(path.encode()) > NAME_MAX:
            return self.extra("long")
        return path

    # -- values --

    def add(self, path: Any, wire: Any, shape: Any, write: Any, own: Any=True) -> Any:
        """A dataset; returns its name."""
        name = self.name_of(path)
        n = WIRE_SIZE[wire]
        for size in shape:
            n *= size
        row = [name, wire, list(shape)]
        if own:
            row.append("own")
        self.order.append(Entry(row, n, write))
        return name

    def scalar(self, value: Any, path: str) -> Any:
        """A number, a string or None: its node, and a dataset if HDF5 has its type."""
        kind = type(value)
        if kind is bool:
            self.add(path, "uint8", (), b"\1" if value else b"\0")
        elif kind is int:
            if -(1 << 63) <= value < 1 << 63:
                self.add(path, "int64", (), struct.pack("<q", value))
        elif kind is float:
            self.add(path, "float64", (), struct.pack("<d", value))
            return float_node(value)
        elif kind is str and "\0" not in value and len(value) < 1 << 28:
            try:
                value.encode()
            except UnicodeEncodeError:
                return value
            self.order.append(Entry([self.name_of(path), "string", value], 0, None))
        return value

    def numbers(self, value: Any, path: str) -> Any:
        """A list or tuple of one kind of number as one dataset; None: it is not."""
        kinds = set(map(type, value))
        if len(kinds) != 1:
            return None
        kind = kinds.pop()
        if kind is int:
            try:
                data, wire = _array.array("q", value).tobytes(), "int64"
            except OverflowError:
                return None
        elif kind is float:
            data, wire = _array.array("d", value).tobytes(), "float64"
        elif kind is bool:
            data, wire = bytes(value), "uint8"
        else:
            return None
        name = self.add(path, wire, (len(value),), data)
        node = {"numbers": name, "of": kind.__name__}
        if type(value) is tuple:
            node["tuple"] = True
        return node

    def raw(self, data: Any, path: str, kind: str) -> Any:
        """bytes, bytearray, array.array, memoryview."""
        view = memoryview(data)
        node: dict[str, Any] = {"array": kind, "name": "", "dtype": view.format}
        if kind == "array":
            node["dtype"] = data.typecode
        if kind == "memoryview":
            node["shape"] = list(view.shape or ())
        if view.nbytes > 0 and not view.c_contiguous:
            view = memoryview(view.tobytes())
        wire = _RAW_WIRE.get(view.format, "bytes") if kind == "array" else "bytes"
        size = view.nbytes // WIRE_SIZE[wire]
        node["name"] = self.add(path, wire, (size,), view.cast("B") if size else b"")
        return node

    def pickled(self, value: Any, path: str) -> Any:
        if type(value) is Pickled:
            data, name = value.data, value.type
        else:
            name = f"{type(value).__module__}.{type(value).__qualname__}"
            try:
                data = _pickle(value)
            except Exception as e:
                raise TypeError(
                    f"{path}: a checkpoint cannot hold this {name}: {e}"
                ) from e
        return {"pickle": self.add(path, "bytes", (len(data),), data), "type": name}

    # -- containers --

    def mapping(self, value: dict[str, Any], path: str, word: str) -> Any:
        pairs: list[Any] = []
        plain = len(value) > SCALARS_MAX and _all_scalars(value.values())
        used: set[str] = set()
        for key, item in value.items():
            pairs.append(key_node(key))
            if plain:
                pairs.append(float_node(item) if type(item) is float else item)
                continue
            part = component(key)
            if not path and part in RESERVED:
                part += "~"
            while part in used:
                short = part.encode()[:200].decode(errors="ignore")
                part = f"{short}~{len(used)}"
            used.add(part)
            pairs.append(self.walk(item, f"{path}/{part}" if path else part))
        return {word: pairs}

    def sequence(self, value: Any, path: str, word: str) -> Any:
        if len(value) > SCALARS_MAX and _all_scalars(value):
            return {
                word: [float_node(item) if type(item) is float else item
                       for item in value]
            }
        return {word: [self.walk(item, f"{path}/{i}") for i, item in enumerate(value)]}

    # -- arrays --

    def array(self, leaf: _Leaf, value: Any) -> Any:
        self.seen[id(value)] = leaf.number = len(self.leaves)
        leaf.name = leaf.node["name"] = self.name_of(leaf.name)
        self.leaves.append(leaf)
        self.order.append(leaf)
        return leaf.node

    def shard(self, value: Shard, path: str, of: Any = None) -> Any:
        """`of`: the object in the dict that it is a part of, if it is not the Shard."""
        numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
        part = value.array
        if torch is not None and isinstance(part, torch.Tensor):
            leaf = _torch_leaf(torch, part, path)
        elif numpy is not None:
            leaf = _numpy_leaf(numpy, numpy.asarray(part), path, "numpy")
        else:
            raise TypeError(f"{path}: a Shard holds a NumPy array or a torch tensor")
        value.check(path, leaf.shape)
        shape, start, count = list(value.global_shape), list(value.start), leaf.shape
        count = list(count)
        if leaf.pairs == 2:
            shape, start, count = shape + [2], start + [0], count + [2]
        if leaf.wire == "bytes" or len(shape) > DIMS_MAX or not shape:
            raise TypeError(
                f"{path}: a Shard has 1 to {DIMS_MAX} dimensions and elements that "
                f"are numbers, not {leaf.node['dtype']}"
            )
        leaf.node["shard"] = True
        name = leaf.node["name"] = self.name_of(path)
        self.order.append(
            Entry([name, leaf.wire, shape, start, count], leaf.nbytes, leaf.copy, True)
        )
        self.seen[id(value if of is None else of)] = len(self.leaves)
        self.leaves.append(leaf)
        return leaf.node

    def divided(self, value: Any, path: str) -> Any:
        """A tensor of torch.distributed: a part, or all of it."""
        from ._sharded import part_of

        part = part_of(value, path)
        if type(part) is Shard:
            return self.shard(part, path, value)
        import torch

        return self.array(_torch_leaf(torch, part, path), value)

    # -- any value --

    def walk(self, value: Any, path: str) -> Any:
        kind = type(value)
        if kind in SCALARS:
            return self.scalar(value, path)
        again = self.seen.get(id(value))
        if again is not None:
            return {"same": again}
        if kind is dict:
            return self.mapping(value, path, "dict")
        if kind is OrderedDict:
            return self.ordered(value, path)
        if kind is list or kind is tuple:
            word = kind.__name__
            return self.numbers(value, path) or self.sequence(value, path, word)
        if kind is Shard:
            return self.shard(value, path)
        raw: Any = RAW_KINDS.get(kind)
        if raw is not None:
            return self.raw(value, path, raw)
        if kind is complex:
            data = struct.pack("<dd", value.real, value.imag)
            self.add(path, "float64", (2,), data)
            return {"complex": data.hex()}
        return self.foreign(value, path)

    def ordered(self, value: OrderedDict[Any, Any], path: str) -> Any:
        node = self.mapping(value, path, "ordered")
        versions = getattr(value, "_metadata", None)  # of a torch module's state
        if isinstance(versions, dict):
            try:
                node["versions"] = json.loads(json.dumps(versions))
            except (TypeError, ValueError):
                pass
        return node

    def foreign(self, value: Any, path: str) -> Any:
        torch = sys.modules.get("torch")
        if torch is not None:
            if _is_divided(value):
                return self.divided(value, path)
            if isinstance(value, torch.Tensor) and _torch_is_plain(torch, value):
                return self.array(_torch_leaf(torch, value, path), value)
            if type(value) is torch.Size:
                return {"size": list(value)}
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            if type(value) is numpy.ndarray and not value.dtype.hasobject:
                return self.array(_numpy_leaf(numpy, value, path, "numpy"), value)
            if isinstance(value, numpy.generic) and not value.dtype.hasobject:
                held = numpy.asarray(value)
                return self.array(_numpy_leaf(numpy, held, path, "numpy scalar"), held)
            if type(value).__module__.partition(".")[0] in _ARRAY_LIBRARIES:
                if hasattr(value, "__array__"):
                    held = numpy.asarray(value)
                    return self.array(_numpy_leaf(numpy, held, path, "numpy"), held)
        return self.pickled(value, path)

    # -- memory that several arrays share --

    def share(self) -> None:
        """Arrays with common elements: find one dataset for all of them."""
        spaces: dict[Any, list[_Leaf]] = {}
        for leaf in self.leaves:
            if leaf.space is not None and "shard" not in leaf.node:
                spaces.setdefault(leaf.space, []).append(leaf)
        for leaves in spaces.values():
            leaves.sort(key=lambda leaf: leaf.low)
            group, high = [leaves[0]], leaves[0].high
            for leaf in leaves[1:]:
                if leaf.low < high:
                    group.append(leaf)
                    high = max(high, leaf.high)
                    continue
                self.share_group(group)
                group, high = [leaf], leaf.high
            self.share_group(group)

    def share_group(self, group: list[_Leaf]) -> None:
        if len(group) < 2:
            return
        high = max(leaf.high for leaf in group)
        group.sort(key=lambda leaf: leaf.number)  # as the walk has met them
        low = min(leaf.low for leaf in group)
        if any((leaf.low - low) % leaf.itemsize for leaf in group):
            return  # of types whose elements do not fit each other
        for base in group:
            if base.contiguous and (base.low, base.high) == (low, high):
                return self.share_base(group, base)
        if all(leaf.contiguous for leaf in group):
            return self.share_union(group, low, high)
        first: dict[str, Any] = {}  # equal views at least are stored once
        for leaf in group:
            same = first.setdefault(leaf.geometry(), leaf)
            if same is not leaf:
                leaf.node["name"] = same.name
                leaf.copy = None

    def share_base(self, group: list[_Leaf], base: _Leaf) -> None:
        for leaf in group:
            if leaf is base:
                continue
            leaf.node["name"] = base.name
            leaf.copy = None
            if leaf.geometry() != base.geometry():
                leaf.node["at"] = leaf.low - base.low
                self.view(leaf)

    def view(self, leaf: _Leaf) -> None:
        # Strides may be negative: "at" is that of the first element.
        for size, stride in zip(leaf.shape, leaf.steps()):
            if stride < 0:
                leaf.node["at"] -= (size - 1) * stride
        leaf.node["shape"] = list(leaf.shape)
        leaf.node["strides"] = list(leaf.steps())

    def share_union(self, group: list[_Leaf], low: int, high: int) -> None:
        """Each has elements that another one has, and none has all."""
        name = self.extra("shared")
        copies = [(leaf.low - low, leaf.copy) for leaf in group]

        def copy(buffer: Any, offset: Any) -> None:
            for at, write in copies:
                write(buffer, offset + at)

        wires = {leaf.wire for leaf in group}
        wire = wires.pop() if len(wires) == 1 else "bytes"
        if (high - low) % WIRE_SIZE[wire]:
            wire = "bytes"
        size = (high - low) // WIRE_SIZE[wire]
        self.order.append(Entry([name, wire, [size]], high - low, copy))
        for leaf in group:
            leaf.node["name"] = name
            leaf.node["at"] = leaf.low - low
            self.view(leaf)
            leaf.copy = None

    def leaf_entry(self, leaf: _Leaf) -> Entry | None:
        if leaf.copy is None:
            return None
        shape = list(leaf.shape)
        if leaf.pairs == 2:
            shape.append(2)
        if leaf.wire == "bytes" or len(shape) > DIMS_MAX:
            shape = [leaf.nbytes // WIRE_SIZE[leaf.wire]]
            leaf.node["shape"] = list(leaf.shape)
        if not leaf.contiguous and _is_dense(leaf.shape, leaf.strides, leaf.itemsize):
            leaf.node["strides"] = list(leaf.strides)
        row = [leaf.name, leaf.wire, shape]
        if leaf.own:
            row.append("own")
        return Entry(row, leaf.nbytes, leaf.copy)

    def run(self, value: dict[str, Any]) -> tuple[list[Entry], str]:
        try:
            tree = self.mapping(
                value, "", "ordered" if type(value) is OrderedDict else "dict"
            )
            self.share()
            for item in self.order:
                entry = self.leaf_entry(item) if type(item) is _Leaf else item
                if entry is not None:
                    self.entries.append(entry)
            text = json.dumps(
                {"version": 1, "kind": "dict", "tree": tree}, separators=(",", ":")
            )
        except RecursionError:
            raise ValueError(
                "the dict is nested too deeply for a checkpoint, or contains itself"
            ) from None
        return self.entries, text


def _all_scalars(values: Any) -> bool:
    return SCALARS.issuperset(map(type, values))


def _pickle(value: Any) -> bytes:
    try:
        return pickle.dumps(value, protocol=4)
    except Exception:
        try:
            import cloudpickle
        except ImportError:
            cloudpickle = None
        if cloudpickle is None:
            raise
        return cloudpickle.dumps(value, protocol=4)


def flatten(value: dict[str, Any]) -> tuple[list[Entry], str]:
    """The datasets of a dict, and its structure as a JSON text.

    Raises TypeError for a key that cannot be stored, ValueError if the dict contains
    itself, and what pickle raises for an object that it cannot store.
    """
    return Flattener().run(value)
