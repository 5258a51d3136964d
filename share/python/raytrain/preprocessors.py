"""Preprocessors: they are fitted to the training set, and change the columns of
datasets before training. Names, arguments and meaning as in
``ray.data.preprocessors``. All are computed in C, except the function of a
BatchMapper.

    trainer = TorchTrainer(train, datasets={"train": read_csv("train.csv")},
                           preprocessor=Chain(SimpleImputer(["age"]),
                                              StandardScaler(["age", "height"])))

In a run the workers fit them together, the batches of all datasets are transformed, and
each checkpoint has the fitted ones (Checkpoint.get_preprocessor()). Without a run:

    scaler = StandardScaler(["age"])
    scaled = scaler.fit_transform(read_csv("train.csv"))     # a Dataset, transformed as
    for batch in scaled.iter_batches(): ...                  # its rows are read
    scaler.transform_batch({"age": ages})                    # arrays
    scaler.stats_                                            # {"mean(age)": 35.2, ...}
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from . import _config, _frame, _mapping, _session, _warnings
from ._helper import helper
from .errors import InvalidArgument

if TYPE_CHECKING:
    from .data import Dataset

__all__ = ["Preprocessor", "PreprocessorNotFittedError", "BatchMapper", "Categorizer",
           "Chain", "Concatenator", "CountVectorizer", "CustomKBinsDiscretizer",
           "FeatureHasher", "HashingVectorizer", "LabelEncoder", "MaxAbsScaler",
           "MinMaxScaler", "MultiHotEncoder", "Normalizer", "OneHotEncoder",
           "OrdinalEncoder", "PowerTransformer", "RobustScaler", "SimpleImputer",
           "StandardScaler", "Tokenizer", "UniformKBinsDiscretizer"]


class PreprocessorNotFittedError(InvalidArgument, RuntimeError):
    """A preprocessor that must learn from data was used before fit()."""


class Preprocessor:
    """The base class of all preprocessors.

    Args:
        settings: The keys of the preprocessor in raytrain.cfg.

    Raises:
        ValueError: output_columns and columns have different numbers of names.
    """

    _kind = ""
    _learns = True  # fit() is needed

    def __init__(self, **settings: Any) -> None:
        self._settings: dict[str, Any] = {
            k: v for k, v in settings.items() if v is not None}
        outputs, columns = settings.get("output_columns"), settings.get("columns")
        if outputs is not None and columns is not None and len(outputs) != len(columns):
            raise ValueError(f"output_columns has {len(outputs)} names, and columns "
                             f"{len(columns)}")
        # The result of fitting, as raytrain-worker packs it.
        self._state: bytes | None = None
        self._shared: bytes | None = None  # the state of the chain that it is part of

    # ---- Learning ----

    def fit(self, ds: Dataset) -> Preprocessor:
        """Learn from all rows of a Dataset.

        Args:
            ds: A Dataset of raytrain.data.

        Returns:
            This preprocessor.

        Raises:
            ValueError: The Dataset has functions of the script.
        """
        _dataset("fit", ds)
        if not ds._is_of_files():
            raise ValueError("fit() after map_batches(): fit the preprocessor first")
        if ds._state is not None:
            _mapping.check(helper(), ds._state)
        keys = {"datasets": {"data": ds._keys()}, "preprocessor": self._items()}
        reply, state, _ = helper().call(
            "preprocess_fit", {"config": _config.render(keys)}, ds._state or b"")
        self._fitted(state)
        _warnings.show(ds.path, reply)
        return self

    def fit_transform(self, ds: Dataset) -> Dataset:
        """fit(), then transform().

        Args:
            ds: See fit().

        Returns:
            See transform().
        """
        return self.fit(ds).transform(ds)

    def fit_status(self) -> str:
        """"FITTED", "NOT_FITTED" or, if there is nothing to learn, "NOT_FITTABLE"."""
        if not self._learns:
            return "NOT_FITTABLE"
        return "NOT_FITTED" if self._state is None else "FITTED"

    @property
    def stats_(self) -> dict[str, Any]:
        """The fitted values: {"mean(age)": number, array or list of words}."""
        return {f"{item['name']}({item['column']})": _value(item)
                for item in self._learned() if item["index"] == self._index}

    _index = 0  # in the state, which is that of a whole chain

    def _learned(self) -> list[Any]:
        state = self._shared or self._needed()
        items: list[Any] = helper().call("preprocess_state", {}, state)[0]["items"]
        return items

    def _fitted(self, state: bytes) -> None:
        self._state = state

    def _needed(self) -> bytes:
        """The state; that of what has nothing to learn is made now."""
        if self._state is None and self._learns:
            raise PreprocessorNotFittedError(
                f"{type(self).__name__} has not learned anything yet: call "
                "fit(dataset) or fit_transform(dataset) first")
        if self._state is None:
            keys = {"preprocessor": self._items()}
            self._fitted(helper().call("preprocess_fit",
                                        {"config": _config.render(keys)})[1])
        assert self._state is not None
        return self._state

    # ---- Transforming ----

    def transform(self, ds: Dataset) -> Dataset:
        """A Dataset whose rows are transformed when they are read.

        Args:
            ds: A Dataset of raytrain.data.

        Returns:
            The Dataset.
        """
        return _dataset("transform", ds)._transformed(self._needed())

    def transform_batch(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Rows, transformed. Needs NumPy.

        Args:
            batch: {column: array}.

        Returns:
            The same of what becomes of them.
        """
        return self._rows(batch, False)

    def inverse_transform_batch(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The way back, from the last preprocessor to the first, of those that have
        one: numbers of a LabelEncoder become labels again. Needs NumPy.

        Args:
            batch: {column: array}.

        Returns:
            The same of what they were.
        """
        return self._rows(batch, True)

    def _rows(self, batch: dict[str, Any], inverse: bool) -> dict[str, Any]:
        return _mapping.transform(helper(), self._needed(), batch,
                                  {"inverse": inverse})[0]

    # ---- Configuration ----

    def _leaves(self) -> list[Any]:
        """The preprocessors of a chain, one for each of _items()."""
        return [self]

    def _items(self) -> list[Any]:
        """As the key `preprocessor` of raytrain.cfg."""
        return [{self._kind: self._settings}]

    def __repr__(self) -> str:
        settings = ", ".join(f"{k}={v!r}" for k, v in self._settings.items())
        return f"{type(self).__name__}({settings})"


def _value(item: dict[str, Any]) -> Any:
    if item["type"] == "words" or not item["shape"]:
        return item["values"] if item["shape"] else item["values"][0]
    numpy = _frame.numpy_or_none()
    if numpy is None:
        return item["values"]
    return numpy.array([float(v) for v in item["values"]] if item["type"] == "reals"
                       else item["values"]).reshape(item["shape"])


def _list(columns: Any) -> Any:
    """A column, or several."""
    if columns is None:
        return None
    return [columns] if isinstance(columns, str) else list(columns)


def _dataset(method: str, ds: Any) -> Any:
    if not hasattr(ds, "_transformed"):
        raise TypeError(f"{method}() takes a Dataset of raytrain.data, not "
                        f"{type(ds).__name__}; from_numpy() and from_pandas() make one")
    return ds


def _one_of(name: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    if value not in allowed:
        raise ValueError(f"{name}={value!r}: it is one of "
                         f"{', '.join(map(repr, allowed))}")
    return value


def _dtype(dtype: Any, allowed: tuple[Any, ...]) -> str | None:
    """The name of a type, also of numpy.float32 and others of NumPy."""
    if dtype is None:
        return None
    name = dtype if isinstance(dtype, str) else getattr(
        dtype, "name", getattr(dtype, "__name__", str(dtype)))
    return _one_of("dtype", {"float": "float64", "int": "int64"}.get(name, name),
                   allowed)


_CODES = ("float64", "float32", "int64", "int32")


def _no_function(function: Any) -> None:
    if function is not None:
        raise ValueError("tokenization_fn: texts are split at blanks, in C; split them "
                         "differently in a BatchMapper")


# ---- Numbers ----

class StandardScaler(Preprocessor):
    """Subtracts the mean, and divides by the standard deviation.

    Args:
        columns: The columns of numbers.
        ddof: The divisor of the variance is the number of values less this.
        output_columns: The columns that get the results; None: the same.
    """

    _kind = "standard_scaler"

    def __init__(self, columns: Sequence[str], ddof: int = 0,
                 output_columns: Sequence[str] | None = None) -> None:
        super().__init__(columns=_list(columns), ddof=ddof or None,
                         output_columns=_list(output_columns))


class MinMaxScaler(Preprocessor):
    """To 0 for the minimum and 1 for the maximum.

    Args:
        columns: The columns of numbers.
        output_columns: The columns that get the results; None: the same.
    """

    _kind = "min_max_scaler"

    def __init__(self, columns: Sequence[str],
                 output_columns: Sequence[str] | None = None) -> None:
        super().__init__(columns=_list(columns), output_columns=_list(output_columns))


class MaxAbsScaler(Preprocessor):
    """Divides by the largest absolute value.

    Args:
        columns: The columns of numbers.
        output_columns: The columns that get the results; None: the same.
    """

    _kind = "max_abs_scaler"

    def __init__(self, columns: Sequence[str],
                 output_columns: Sequence[str] | None = None) -> None:
        super().__init__(columns=_list(columns), output_columns=_list(output_columns))


class RobustScaler(Preprocessor):
    """Subtracts the median, and divides by the distance of two quantiles. These are
    exact.

    Args:
        columns: The columns of numbers.
        quantile_range: The two quantiles, between 0 and 1.
        output_columns: The columns that get the results; None: the same.
        quantile_precision: Without effect.
    """

    _kind = "robust_scaler"

    def __init__(self, columns: Sequence[str],
                 quantile_range: tuple[Any, ...] = (0.25, 0.75),
                 output_columns: Sequence[str] | None = None,
                 quantile_precision: int = 800) -> None:
        super().__init__(columns=_list(columns),
                         quantile_range=[float(q) for q in quantile_range],
                         output_columns=_list(output_columns))


class Normalizer(Preprocessor):
    """Divides each row by its norm.

    Args:
        columns: The columns of numbers, which are a row together.
        norm: "l1", "l2" or "max".
        output_columns: The columns that get the results; None: the same.
    """

    _kind = "normalizer"
    _learns = False

    def __init__(self, columns: Sequence[str], norm: str = "l2", *,
                 output_columns: Sequence[str] | None = None) -> None:
        super().__init__(columns=_list(columns),
                         norm=_one_of("norm", norm, ("l1", "l2", "max")),
                         output_columns=_list(output_columns))


class PowerTransformer(Preprocessor):
    """Makes the numbers of a column more like a normal distribution.

    Args:
        columns: The columns of numbers.
        power: The power; None: it is learned.
        method: "yeo-johnson" or "box-cox".
        output_columns: The columns that get the results; None: the same.
    """

    _kind = "power_transformer"

    def __init__(self, columns: Sequence[str], power: float | None = None,
                 method: str = "yeo-johnson", *,
                 output_columns: Sequence[str] | None = None) -> None:
        super().__init__(columns=_list(columns),
                         power=float(power) if power is not None else None,
                         method=_one_of("method", method, ("yeo-johnson", "box-cox")),
                         output_columns=_list(output_columns))
        self._learns = power is None


class SimpleImputer(Preprocessor):
    """Missing values become other ones. Rows without the column get them, too.

    Args:
        columns: The columns.
        strategy: "mean", "most_frequent", or "constant".
        fill_value: The constant.
        output_columns: The columns that get the results; None: the same.

    Raises:
        ValueError: There is no such strategy, or no constant.
    """

    _kind = "simple_imputer"

    def __init__(self, columns: Sequence[str], strategy: str = "mean",
                 fill_value: float | str | None = None, *,
                 output_columns: Sequence[str] | None = None) -> None:
        _one_of("strategy", strategy, ("mean", "most_frequent", "constant"))
        if strategy == "constant" and fill_value is None:
            raise ValueError("strategy='constant' needs a fill_value")
        super().__init__(columns=_list(columns), strategy=strategy,
                         fill_value=fill_value, output_columns=_list(output_columns))
        self._learns = strategy != "constant"


class _Bins(Preprocessor):
    def __init__(self, columns: Sequence[str], bins: Any, *, right: bool = True,
                 include_lowest: bool = False, duplicates: str = "raise",
                 dtypes: Any = None,
                 output_columns: Sequence[str] | None = None) -> None:
        _one_of("duplicates", duplicates, ("raise", "drop"))
        missing = set(_list(columns)) - set(bins) if isinstance(bins, dict) else ()
        if missing:
            raise ValueError(f"bins has nothing for {', '.join(sorted(missing))}")
        super().__init__(columns=_list(columns), bins=_plain(bins), right=right,
                         include_lowest=include_lowest, duplicates=duplicates,
                         dtype=_bins_dtype(_list(columns), dtypes),
                         output_columns=_list(output_columns))


def _bins_dtype(columns: Sequence[str], dtypes: Any) -> str | None:
    """Of {column: type}, the type of all of them."""
    if not isinstance(dtypes, dict):
        return _dtype(dtypes, _CODES)
    found = {_dtype(dtypes.get(column), _CODES) for column in columns}
    if len(found) > 1:
        raise ValueError(f"dtypes={dtypes!r}: all columns of a discretizer have one "
                         "type; make one for each")
    return found.pop()


def _plain(bins: Any) -> Any:
    if isinstance(bins, dict):
        return {column: _plain(value) for column, value in bins.items()}
    return bins if isinstance(bins, (int, float)) else [float(edge) for edge in bins]


class UniformKBinsDiscretizer(_Bins):
    """The number of the bin of equal width that a value is in, as float64 unless dtypes
    has another type: NaN if it is in none. bins: their number, or {column: number}."""

    _kind = "uniform_kbins_discretizer"


class CustomKBinsDiscretizer(_Bins):
    """The number of the bin that a value is in, as float64 unless dtypes has another
    type: NaN if it is in none. bins: the edges, or {column: edges}."""

    _kind = "custom_kbins_discretizer"
    _learns = False


class Concatenator(Preprocessor):
    """Several columns of numbers, and of vectors, become one of vectors.

    Args:
        columns: The columns; None: all but those in `exclude`.
        output_column_name: The column of the vectors.
        dtype: "float32" or "float64".
        raise_if_missing: A column that is not there is an error.
        flatten: Without effect: the result is always flat.
        exclude: The columns that stay.
    """

    _kind = "concatenator"
    _learns = False

    def __init__(self, columns: Sequence[str] | None = None,
                 output_column_name: str = "concat_out", dtype: object = None,
                 raise_if_missing: bool = False, flatten: bool = True, *,
                 exclude: Sequence[str] | None = None) -> None:
        super().__init__(columns=_list(columns), output_column_name=output_column_name,
                         dtype=_dtype(dtype, ("float32", "float64")),
                         raise_if_missing=raise_if_missing or None,
                         exclude=_list(exclude))


# ---- Categories ----

class Categorizer(Preprocessor):
    """Values become categories, in sorted order.

    Args:
        columns: The columns.
        dtypes: Only None: the categories are those of the training set.
        output_columns: The columns that get the results; None: the same.

    Raises:
        ValueError: dtypes are given.
    """

    _kind = "categorizer"

    def __init__(self, columns: Sequence[str], dtypes: dict[str, Any] | None = None,
                 output_columns: Sequence[str] | None = None) -> None:
        if dtypes:
            raise ValueError("dtypes: the categories are those of the training set")
        super().__init__(columns=_list(columns), output_columns=_list(output_columns))


class OrdinalEncoder(Preprocessor):
    """The number of each value in the sorted list of values. Missing values are an
    error: put a SimpleImputer before.

    Args:
        columns: The columns.
        encode_lists: Only True.
        dtype: "float64", the default, or "float32": NaN for a value that the training
            set lacks; "int64" or "int32": then that is -1.
        output_columns: The columns that get the results; None: the same.

    Raises:
        ValueError: encode_lists is False, or there is no such dtype.
    """

    _kind = "ordinal_encoder"

    def __init__(self, columns: Sequence[str], *, encode_lists: bool = True,
                 dtype: object = None,
                 output_columns: Sequence[str] | None = None) -> None:
        if not encode_lists:
            raise ValueError("encode_lists=False: a list is not a category")
        super().__init__(columns=_list(columns), dtype=_dtype(dtype, _CODES),
                         output_columns=_list(output_columns))


class OneHotEncoder(Preprocessor):
    """A vector with a 1 at the place of the value; zeros alone for a value that the
    training set lacks. Missing values are an error: put a SimpleImputer before.

    Args:
        columns: The columns.
        max_categories: Only the most frequent ones, a number or {column: number}.
        output_columns: The columns that get the results; None: the same.
    """

    _kind = "one_hot_encoder"

    def __init__(self, columns: Sequence[str], *, max_categories: object = None,
                 output_columns: Sequence[str] | None = None) -> None:
        super().__init__(columns=_list(columns), max_categories=max_categories,
                         output_columns=_list(output_columns))


class MultiHotEncoder(Preprocessor):
    """The same for lists of words, as Tokenizer makes them: a 1 for each word in the
    list.

    Args:
        columns: The columns.
        max_categories: See OneHotEncoder.
        output_columns: The columns that get the results; None: the same.
    """

    _kind = "multi_hot_encoder"

    def __init__(self, columns: Sequence[str], *, max_categories: object = None,
                 output_columns: Sequence[str] | None = None) -> None:
        super().__init__(columns=_list(columns), max_categories=max_categories,
                         output_columns=_list(output_columns))


class LabelEncoder(Preprocessor):
    """OrdinalEncoder of the column of labels; a dataset without it is left as it is.

    Args:
        label_column: The column.
        output_column: The column that gets the result; None: the same.
        dtype: "float64", the default, "float32", "int64", as torch's losses of classes
            need, or "int32".
    """

    _kind = "label_encoder"

    def __init__(self, label_column: str, *, output_column: str | None = None,
                 dtype: object = None) -> None:
        super().__init__(label_column=label_column, output_column=output_column,
                         dtype=_dtype(dtype, _CODES))

    def inverse_transform(self, ds: Dataset) -> Any:
        """A Dataset whose numbers become labels again when it is read.

        Args:
            ds: A Dataset with the numbers.

        Returns:
            The Dataset.
        """
        self._needed()
        return _dataset("inverse_transform", ds).map_batches(
            self.inverse_transform_batch, udf_modifying_row_count=False)


# ---- Texts ----

class Tokenizer(Preprocessor):
    """Texts become lists of words, split at blanks.

    Args:
        columns: The columns of texts.
        tokenization_fn: Only None.
        output_columns: The columns that get the results; None: the same.
    """

    _kind = "tokenizer"

    def __init__(self, columns: Sequence[str], tokenization_fn: object = None, *,
                 output_columns: Sequence[str] | None = None) -> None:
        _no_function(tokenization_fn)
        super().__init__(columns=_list(columns), output_columns=_list(output_columns))


class CountVectorizer(Preprocessor):
    """How often each word of the training set is in a text.

    Args:
        columns: The columns of texts.
        tokenization_fn: Only None.
        max_features: Only the most frequent words.
        output_columns: The columns that get the results; None: the same.
    """

    _kind = "count_vectorizer"

    def __init__(self, columns: Sequence[str], tokenization_fn: object = None,
                 max_features: int | None = None, *,
                 output_columns: Sequence[str] | None = None) -> None:
        _no_function(tokenization_fn)
        super().__init__(columns=_list(columns), max_features=max_features,
                         output_columns=_list(output_columns))


class HashingVectorizer(Preprocessor):
    """The same by hashes of the words.

    Args:
        columns: The columns of texts.
        num_features: The length of the vectors.
        tokenization_fn: Only None.
        output_columns: The columns that get the results; None: the same.
    """

    _kind = "hashing_vectorizer"
    _learns = False

    def __init__(self, columns: Sequence[str], num_features: int,
                 tokenization_fn: object = None, *,
                 output_columns: Sequence[str] | None = None) -> None:
        _no_function(tokenization_fn)
        super().__init__(columns=_list(columns), num_features=num_features,
                         output_columns=_list(output_columns))


class FeatureHasher(Preprocessor):
    """Columns of counts become one vector, by hashes of their names.

    Args:
        columns: The columns of numbers.
        num_features: The length of the vectors.
        output_column: The column that gets them.
    """

    _kind = "feature_hasher"
    _learns = False

    def __init__(self, columns: Sequence[str], num_features: int,
                 output_column: str | None = None) -> None:
        super().__init__(columns=_list(columns), num_features=num_features,
                         output_column_name=output_column)


# ---- Several, and functions ----

class Chain(Preprocessor):
    """Preprocessors one after the other: each learns from what those before it make.
    After a BatchMapper, only those that have nothing to learn.

    Args:
        preprocessors: They are, in their order.

    Raises:
        TypeError: Something else is among them.
    """

    def __init__(self, *preprocessors: Preprocessor) -> None:
        super().__init__()
        for p in preprocessors:
            if not isinstance(p, Preprocessor):
                raise TypeError(f"a Chain has preprocessors of raytrain, not {p!r}")
        self.preprocessors = preprocessors
        self._learns = any(p._learns for p in preprocessors)
        self._split()

    def _leaves(self) -> list[Any]:
        return [leaf for p in self.preprocessors for leaf in p._leaves()]

    def _split(self) -> None:
        """Divide the chain: the part before the first BatchMapper, and the rest, in
        which the preprocessors in C between two mappers are a chain."""
        leaves = self._leaves()
        mappers = [i for i, p in enumerate(leaves) if isinstance(p, BatchMapper)]
        self._rest: list[Any] = []
        self._head: Preprocessor | None = None
        if not mappers:
            return
        for p in leaves[mappers[0]:]:
            if p._learns:
                raise ValueError(
                    f"{type(p).__name__} comes after a BatchMapper in the Chain, and "
                    "would have to learn from what that makes, which C does not see: "
                    f"put {type(p).__name__} before the BatchMapper")
            if isinstance(p, BatchMapper) or isinstance(self._rest[-1], BatchMapper):
                self._rest.append(p)
            else:
                self._rest[-1] = Chain(self._rest[-1], p)
        self._head = Chain(*leaves[:mappers[0]]) if mappers[0] else None

    def _items(self) -> list[Any]:
        return [item for p in self.preprocessors for item in p._items()]

    def fit(self, ds: Dataset) -> Chain:
        """Learn from all rows of a Dataset.

        Args:
            ds: A Dataset of raytrain.data.

        Returns:
            This preprocessor.
        """
        if not self._rest:
            super().fit(ds)
        elif self._head is not None and self._head._learns:
            self._head.fit(ds)
        return self

    def fit_status(self) -> str:
        """"FITTED", "NOT_FITTED" or, if there is nothing to learn, "NOT_FITTABLE"."""
        if self._rest and self._head is not None:
            return self._head.fit_status()
        return super().fit_status()

    def transform(self, ds: Dataset) -> Dataset:
        """A Dataset whose rows are transformed when they are read.

        Args:
            ds: A Dataset of raytrain.data.

        Returns:
            The Dataset.
        """
        if not self._rest:
            return super().transform(ds)
        if self._head is not None:
            ds = self._head.transform(ds)
        for p in self._rest:
            ds = ds.map_batches(p.transform_batch, udf_modifying_row_count=False)
        return ds

    def _rows(self, batch: dict[str, Any], inverse: bool) -> dict[str, Any]:
        if not self._rest:
            return super()._rows(batch, inverse)
        parts = [p for p in (self._head, *self._rest) if p is not None]
        for p in reversed(parts) if inverse else parts:
            batch = p._rows(batch, inverse)
        return batch

    def _fitted(self, state: bytes) -> None:
        self._state = state
        self._place(state, 0)

    def _place(self, state: bytes, index: int) -> int:
        """The parts have learned, too."""
        for p in self.preprocessors:
            if isinstance(p, Chain):
                index = p._place(state, index)
                continue
            p._shared, p._index = state, index
            index += 1
        return index

    @property
    def stats_(self) -> dict[str, Any]:
        """The fitted values of all parts; of equal names, the later one."""
        if self._rest:
            return self._head.stats_ if self._head is not None else {}
        return {f"{item['name']}({item['column']})": _value(item)
                for item in self._learned()}

    def __repr__(self) -> str:
        return f"Chain({', '.join(map(repr, self.preprocessors))})"


class BatchMapper(Preprocessor):
    """Applies a function in Python to batches.

    In a run it is called in the process of the script, after the preprocessors before
    it in a Chain, which work in C. It is sent to the workers like the training
    function, and checkpoints have it, pickled; another program loads it only with
    get_preprocessor(allow_code=True). The result for a row should depend only on that
    row: on another number of workers, batches have other rows.

    Args:
        fn: Takes {column: array}, and returns such a dict with the same number of rows
            and all columns of the result.
        batch_format: "numpy", or "pandas" for a DataFrame in place of the dict.
        batch_size: The maximum number of rows that it gets at a time.

    Raises:
        TypeError: fn is not a function.
        ValueError: There is no such batch_format or batch_size.
    """

    _kind = "batch_mapper"
    _learns = False

    def __init__(self, fn: object, batch_format: str | None = "numpy",
                 batch_size: int | str | None = 4096) -> None:
        if not callable(fn):
            raise TypeError(f"fn is a function, not {type(fn).__name__}")
        if batch_format in ("default", None):
            batch_format = "numpy"
        if batch_format not in _mapping.FORMATS:
            raise ValueError(f"batch_format={batch_format!r}: batches are \"numpy\", "
                             "dicts of arrays, or \"pandas\"")
        if batch_format == "pandas":
            _mapping._pandas()
        if batch_size is not None:
            batch_size = 4096 if batch_size == "default" else \
                _config._integer("batch_size", batch_size, 1)
        super().__init__()
        self._mapper = _mapping.Mapper(fn, batch_size, batch_format)
        self._settings = self._mapper.settings()

    @property
    def fn(self) -> Any:
        """The function."""
        return self._mapper.fn

    def fit(self, ds: Dataset) -> BatchMapper:
        """There is nothing to learn.

        Args:
            ds: Is not read.

        Returns:
            This preprocessor.
        """
        return self

    def transform(self, ds: Dataset) -> Dataset:
        """A Dataset to whose batches the function is applied when they are read.

        Args:
            ds: A Dataset of raytrain.data.

        Returns:
            The Dataset.
        """
        return ds.map_batches(self._mapper, udf_modifying_row_count=False)

    def _rows(self, batch: dict[str, Any], inverse: bool) -> dict[str, Any]:
        return batch if inverse else self._mapper(batch)

    @property
    def stats_(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def __repr__(self) -> str:
        return f"BatchMapper({self._mapper.name})"


def _from_state(state: bytes, allow_code: bool) -> Preprocessor:
    """A chain that was stored."""
    return _Stored(state, allow_code)


class _Stored(Preprocessor):
    """Preprocessors that a run has fitted, from one of its checkpoints."""

    def __init__(self, state: bytes, allow_code: bool) -> None:
        super().__init__()
        self._state = state
        self._allow_code = allow_code
        self._pipeline: Any = None  # made at its first use

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pipeline": None}

    def _needed(self) -> bytes:
        assert self._state is not None
        if self._allow_code:
            _mapping.allow(_session.server(), self._state)
        return self._state

    def fit(self, ds: Any) -> Preprocessor:
        """Refused: it has learned already."""
        raise InvalidArgument("the preprocessors of a checkpoint have learned already")

    def _rows(self, batch: dict[str, Any], inverse: bool) -> dict[str, Any]:
        if inverse:
            return super()._rows(batch, inverse)
        if self._pipeline is None:
            self._pipeline = _mapping.rest(_session.server(), 0, self._needed())
        return self._pipeline(batch)

    def _items(self) -> list[Any]:
        raise TypeError("the preprocessors of a checkpoint are used again by "
                        "resume_from_checkpoint, without preprocessor=")

    @property
    def stats_(self) -> dict[str, Any]:
        """What was learned."""
        return {f"{item['name']}({item['column']})": _value(item)
                for item in self._learned()}

    def __repr__(self) -> str:
        return "<preprocessors of a checkpoint>"
