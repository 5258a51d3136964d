"""From a structure and the datasets that were read back to a dict (_tree.py)."""

from __future__ import annotations

import array as _array
import struct
import sys
from collections import OrderedDict
from typing import Any, Callable, Iterator

from ._tree import (
    RAW_KINDS, STORED_AS, WIRE_FORMAT, float_of, key_of, numpy_dtype, numpy_native,
    torch_type,
)


class Memory:
    """The datasets that were read: places in one buffer, which can be written to."""

    def __init__(self, buffer: Any, items: dict[str, list[Any]]) -> None:
        self.buffer = buffer  # None if there are no bytes
        self.items = items  # name: [offset, bytes, type, shape]

    def raw(self, name: str) -> memoryview:
        offset, nbytes = self.items[name][:2]
        if nbytes == 0:
            return memoryview(bytearray())
        return memoryview(self.buffer)[offset : offset + nbytes]

    def text(self, name: str) -> str:
        return str(self.raw(name), "utf-8", "surrogateescape")


def _imported(name: str) -> Any:
    """A module that a kind of array needs; None if it is not installed."""
    module = sys.modules.get(name)
    if module is None:
        try:
            module = __import__(name)
        except ImportError:
            return None
    return module


def nodes_of(tree: Any) -> Iterator[dict[str, Any]]:
    """All nodes that refer to datasets."""
    stack = [tree]
    while stack:
        node = stack.pop()
        if not isinstance(node, dict):
            continue
        if "array" in node or "numbers" in node or "pickle" in node:
            yield node
        else:
            for word in ("dict", "ordered"):
                if word in node:
                    stack.extend(node[word][1::2])
            for word in ("list", "tuple"):
                if word in node:
                    stack.extend(node[word])


