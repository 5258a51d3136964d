"""A nested dict as HDF5 datasets and a JSON text, and back: names and types.

flatten() (_flatten.py) walks a dict once. Each array, number and string becomes an
entry: a dataset whose name is the path of its keys. What HDF5 does not know (kinds of
containers, types of keys, which arrays share memory) is in the structure, a JSON text
that is stored beside them as "python/structure". Nodes of the structure are

    null, true, 1, "text", 1.5      the value itself
    {"float": HEX}                  a float that JSON does not have: NaN, infinity
    {"complex": HEX}                a complex number
    {"dict": [KEY, NODE, ...]}      also "ordered", for an OrderedDict
    {"list": [NODE, ...]}           also "tuple", "size" (a torch.Size)
    {"numbers": NAME, "of": TYPE}   a list of nothing but int, float or bool
    {"array": KIND, "name": NAME, "dtype": DTYPE, ...}
    {"same": N}                     the very object that was the N-th array
    {"pickle": NAME, "type": TYPE}  any other object

Names are those of datasets. KIND says which library's array it was. Further members of
an array are "shape", if the dataset has another one; "at" and "strides" (in bytes), if
it is a view into its dataset; "strides" alone, if it lay in memory in another order;
"grad" and "parameter", of torch; "shard", if several ranks have written it. _build.py
has the way back.
"""

from __future__ import annotations

import array as _array
import re
import struct
import zlib
from typing import Any

from . import errors

ALIGNMENT = 64  # of the bytes in a buffer; the worker counts with it, too
NAME_MAX = 1000  # bytes of a dataset's name
COMPONENT_MAX = 255
DIMS_MAX = 8
SCALARS_MAX = 256  # more of them in one container get no datasets
RESERVED = ("raytrain", "python", "files")  # at the top of a checkpoint

# Elements of datasets: bytes, and the format of a memoryview.
WIRE_SIZE = {
    "float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "int8": 1, "int16": 2,
    "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8,
    "bytes": 1,
}
WIRE_FORMAT = {
    "float32": "f", "float64": "d", "float16": "H", "bfloat16": "H", "int8": "b",
    "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H",
    "uint32": "I", "uint64": "Q", "bytes": "B",
}
# Types of elements that HDF5 stores as others: the same bytes, maybe in pairs.
STORED_AS = {
    "bool": ("uint8", 1),
    "complex64": ("float32", 2),
    "complex128": ("float64", 2),
    "complex32": ("float16", 2),
}
SCALARS = frozenset((bool, int, float, str, type(None)))
RAW_KINDS: dict[Any, str] = {
    bytes: "bytes", bytearray: "bytearray", _array.array: "array",
    memoryview: "memoryview",
}


# ---- Names ----

_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}").fullmatch
_UNSAFE = re.compile("[/\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def component(key: Any) -> str:
    """A key as a component of a name; other keys may give the same."""
    text = key if type(key) is str else str(key)
    if _PLAIN(text):
        return text
    text = _UNSAFE.sub(lambda found: "%%%02X" % ord(found.group()), text)
    if text in ("", ".", ".."):
        text = "%" + text.replace(".", "2E")
    encoded = text.encode()
    if len(encoded) > COMPONENT_MAX:
        text = "%s~%08x" % (encoded[:200].decode(errors="ignore"), zlib.crc32(encoded))
    return text


def key_node(key: Any) -> Any:
    kind = type(key)
    if kind in (str, int, bool) or key is None:
        return key
    if kind is float:
        return float_node(key)
    if kind is tuple:
        return {"tuple": [key_node(part) for part in key]}
    if kind is bytes:
        return {"bytes": key.hex()}
    raise TypeError(
        f"a checkpoint cannot have the key {key!r}: keys are str, int, float, bool, "
        f"None, bytes, or tuples of these, not {kind.__name__}"
    )


def key_of(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if "tuple" in node:
        return tuple(key_of(part) for part in node["tuple"])
    if "bytes" in node:
        return bytes.fromhex(node["bytes"])
    return float_of(node)


def float_node(value: float) -> Any:
    if value - value == 0:
        return value
    return {"float": struct.pack("<d", value).hex()}


def float_of(node: Any) -> float:
    if isinstance(node, dict):
        return struct.unpack("<d", bytes.fromhex(node["float"]))[0]
    return node


# ---- torch ----

_torch_types: dict[str, Any] = {}


def torch_type(torch: Any, dtype: Any) -> tuple[str, str, int]:
    """Its name, and how a dataset has an element: the type, and how many of it."""
    known = _torch_types.get(dtype)
    if known is None:
        if not hasattr(torch, "frombuffer"):
            raise errors.NotSupported(
                f"tensors in checkpoints need torch 1.10 or later, not "
                f"{torch.__version__}"
            )
        name = str(dtype).rpartition(".")[2]
        wire, pairs = STORED_AS.get(name, (name, 1))
        if wire not in WIRE_SIZE or wire == "bytes":
            wire, pairs = "bytes", 1
        known = _torch_types[dtype] = (name, wire, pairs)
    return known


# ---- NumPy ----


def numpy_type(numpy: Any, dtype: Any) -> tuple[Any, str, int]:
    """How the structure has it, and how a dataset has its elements."""
    if dtype.kind in "biufc" and dtype.isbuiltin == 1:
        name = dtype.name
        wire, pairs = STORED_AS.get(name, (name, 1))
        if wire in WIRE_SIZE:
            return name, wire, pairs
    elif dtype.name == "bfloat16":
        return "bfloat16", "bfloat16", 1
    if dtype.kind in "mM":
        return dtype.str, "int64", 1
    if dtype.names is not None or dtype.subdtype is not None:
        return numpy.lib.format.dtype_to_descr(dtype), "bytes", 1
    if dtype.kind in "iufc" and dtype.newbyteorder("=").name in WIRE_SIZE:
        return dtype.str, dtype.newbyteorder("=").name, 1
    return dtype.str, "bytes", 1


def numpy_dtype(numpy: Any, stored: Any) -> Any:
    """The dtype of what numpy_type() has stored."""
    if isinstance(stored, list):

        def tuples(value: Any) -> Any:
            if not isinstance(value, list):
                return value
            return tuple(tuples(part) for part in value)

        return numpy.lib.format.descr_to_dtype([tuples(field) for field in stored])
    if stored == "bfloat16":
        try:
            import ml_dtypes
        except ImportError:
            return numpy.dtype(numpy.uint16)
        return numpy.dtype(ml_dtypes.bfloat16)
    return numpy.dtype(stored)


def numpy_native(dtype: Any, wire: str) -> Any:
    """The same type in this machine's byte order, in which numbers are stored."""
    return dtype.newbyteorder("=") if wire != "bytes" else dtype
