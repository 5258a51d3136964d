"""Expressions on columns, such as "age > 40 and city in ['Bonn', 'Ulm']", for
Dataset.filter(expr=). A part of Python's grammar, evaluated on arrays: nothing else of
Python can be reached by one."""

from __future__ import annotations

import ast
import functools
import operator
from typing import Any, Callable

_COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
}
_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
}


@functools.lru_cache(maxsize=64)
def parse(text: str) -> ast.expr:
    """The expression.

    Raises:
        ValueError: It is not one, or has what an expression cannot have.
    """
    if not isinstance(text, str):
        raise TypeError(f"expr is a text, such as \"x > 0\", not {type(text).__name__}")
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"expr={text!r}: {error.msg}") from None
    _check(tree, text)
    return tree


def _check(node: ast.AST, text: str) -> None:
    known = (ast.Compare, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Name, ast.Constant,
             ast.List, ast.Tuple, ast.boolop, ast.operator, ast.unaryop, ast.cmpop,
             ast.expr_context)
    if not isinstance(node, known):
        raise ValueError(
            f"expr={text!r}: {type(node).__name__} is not possible. An expression has "
            "names of columns, numbers, texts, lists, + - * / // %, < <= == != > >=, "
            "in, and, or, not; a function does more: filter(lambda row: ...)")
    for child in ast.iter_child_nodes(node):
        _check(child, text)


def bound(node: ast.expr) -> dict[str, Any] | None:
    """{"column", "min" or "max"} of an expression that is such a bound, which the
    reader of files applies by itself."""
    if not (isinstance(node, ast.Compare) and len(node.ops) == 1
            and isinstance(node.left, ast.Name)
            and isinstance(node.ops[0], (ast.GtE, ast.LtE))):
        return None
    right = node.comparators[0]
    sign = 1
    if isinstance(right, ast.UnaryOp) and isinstance(right.op, ast.USub):
        sign, right = -1, right.operand
    number = right.value if isinstance(right, ast.Constant) else None
    if not isinstance(number, (int, float)) or isinstance(number, bool):
        return None
    which = "min" if isinstance(node.ops[0], ast.GtE) else "max"
    return {"column": node.left.id, which: sign * number}


def value(node: ast.expr, batch: dict[str, Any]) -> Any:
    """Which rows of a batch it is true for, an array of bool."""
    import numpy

    n = next((len(array) for array in batch.values()), 0)
    return numpy.broadcast_to(numpy.asarray(_value(node, batch), dtype="?"), n)


def _value(node: Any, batch: dict[str, Any]) -> Any:
    import numpy

    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in batch:
            raise KeyError(f"filter: there is no column {node.id!r}; the columns are "
                           f"{list(batch)}")
        return batch[node.id]
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(item, batch) for item in node.elts]
    if isinstance(node, ast.BoolOp):
        is_and = isinstance(node.op, ast.And)
        join: Any = numpy.logical_and if is_and else numpy.logical_or
        return functools.reduce(join, [_value(v, batch) for v in node.values])
    if isinstance(node, ast.UnaryOp):
        operand = _value(node.operand, batch)
        if isinstance(node.op, (ast.Not, ast.Invert)):
            return numpy.logical_not(operand)
        return -operand if isinstance(node.op, ast.USub) else operand
    if isinstance(node, ast.BinOp):
        return _binary(node, batch)
    return _comparison(node, batch)


def _binary(node: ast.BinOp, batch: dict[str, Any]) -> Any:
    if type(node.op) not in _BINARY:
        raise ValueError(f"filter: {type(node.op).__name__} is not possible")
    return _BINARY[type(node.op)](_value(node.left, batch), _value(node.right, batch))


def _comparison(node: ast.Compare, batch: dict[str, Any]) -> Any:
    import numpy

    result: Any = True
    left = _value(node.left, batch)
    for kind, item in zip(node.ops, node.comparators):
        right = _value(item, batch)
        if isinstance(kind, (ast.In, ast.NotIn)):
            found = functools.reduce(numpy.logical_or, [left == v for v in right],
                                     False)
            one = numpy.logical_not(found) if isinstance(kind, ast.NotIn) else found
        elif type(kind) in _COMPARISONS:
            one = _compared(_COMPARISONS[type(kind)], left, right)
        else:
            raise ValueError(f"filter: {type(kind).__name__} is not possible")
        result = numpy.logical_and(result, one)
        left = right
    return result


def _compared(compare: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """A text that is missing, None, is neither less nor greater."""
    import numpy

    try:
        return compare(left, right)
    except TypeError:
        pairs = numpy.broadcast(left, right)
        return numpy.fromiter((a is not None and b is not None and compare(a, b)
                               for a, b in pairs), "?", pairs.size)
