"""Ray's settings of the engine that reads rows there. Here the workers read them, so
that these settings are kept and have no effect; to set one is a warning."""

from __future__ import annotations

import warnings
from typing import Any

_READ_HERE = "every worker reads its rows itself"


class _Kept:
    """Settings that are kept, and have no effect: to change what the object was made
    with is a warning."""

    def __setattr__(self, name: str, value: Any) -> None:
        changed = name in vars(self) and vars(self)[name] != value
        vars(self)[name] = value
        if changed:
            warnings.warn(f"{type(self).__name__}.{name} has no effect in raytrain: "
                          f"{_READ_HERE}", UserWarning, stacklevel=2)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        pairs = ", ".join(f"{name}={value!r}"
                          for name, value in vars(self).items() if value is not None)
        return f"{type(self).__name__}({pairs})"


class ExecutionResources(_Kept):
    """An amount of resources.

    Args:
        cpu: Cores.
        gpu: GPUs.
        object_store_memory: Bytes in the object store of Ray.
        memory: Bytes.
    """

    def __init__(self, cpu: float | None = None, gpu: float | None = None,
                 object_store_memory: float | None = None,
                 memory: float | None = None) -> None:
        self.cpu = cpu
        self.gpu = gpu
        self.object_store_memory = object_store_memory
        self.memory = memory

    @classmethod
    def for_limits(cls, cpu: float | None = None, gpu: float | None = None,
                   object_store_memory: float | None = None,
                   memory: float | None = None) -> ExecutionResources:
        """The same as the class itself.

        Args:
            cpu: Cores.
            gpu: GPUs.
            object_store_memory: Bytes in the object store of Ray.
            memory: Bytes.

        Returns:
            That amount.
        """
        return cls(cpu, gpu, object_store_memory, memory)

    def copy(self, cpu: float | None = None, gpu: float | None = None,
             object_store_memory: float | None = None,
             memory: float | None = None) -> ExecutionResources:
        """Another amount.

        Args:
            cpu: Its cores; None: as here. So are the others.
            gpu: GPUs.
            object_store_memory: Bytes in the object store of Ray.
            memory: Bytes.

        Returns:
            That amount.
        """
        given = {"cpu": cpu, "gpu": gpu, "object_store_memory": object_store_memory,
                 "memory": memory}
        changed = {name: value for name, value in given.items() if value is not None}
        return ExecutionResources(**{**vars(self), **changed})


class ExecutionOptions(_Kept):
    """The settings of a pass over rows, none of which has an effect.

    Args:
        resource_limits: What Ray's tasks may use together.
        exclude_resources: What they leave to others.
        locality_with_output: Whether rows are made where they are used.
        preserve_order: Whether rows stay in their order, as they always do here.
        actor_locality_enabled: Whether actors get rows of their own node.
        verbose_progress: Whether each step has its own progress bar.
    """

    def __init__(self, resource_limits: ExecutionResources | None = None,
                 exclude_resources: ExecutionResources | None = None,
                 locality_with_output: bool | list[str] = False,
                 preserve_order: bool = False, actor_locality_enabled: bool = True,
                 verbose_progress: bool | None = None) -> None:
        self.resource_limits = resource_limits or ExecutionResources()
        self.exclude_resources = exclude_resources or ExecutionResources()
        self.locality_with_output = locality_with_output
        self.preserve_order = preserve_order
        self.actor_locality_enabled = actor_locality_enabled
        self.verbose_progress = verbose_progress


class TaskPoolStrategy(_Kept):
    """How many of Ray's tasks call a function, for compute= of map_batches(): without
    effect, since the workers that train call it.

    Args:
        size: How many.
    """

    def __init__(self, size: int | None = None) -> None:
        self.size = size


class ActorPoolStrategy(_Kept):
    """How many of Ray's actors call a class, for compute= of map_batches(): without
    effect, since each worker that trains makes one object of it.

    Args:
        size: How many.
        min_size: How many at least.
        max_size: How many at most.
        initial_size: How many at first.
        max_tasks_in_flight_per_actor: How many calls may wait for each.
        enable_true_multi_threading: Whether an actor has several threads.
    """

    def __init__(self, size: int | None = None, min_size: int | None = None,
                 max_size: int | None = None, initial_size: int | None = None,
                 max_tasks_in_flight_per_actor: int | None = None,
                 enable_true_multi_threading: bool = False) -> None:
        self.size = size
        self.min_size = min_size
        self.max_size = max_size
        self.initial_size = initial_size
        self.max_tasks_in_flight_per_actor = max_tasks_in_flight_per_actor
        self.enable_true_multi_threading = enable_true_multi_threading


class DataContext:
    """The settings of Ray's engine for a process. An attribute can be set, and is then
    as it was set; it has no effect, with a warning unless it is the default of
    execution_options."""

    execution_options: ExecutionOptions

    _current: DataContext | None = None

    def __init__(self) -> None:
        self.__dict__["execution_options"] = ExecutionOptions()

    @classmethod
    def get_current(cls) -> DataContext:
        """The settings of this process."""
        if DataContext._current is None:
            DataContext._current = DataContext()
        return DataContext._current

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value
        if name != "execution_options" or says_something(value):
            warnings.warn(f"DataContext.{name} has no effect in raytrain: {_READ_HERE}",
                          UserWarning, stacklevel=2)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"DataContext has no {name} before it is set: raytrain "
                             "has none of the settings of Ray's engine, since "
                             f"{_READ_HERE}")


def says_something(options: object) -> bool:
    """Are these execution options others than the default?"""
    return options is not None and options != ExecutionOptions()
