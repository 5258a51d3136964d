"""A stand-in for LightGBM's Python module, for tests: what a training function of raytrain.lightgbm
uses of it, over LightGBM's own library (RAYTRAIN_LIGHTGBM_LIBRARY). Written after LightGBM 4.1,
include/LightGBM/c_api.h and python-package/lightgbm/{basic,engine,callback}.py: how parameters,
the network and callbacks are handled.
"""

import collections
import ctypes
import os

import numpy

_lib = ctypes.CDLL(os.environ["RAYTRAIN_LIGHTGBM_LIBRARY"])
_lib.LGBM_GetLastError.restype = ctypes.c_char_p
_FLOAT32, _FLOAT64 = 0, 1

CallbackEnv = collections.namedtuple("CallbackEnv", [
    "model", "params", "iteration", "begin_iteration", "end_iteration",
    "evaluation_result_list"])


def _call(name, *args):
    if getattr(_lib, name)(*args) != 0:
        raise RuntimeError(_lib.LGBM_GetLastError().decode())


def _text(params):
    return " ".join(f"{k}={','.join(v) if isinstance(v, list) else v}"
                    for k, v in params.items()).encode()


class Dataset:
    """Its rows are kept until train() has the parameters."""

    def __init__(self, data, label=None):
        self.data = numpy.ascontiguousarray(data, "float64")
        self.label = numpy.ascontiguousarray(label, "float32")
        self.handle = None

    def construct(self, params, reference=None):
        self.handle = ctypes.c_void_p()
        _call("LGBM_DatasetCreateFromMat", self.data.ctypes.data_as(ctypes.c_void_p),
              _FLOAT64, *self.data.shape, 1, _text(params), reference,
              ctypes.byref(self.handle))
        _call("LGBM_DatasetSetField", self.handle, b"label",
              self.label.ctypes.data_as(ctypes.c_void_p), len(self.label), _FLOAT32)
        return self


class Booster:
    def __init__(self, params=None, train_set=None, model_file=None):
        self.handle, self._valid = ctypes.c_void_p(), []
        if model_file is not None:
            rounds = ctypes.c_int()
            _call("LGBM_BoosterCreateFromModelfile", os.fsencode(model_file),
                  ctypes.byref(rounds), ctypes.byref(self.handle))
            return
        if "machines" in params:  # basic.py, Booster.__init__ and set_network()
            _call("LGBM_NetworkInit", params["machines"].encode(),
                  params["local_listen_port"], params.get("time_out", 120),
                  params["num_machines"])
        train_set.construct(params)
        _call("LGBM_BoosterCreate", train_set.handle, _text(params),
              ctypes.byref(self.handle))

    def num_trees(self):
        n = ctypes.c_int()
        _call("LGBM_BoosterNumberOfTotalModel", self.handle, ctypes.byref(n))
        return n.value

    def save_model(self, filename):
        _call("LGBM_BoosterSaveModel", self.handle, 0, -1, 0, os.fsencode(filename))

    def _metrics(self):
        """The names of the metrics, after basic.py, __get_eval_info()."""
        n, size, out = ctypes.c_int(), ctypes.c_size_t(), ctypes.c_int()
        _call("LGBM_BoosterGetEvalCounts", self.handle, ctypes.byref(n))
        texts = [ctypes.create_string_buffer(256) for _ in range(n.value)]
        pointers = (ctypes.c_char_p * n.value)(*map(ctypes.addressof, texts))
        _call("LGBM_BoosterGetEvalNames", self.handle, n.value, ctypes.byref(out),
              ctypes.c_size_t(256), ctypes.byref(size), pointers)
        return [text.value.decode() for text in texts]

    def _eval(self, at):
        values, n = (ctypes.c_double * 64)(), ctypes.c_int()
        _call("LGBM_BoosterGetEval", self.handle, at, ctypes.byref(n), values)
        return list(values[:n.value])


def train(params, train_set, num_boost_round=100, valid_sets=None, valid_names=None,
          callbacks=None):
    """engine.py: each round's results go to the callbacks in their order."""
    booster = Booster(params, train_set)
    places = []
    for at, valid in enumerate(valid_sets or []):
        name = (valid_names or {})[at] if valid_names else f"valid_{at}"
        if valid is train_set:
            places.append((name, 0))
            continue
        valid.construct(params, train_set.handle)
        _call("LGBM_BoosterAddValidData", booster.handle, valid.handle)
        booster._valid.append(valid)
        places.append((name, len(booster._valid)))
    names = booster._metrics()
    for at, callback in enumerate(callbacks or []):
        callback.__dict__.setdefault("order", at)
    for i in range(num_boost_round):
        ended = ctypes.c_int()
        _call("LGBM_BoosterUpdateOneIter", booster.handle, ctypes.byref(ended))
        results = [(data, metric, value, False) for data, at in places
                   for metric, value in zip(names, booster._eval(at))]
        for callback in sorted(callbacks or [], key=lambda c: c.order):
            callback(CallbackEnv(booster, params, i, 0, num_boost_round, results))
    if "machines" in params:
        _call("LGBM_NetworkFree")
    return booster
