#!/usr/bin/python3
"""Write expected.h: a small table, and what scikit-learn's preprocessors make of it.

    t/preprocess/make-expected.py | clang-format >t/preprocess/expected.h
"""
import numpy as np
from sklearn import __version__
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (MaxAbsScaler, MinMaxScaler, Normalizer, OneHotEncoder,
                                   OrdinalEncoder, PowerTransformer, RobustScaler,
                                   StandardScaler)

ROWS, WIDTH = 101, 3


def show(name, values):
    values = np.asarray(values, dtype=np.float64).ravel()
    text = ", ".join("NAN" if np.isnan(v) else repr(float(v)) for v in values)
    lines, line = [], ""
    for word in text.split(" "):
        if len(line) + len(word) > 84:
            lines.append(line.rstrip())
            line = ""
        line += word + " "
    lines.append(line.rstrip())
    print(f"static const double {name}[] = {{")
    print("\n".join("    " + line for line in lines))
    print("};\n")


def bins(x, edges):
    """pandas.cut(x, edges, labels=False)"""
    at = np.searchsorted(edges, x, side="left").astype(float)
    at[np.isnan(x) | (at == 0) | (at == len(edges))] = np.nan
    return at - 1


def uniform_edges(x, n):
    """The edges that pandas.cut(x, n) takes."""
    edges = np.linspace(np.nanmin(x), np.nanmax(x), n + 1)
    edges[0] -= (np.nanmax(x) - np.nanmin(x)) * 0.001
    return edges


rng = np.random.default_rng(12)
a = np.round(rng.normal(3, 2, ROWS), 3)
a[[4, 17, 60]] = np.nan
b = np.exp(rng.normal(0, 1.5, ROWS))
c = rng.integers(-3, 4, ROWS)
v = rng.normal(size=(ROWS, WIDTH)) * [1, 100, 1e-3] + [0, 1e4, 0]
v[7] = 0
words = ["pear", "apple", "fig", "lime", "Zucchini"]
w = rng.choice(5, ROWS, p=[0.4, 0.1, 0.2, 0.25, 0.05])
names = np.array([words[i] for i in w]).reshape(-1, 1)

print(f"/* Written by make-expected.py with scikit-learn {__version__}. */\n"
      "#ifndef RAYTRAIN_TEST_EXPECTED_H\n#define RAYTRAIN_TEST_EXPECTED_H\n\n"
      f"#include <math.h>\n\n#define ROWS  {ROWS}\n#define WIDTH {WIDTH}\n")
print("static const char *const all_words[] = {%s};\n"
      % ", ".join(f'"{word}"' for word in words))
column = a.reshape(-1, 1)
show("a_values", a)
show("b_values", b)
show("c_values", c)
show("v_values", v)
show("w_values", w)
show("standard_a", StandardScaler().fit_transform(column))
show("standard_v", StandardScaler().fit_transform(v))
show("min_max_a", MinMaxScaler().fit_transform(column))
show("max_abs_v", MaxAbsScaler().fit_transform(v))
show("robust_a", RobustScaler().fit_transform(column))
show("robust_v", RobustScaler(quantile_range=(10.0, 97.0)).fit_transform(v))
for norm in "l1", "l2", "max":
    show(f"normalizer_{norm}_v", Normalizer(norm=norm).fit_transform(v))
for method, x in ("yeo-johnson", column), ("box-cox", b.reshape(-1, 1)):
    transformer = PowerTransformer(method=method, standardize=False).fit(x)
    name = method.replace("-", "_")
    show(f"{name}_power", transformer.lambdas_)
    transformer.lambdas_[:] = 0.25
    show(f"{name}_given", transformer.transform(x))
show("imputer_mean_a", SimpleImputer().fit_transform(column))
show("imputer_frequent_a", SimpleImputer(strategy="most_frequent").fit_transform(column))
show("uniform_bins_a", bins(a, uniform_edges(a, 7)))
show("custom_bins_a", bins(a, [0, 1.5, 2, 5]))
show("ordinal_w", OrdinalEncoder().fit_transform(names))
show("ordinal_c", OrdinalEncoder().fit_transform(c.reshape(-1, 1)))
show("one_hot_w", OneHotEncoder(sparse_output=False).fit_transform(names))
print("#endif")
