"""ScalingConfig(label_selector=...): what Ray selects by the labels of its nodes, Slurm
does by the features of its own, which have no keys."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Mapping, Sequence, Union

if TYPE_CHECKING:
    from ._config import ScalingConfig

# The labels of all workers, or a dict for each worker.
Selector = Union[Mapping[str, str], Sequence[Mapping[str, str]]]

VARIABLE = "SALLOC_CONSTRAINT"
_FEATURE = re.compile(r"[A-Za-z0-9_.:-]+")
_SAID = "ScalingConfig: label_selector"


def _one_of(key: str, value: object) -> str:
    """The features that a value stands for: "a", or "(a|b)" for "in(a, b)"."""
    text = value.strip() if isinstance(value, str) else ""
    if text.startswith("!"):
        raise ValueError(f"{_SAID}[{key!r}] is {value!r}: Slurm selects nodes by "
                         "features that they have, not by those that they do not have; "
                         "name the features of the nodes that you want")
    choice = re.fullmatch(r"in\((.*)\)", text)
    names = [name.strip() for name in choice.group(1).split(",")] if choice else [text]
    if not all(_FEATURE.fullmatch(name) for name in names):
        raise ValueError(f"{_SAID}[{key!r}] is {value!r}: it is the name of a feature "
                         "of Slurm's nodes, or in(A, B) for nodes with one of several; "
                         "sinfo -o %f lists them")
    return names[0] if len(names) == 1 else "({})".format("|".join(names))


def expression(selector: Selector | None) -> str:
    """As the option --constraint of Slurm has it.

    Args:
        selector: {key: feature}, or a list of such dicts, which are equal. The keys are
            the user's own words.

    Returns:
        The expression; "" if nothing is selected.

    Raises:
        ValueError: Slurm cannot select nodes so.
    """
    if not selector:
        return ""
    if not isinstance(selector, Mapping):
        labels = list(selector)
        if (any(each != labels[0] for each in labels)
                or not isinstance(labels[0], Mapping)):
            raise ValueError(f"{_SAID} is a dict, or a list of equal ones: the workers "
                             "of a run have nodes of one kind; for groups of nodes, "
                             "start the run in a job of sbatch "
                             "--constraint='[A*2&B*1]'")
        selector = labels[0]
    return "&".join(_one_of(key, value) for key, value in selector.items())


def environment(scaling: ScalingConfig, takes_allocation: bool) -> dict[str, str]:
    """What raytrain-run, or raytrain-predict, needs so that it takes such nodes.

    Args:
        scaling: Has the selector.
        takes_allocation: Was it said that it runs under Slurm?

    Returns:
        Variables of its environment.

    Raises:
        ValueError: It does not take an allocation, or the user has a constraint.
    """
    wanted = expression(scaling.label_selector)
    if not wanted:
        return {}
    if os.environ.get("SLURM_JOB_ID"):
        raise ValueError(f"{_SAID}: the nodes of this job are those that it has; ask "
                         f"for them by sbatch or salloc --constraint='{wanted}', and "
                         "leave label_selector out")
    if not takes_allocation:
        raise ValueError(f"{_SAID} chooses nodes of Slurm, and this run is one on this "
                         "machine: set RunConfig(launcher='slurm'), or leave it out")
    if os.environ.get(VARIABLE, wanted) != wanted:
        raise ValueError(f"{_SAID}: {VARIABLE} is set to {os.environ[VARIABLE]!r}; put "
                         f"'{wanted}' into it, and leave label_selector out")
    return {VARIABLE: wanted}