class Builder:
    """One way back: values from a structure and the datasets that it names."""

    def __init__(
        self,
        memory: Memory,
        pickled: Callable[[dict[str, Any]], Any],
        sharded: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.memory = memory
        self.pickled = pickled  # what becomes of a node of pickled bytes
        self.sharded = sharded  # of a Shard; None: the whole array
        self.arrays: list[Any] = []  # in the order of the walk
        self.made: dict[Any, Any] = {}  # of a dataset: the arrays that were made of it

    def build(self, node: Any) -> Any:
        if not isinstance(node, dict):
            return node
        for word, make in _MAKERS.items():
            if word in node:
                return make(self, node)
        raise ValueError(f"the structure of the checkpoint has an unknown node: {node}")

    def dict(self, node: Any) -> Any:
        pairs = node["dict"]
        return {
            key_of(key): self.build(item) for key, item in zip(pairs[::2], pairs[1::2])
        }

    def ordered(self, node: Any) -> Any:
        pairs = node["ordered"]
        made = OrderedDict(
            (key_of(key), self.build(item))
            for key, item in zip(pairs[::2], pairs[1::2])
        )
        if "versions" in node:
            setattr(made, "_metadata", OrderedDict(node["versions"]))
        return made

    def list(self, node: Any) -> Any:
        return [self.build(item) for item in node["list"]]

    def tuple(self, node: Any) -> Any:
        return tuple([self.build(item) for item in node["tuple"]])

    def size(self, node: Any) -> Any:
        torch = _imported("torch")
        return torch.Size(node["size"]) if torch else tuple(node["size"])

    def float(self, node: Any) -> Any:
        return float_of(node)

    def complex(self, node: Any) -> Any:
        return complex(*struct.unpack("<dd", bytes.fromhex(node["complex"])))

    def numbers(self, node: Any) -> Any:
        raw: Any = self.memory.raw(node["numbers"])
        form, kind = {"int": ("q", int), "float": ("d", float), "bool": ("B", bool)}[
            node["of"]
        ]
        values = raw.cast(form).tolist() if len(raw) else []
        if kind is bool:
            values = [bool(value) for value in values]
        return tuple(values) if node.get("tuple") else values

    def same(self, node: Any) -> Any:
        return self.arrays[node["same"]]

    def pickle(self, node: Any) -> Any:
        return self.pickled(node)

    def array(self, node: Any) -> Any:
        number = len(self.arrays)
        counts = node["array"] not in RAW_KINDS.values()
        if counts:
            self.arrays.append(None)
        if node.get("shard") and self.sharded is not None:
            made = self.sharded(node)
        else:
            made = make_array(self.memory, node, self.made)
        if counts:
            self.arrays[number] = made
        return made


_MAKERS = {
    word: getattr(Builder, word)
    for word in (
        "dict", "ordered", "list", "tuple", "size", "float", "complex", "same",
        "pickle", "array", "numbers",
    )
}
# "numbers" has a member "tuple", too.
_MAKERS = {"numbers": _MAKERS.pop("numbers"), **_MAKERS}


def make_array(memory: Memory, node: dict[str, Any], made: dict[Any, Any]) -> Any:
    """The array of a node. Those of one dataset share its memory."""
    kind = node["array"]
    if kind in RAW_KINDS.values():
        return _make_raw(memory, node)
    torch = _imported("torch") if kind == "torch" else None
    if torch is not None:
        return _make_torch(torch, memory, node, made)
    numpy = _imported("numpy")
    if numpy is not None:
        return _make_numpy(numpy, memory, node, made)
    return make_view(memory, node["name"])


def make_view(memory: Memory, name: str) -> Any:
    """Without NumPy: a memoryview of the dataset's type and shape."""
    _, nbytes, wire, shape = memory.items[name]
    raw: Any = memory.raw(name)
    if nbytes == 0:
        return raw.cast(WIRE_FORMAT[wire])
    if not shape:
        return raw.cast(WIRE_FORMAT[wire])
    return raw.cast(WIRE_FORMAT[wire], shape)


def _make_raw(memory: Memory, node: dict[str, Any]) -> Any:
    raw = memory.raw(node["name"])
    kind = node["array"]
    if kind == "bytes":
        return bytes(raw)
    if kind == "bytearray":
        return bytearray(raw)
    if kind == "array":
        values = _array.array(node["dtype"])
        values.frombytes(raw)
        return values
    shape = node["shape"]
    if 0 in shape or not shape:
        return raw.cast(node["dtype"])
    return raw.cast(node["dtype"], shape)


def _shape_of(memory: Memory, node: dict[str, Any], pairs: int) -> tuple[Any, ...]:
    if "shape" in node:
        return tuple(node["shape"])
    shape = memory.items[node["name"]][3]
    return tuple(shape[:-1] if pairs == 2 else shape)


def _make_torch(torch: Any, memory: Memory, node: dict[str, Any],
                made: dict[Any, Any]) -> Any:
    name = node["name"]
    offset, nbytes, _, _ = memory.items[name]
    dtype = getattr(torch, node["dtype"])
    wire, pairs = torch_type(torch, dtype)[1:]
    shape = _shape_of(memory, node, pairs)
    key = (name, dtype)
    flat = made.get(key)
    if flat is None:
        flat = _torch_flat(torch, memory.buffer, offset, nbytes, dtype, wire)
        made[key] = flat
    itemsize = flat.element_size()
    steps = [step // itemsize for step in node.get("strides", ())]
    if "at" in node:
        tensor = flat.as_strided(shape, steps, node["at"] // itemsize)
    elif steps:
        order = (name, dtype, tuple(steps))
        if order not in made:
            made[order] = torch.empty_strided(shape, steps, dtype=dtype)
            made[order].copy_(flat.view(shape))
        tensor = made[order].detach()
    else:
        tensor = flat.view(shape)
    if node.get("parameter"):
        return torch.nn.Parameter(tensor, requires_grad=node.get("grad", False))
    return tensor.requires_grad_() if node.get("grad") else tensor


def _torch_flat(torch: Any, buffer: Any, offset: Any, nbytes: Any, dtype: Any,
                wire: Any) -> Any:
    if nbytes == 0:
        return torch.empty(0, dtype=dtype)
    if wire == "bytes":
        raw = torch.frombuffer(buffer, dtype=torch.uint8, count=nbytes, offset=offset)
        return raw.view(dtype)
    itemsize = torch.empty(0, dtype=dtype).element_size()
    return torch.frombuffer(
        buffer, dtype=dtype, count=nbytes // itemsize, offset=offset
    )


def _make_numpy(numpy: Any, memory: Memory, node: dict[str, Any],
                made: dict[Any, Any]) -> Any:
    name = node["name"]
    offset, nbytes, wire, _ = memory.items[name]
    stored = node["dtype"]
    if node["array"] == "torch" and stored == "bfloat16":
        stored = "uint16"  # without torch: its bits
    dtype = numpy_dtype(numpy, stored)
    pairs = STORED_AS.get(stored, ("", 1))[1] if isinstance(stored, str) else 1
    shape = _shape_of(memory, node, pairs)
    flat = made.get(name)
    if flat is None:
        flat = numpy.zeros(0, numpy.uint8)
        if nbytes > 0:
            flat = numpy.frombuffer(memory.buffer, numpy.uint8, nbytes, offset)
        made[name] = flat
    native = numpy_native(dtype, wire)
    if "at" in node:
        return numpy.ndarray(shape, native, flat, node["at"], node["strides"])
    value = numpy.ndarray(shape, native, flat)
    if native != dtype:
        value = value.astype(dtype)
    if "strides" in node:
        value = _reordered(numpy, value, node, made)
    return value[()] if node["array"] == "numpy scalar" else value


def _reordered(numpy: Any, value: Any, node: dict[str, Any],
               made: dict[Any, Any]) -> Any:
    """A copy whose axes lie in memory in another order."""
    key = (node["name"], tuple(node["strides"]), value.dtype)
    if key not in made:
        order = sorted(range(value.ndim), key=lambda d: -node["strides"][d])
        back = sorted(range(value.ndim), key=lambda d: order[d])
        made[key] = numpy.ascontiguousarray(value.transpose(order)).transpose(back)
    return made[key].view()
