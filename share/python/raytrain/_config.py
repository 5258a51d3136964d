"""How a run is scaled, restarted and stored: the configs of a trainer.

Names, defaults and meaning are those of ``ray.train`` 2.x. ``None`` means raytrain's
own default, which raytrain.cfg(5) gives for each key. A setting without a counterpart
in raytrain is an error that says what to do instead, or, if the training is the same
without it, a warning.
"""
from __future__ import annotations

import math
import os
import re
import urllib.parse
from typing import TYPE_CHECKING, Any, Sequence, cast

from . import _constraint, _ingest
from ._ingest import ExecutionOptions
from .callback import is_callback
from .errors import WrongType

if TYPE_CHECKING:
    from ._protocols import Path
    from .callback import UserCallback
    from .data import DataIterator, Dataset

__all__ = ["ScalingConfig", "RunConfig", "FailureConfig", "CheckpointConfig",
           "SyncConfig", "DataConfig"]

INT64_MAX = 2 ** 63 - 1


def _warn(text: str, level: int) -> None:
    import warnings

    warnings.warn(text, UserWarning, stacklevel=level)


class _Config:
    """The settings of one group of raytrain.cfg. Each name in _settings is an
    attribute; if it is not None, it is written as the key of this name in the group."""

    _settings: tuple[str, ...] = ()

    def _set(self, values: dict[str, Any]) -> None:
        for name in self._settings:
            setattr(self, name, values[name])

    def _keys(self) -> dict[str, Any]:
        """The settings that are not None, as keys of raytrain.cfg."""
        return {name: value for name in self._settings
                if (value := getattr(self, name)) is not None}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        pairs = ", ".join(f"{k}={v!r}" for k, v in self.__dict__.items()
                          if v is not None and not k.startswith("_"))
        return f"{type(self).__name__}({pairs})"


def _ignored(config: str, values: dict[str, Any], advice: str, level: int = 4) -> None:
    """Warn of settings without effect.

    Args:
        config: The class.
        values: The settings; None is not set.
        advice: The reason, or what to do instead.
        level: The number of calls from the user's line to warn(): 4 for __init__().
    """
    for name, value in values.items():
        if value is not None:
            _warn(f"{config}({name}=...) has no effect in raytrain: {advice}", level)


def _integer(what: str, value: object, least: int) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{what} is an integer of at least {least}, not {value!r}")
    return value


def _cpus(what: str, value: object) -> int:
    """Whole cores: a fraction, which Ray allows, is rounded up."""
    if isinstance(value, float) and value > 0 and math.isfinite(value):
        value = math.ceil(value)
    return _integer(what, value, 1)


def _gpus(what: str, value: object) -> int | float:
    """A whole number, or a fraction of a GPU: Ray's rules."""
    if isinstance(value, float) and 0.0001 <= value < 1:
        return value
    try:
        return _integer(what, value, 0)
    except ValueError:
        raise ValueError(f"{what} is a whole number, or a fraction of a GPU from "
                         f"0.0001 on, not {value!r}") from None


def _bytes(text: str) -> int:
    """A size as raytrain.cfg has it: "4G"."""
    found = re.fullmatch(r"(\d+(?:\.\d{1,9})?)(?:B|([KMGTPE])(?:i?B)?)?", text,
                         re.IGNORECASE | re.ASCII)
    if not found:
        raise ValueError("ScalingConfig: resources_per_worker['memory'] is a number of "
                         f"bytes, or a size such as '4G', not {text!r}")
    scale = 1 << 10 * " KMGTPE".index((found[2] or " ").upper())
    return int(found[1]) * scale if found[1].isdigit() else int(float(found[1]) * scale)


class ScalingConfig(_Config):
    """The number of workers, their resources, and where they run.

    Args:
        num_workers: The number, or (MIN, MAX): as many as fit. 0 is local mode: fit()
            calls the training function in its own process.
        use_gpu: Does each worker have a GPU?
        resources_per_worker: {"CPU": cores, "GPU": number, "memory": bytes, or "4G"};
            whole numbers. "GPU" may also be a fraction below 1: with {"GPU": 0.5}, two
            workers share a GPU.
        placement_strategy: "PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"; see
            raytrain.cfg(5).
        accelerator_type: The type of GPU, named as in Slurm.
        trainer_resources: Without effect, with a warning.
        use_tpu: Only False.
        topology: Only None.
        label_selector: {key: feature}, the features that nodes of Slurm must have
            when fit() requests an allocation; in(A, B) is one of several. Or a list of
            these, one for each worker.
        spare_nodes: See raytrain.cfg(5).
        elastic_resize_monitor_interval_s: See raytrain.cfg(5).

    Raises:
        ValueError: TPUs are requested, or a resource that workers cannot have, or the
            length of label_selector is not num_workers, or MAX of (MIN, MAX).
    """

    _settings = ("num_workers", "use_gpu", "resources_per_worker", "placement_strategy",
                 "accelerator_type", "spare_nodes", "elastic_resize_monitor_interval_s")
    num_workers: int | str | tuple[int, int]
    use_gpu: bool
    resources_per_worker: dict[str, Any] | None
    placement_strategy: str
    accelerator_type: str | None
    spare_nodes: int | None
    elastic_resize_monitor_interval_s: float | None
    label_selector: _constraint.Selector | None = None

    def __init__(self, num_workers: int | tuple[int, int] = 1, use_gpu: bool = False,
                 resources_per_worker: dict[str, Any] | None = None,
                 placement_strategy: str = "PACK", accelerator_type: str | None = None,
                 trainer_resources: dict[str, Any] | None = None, use_tpu: bool = False,
                 topology: str | None = None,
                 label_selector: _constraint.Selector | None = None,
                 spare_nodes: int | None = None,
                 elastic_resize_monitor_interval_s: float | None = None) -> None:
        if use_tpu or topology:
            raise ValueError("ScalingConfig: raytrain does not know TPUs")
        _constraint.expression(label_selector)
        self.label_selector = label_selector
        if trainer_resources:
            _ignored("ScalingConfig", {"trainer_resources": trainer_resources},
                     "the process that calls fit() only waits for the workers")
        if num_workers is None:
            num_workers = 1
        for name, value in (resources_per_worker or {}).items():
            if (str(name).lower() == "cpu" and isinstance(value, float)
                    and value % 1 > 0):
                _warn(f"ScalingConfig: resources_per_worker[{name!r}] is {value}: "
                      f"workers have whole cores, {math.ceil(value)}", 3)
        self._set(locals())
        self._resources()  # raises for resources that are not valid
        if (isinstance(label_selector, (list, tuple))
                and len(label_selector) != self._most_workers):
            raise ValueError("ScalingConfig: label_selector is a list of "
                             f"{len(label_selector)} for {self._most_workers} "
                             "workers: give one dict for all of them, or a list with "
                             "one for each")

    def _resources(self) -> dict[str, Any]:
        names = {"cpu": "cpu", "gpu": "gpu", "memory": "memory"}
        found: dict[str, Any] = {}

        for name, value in (self.resources_per_worker or {}).items():
            key = names.get(str(name).lower())
            if not key:
                raise ValueError(
                    f"ScalingConfig: resources_per_worker has {name!r}; raytrain knows "
                    "CPU, GPU and memory. For other resources of Slurm, ask for them "
                    "in the job, or pass RunConfig(options=['--srun-args=...'])")
            if key == "memory" and isinstance(value, str):
                found[key] = value
            else:
                what = f"ScalingConfig: resources_per_worker[{name!r}]"
                found[key] = _gpus(what, value) if key == "gpu" else \
                    _cpus(what, value) if key == "cpu" else _integer(what, value, 1)
        if found.get("gpu") and not self.use_gpu:
            raise ValueError("ScalingConfig: use_gpu is False, and "
                             "resources_per_worker has GPU: set use_gpu=True, or leave "
                             "GPU out")
        return found

    @property
    def _is_local(self) -> bool:
        """Is it local mode, without workers?"""
        return self.num_workers == 0 and not isinstance(self.num_workers, bool)

    def _keys(self) -> dict[str, Any]:
        keys = super()._keys()
        resources = self._resources()

        if self._is_local:
            raise ValueError("ScalingConfig: num_workers=0 is the local mode of a "
                             "trainer with a training function; here num_workers is at "
                             "least 1")

        if isinstance(self.num_workers, (tuple, list)):
            if len(self.num_workers) != 2:
                raise ValueError("ScalingConfig: num_workers is a number, or (MIN, "
                                 "MAX)")
            least, most = (_integer("ScalingConfig: num_workers", n, 1)
                           for n in self.num_workers)
            keys["num_workers"] = f"{least}:{most}"
        elif not isinstance(self.num_workers, str):
            keys["num_workers"] = _integer("ScalingConfig: num_workers",
                                           self.num_workers, 1)
        keys.pop("resources_per_worker", None)
        if resources:
            keys["resources_per_worker"] = resources
        if isinstance(resources.get("memory"), int):
            resources["memory"] = Long(resources["memory"])
        keys["use_gpu"] = bool(self.use_gpu)
        return keys

    @property
    def num_cpus_per_worker(self) -> int:
        """The cores of a worker; 0 if they were not requested."""
        return int(self._each().get("CPU", 0))

    @property
    def num_gpus_per_worker(self) -> int | float:
        """The GPUs of a worker."""
        gpus: int | float = self._each().get("GPU", 0)
        return gpus

    @property
    def additional_resources_per_worker(self) -> dict[str, Any]:
        """The resources of a worker other than cores and GPUs."""
        return {name: n for name, n in self._each().items()
                if name not in ("CPU", "GPU")}

    @property
    def total_resources(self) -> dict[str, Any]:
        """The requested resources of all workers, {"CPU": ..., "GPU": ..., "memory":
        bytes}; for (MIN, MAX) workers, those of MAX workers."""
        return {name: n * self._most_workers for name, n in self._each().items()}

    @property
    def _most_workers(self) -> int:
        workers = self.num_workers
        if isinstance(workers, str):
            workers = int(workers.rpartition(":")[2])
        return workers[1] if isinstance(workers, (tuple, list)) else workers

    def _each(self) -> dict[str, Any]:
        """The resources of a worker, by Ray's names; a core if nothing was
        requested."""
        asked = self._resources()
        if self.use_gpu:
            asked.setdefault("gpu", 1)
        elif not self.resources_per_worker:
            asked["cpu"] = 1
        if isinstance(asked.get("memory"), str):
            asked["memory"] = _bytes(asked["memory"])
        names = {"cpu": "CPU", "gpu": "GPU"}
        return {names.get(name, name): n for name, n in asked.items() if n}


class FailureConfig(_Config):
    """When the workers are restarted; each setting is described in raytrain.cfg(5).

    Args:
        max_failures: The number of restarts after failures; -1: no limit.
        fail_fast: Never restart.
        controller_failure_limit: Without effect, since the only controller is the
            process that calls fit().
        reset_on_progress: Do failures before a new checkpoint no longer count?
        max_preemptions: The number of restarts after preemptions, by the name of its
            key.
        hang_timeout_s: Workers without any progress for this time are killed.
        start_timeout_s: The time that workers may take to start.
        node_timeout_s: The time after which a silent node counts as lost.
        restart: "new_step", the default, or "same_step": where the workers restart
            under Slurm.
        max_preemption_failures: The number of restarts after preemptions; -1, the
            default: no limit. The key is max_preemptions.
        preemption_grace_s: The seconds that the workers have after the notice of a
            preemption, or another request to stop: run_config.grace_s, unless
            RunConfig(grace_s=) is set. 0, the default: until Slurm kills the job.
        relax_collectives_on_preemption: Only False, the default.

    Raises:
        ValueError: A number is out of its range, restart is another word, or
            relax_collectives_on_preemption is set.
    """

    _settings = ("max_failures", "fail_fast", "reset_on_progress", "max_preemptions",
                 "hang_timeout_s", "start_timeout_s", "node_timeout_s", "restart")
    max_failures: int
    fail_fast: bool
    reset_on_progress: bool | None
    max_preemptions: int | None
    hang_timeout_s: float | None
    start_timeout_s: float | None
    node_timeout_s: float | None
    restart: str | None
    preemption_grace_s: int | None
    controller_failure_limit: int

    def __init__(self, max_failures: int = 0, fail_fast: bool | str = False,
                 controller_failure_limit: int = -1,
                 reset_on_progress: bool | None = None,
                 max_preemptions: int | None = None,
                 hang_timeout_s: float | None = None,
                 start_timeout_s: float | None = None,
                 node_timeout_s: float | None = None,
                 max_preemption_failures: int | None = None,
                 preemption_grace_s: float | None = None,
                 relax_collectives_on_preemption: bool = False,
                 restart: str | None = None) -> None:
        if restart not in (None, "new_step", "same_step"):
            raise ValueError('FailureConfig: restart is "new_step" or "same_step", '
                             f"not {restart!r}")
        if relax_collectives_on_preemption:
            raise ValueError(
                "FailureConfig: raytrain has no relax_collectives_on_preemption: "
                "report() and get_preemption_info() wait for all workers, since a "
                "checkpoint is one file that all of them write. Report checkpoints "
                "that fit into the time that Slurm grants (GraceTime, KillWait), or "
                "keep one in the memory of other nodes by CheckpointConfig(replicas=1)")
        if max_preemption_failures is not None and max_preemptions is not None \
                and max_preemption_failures != max_preemptions:
            raise ValueError("FailureConfig: max_preemption_failures and "
                             "max_preemptions are the same: give one of them")
        _integer("FailureConfig: controller_failure_limit", controller_failure_limit,
                 -1)
        if controller_failure_limit != -1:
            _ignored("FailureConfig",
                     {"controller_failure_limit": controller_failure_limit},
                     "there is no controller that could fail")
        if isinstance(preemption_grace_s, float) and math.isfinite(preemption_grace_s):
            preemption_grace_s = math.ceil(preemption_grace_s)
        if preemption_grace_s is not None:
            preemption_grace_s = _integer("FailureConfig: preemption_grace_s",
                                          preemption_grace_s, 0)
        if max_preemption_failures is not None:
            max_preemptions = _integer("FailureConfig: max_preemption_failures",
                                       max_preemption_failures, -1)
        if fail_fast == "raise":
            fail_fast = True
        self._set(locals())
        self.preemption_grace_s = preemption_grace_s
        self.controller_failure_limit = controller_failure_limit

    @property
    def max_preemption_failures(self) -> int:
        """-1: without a limit."""
        return -1 if self.max_preemptions is None else self.max_preemptions


def _says_low_is_good(metric: object) -> bool:
    """Does its name suggest that? The rule of raytrain.cfg(5)."""
    if not isinstance(metric, str):
        return False
    words = re.findall("[a-z0-9]+", metric.lower())
    if not words or {"neg", "negative"} & set(words):
        return False
    return bool(
        re.search("loss|error|perplexity|nloglik|deviance", metric.lower())
        or {"rmse", "mse", "mae", "mape", "rmsle", "nll", "ppl", "wer", "cer", "err"}
        & set(words))


class CheckpointConfig(_Config):
    """Which checkpoints are kept, and how they are saved; see raytrain.cfg(5).

    Args:
        num_to_keep: None keeps all; otherwise the best ones by
            checkpoint_score_attribute, or the newest. The newest is always kept.
        checkpoint_score_attribute: The metric that is the score of a checkpoint.
        checkpoint_score_order: "max" or "min": is a high or a low score better?
            Default: "max", with a warning if the name of the metric suggests that low
            is better, such as loss.
        checkpoint_frequency: should_checkpoint() is true for each report whose number
            is a multiple of this one; 0: for all, unless checkpoint_interval_s is set.
        checkpoint_at_end: Without effect for a training function, with a warning.
        mode: "async": training continues while a checkpoint is written; or "sync".
        checkpoint_interval_s: should_checkpoint() is true when this time has passed.
        replicas: 1: checkpoints are also kept in the memory of the nodes.
        stripe_count: The number of disks of a parallel file system over which a file is
            spread.

    Raises:
        ValueError: num_to_keep is less than 1, or checkpoint_score_order is something
            else.
    """

    _settings = ("num_to_keep", "checkpoint_score_attribute", "checkpoint_score_order",
                 "checkpoint_frequency", "checkpoint_at_end", "mode",
                 "checkpoint_interval_s", "replicas", "stripe_count")
    num_to_keep: int | None
    checkpoint_score_attribute: str | None
    checkpoint_score_order: str
    checkpoint_frequency: int
    checkpoint_at_end: bool | None
    mode: str | None
    checkpoint_interval_s: float | None
    replicas: int | None
    stripe_count: int | None

    def __init__(self, num_to_keep: int | None = None,
                 checkpoint_score_attribute: str | None = None,
                 checkpoint_score_order: str | None = None,
                 checkpoint_frequency: int = 0, checkpoint_at_end: bool | None = None,
                 mode: str | None = None, checkpoint_interval_s: float | None = None,
                 replicas: int | None = None, stripe_count: int | None = None) -> None:
        if num_to_keep is not None:
            _integer("CheckpointConfig: num_to_keep", num_to_keep, 1)
        if checkpoint_score_order is None:
            checkpoint_score_order = "max"
            if _says_low_is_good(checkpoint_score_attribute):
                _warn("CheckpointConfig: without checkpoint_score_order the "
                      f"checkpoints with the highest {checkpoint_score_attribute} are "
                      "kept; if low is good, add checkpoint_score_order='min', else "
                      "'max'", 3)
        if checkpoint_score_order not in ("max", "min"):
            raise ValueError("CheckpointConfig: checkpoint_score_order is 'max' or "
                             f"'min', not {checkpoint_score_order!r}")
        self._set(locals())


class SyncConfig(_Config):
    """Where checkpoints are written first.

    Args:
        staging_path: A directory on local storage of each node; see raytrain.cfg(5).
        sync_period: Without effect, with a warning.
        sync_timeout: See sync_period.
        sync_artifacts: See sync_period.
        sync_artifacts_on_checkpoint: See sync_period.
    """

    _settings = ("staging_path",)
    staging_path: str | None

    def __init__(self, staging_path: Path | None = None, sync_period: int | None = None,
                 sync_timeout: int | None = None, sync_artifacts: bool | None = None,
                 sync_artifacts_on_checkpoint: bool | None = None) -> None:
        _ignored("SyncConfig", {"sync_period": sync_period,
                                "sync_timeout": sync_timeout,
                                "sync_artifacts": sync_artifacts,
                                "sync_artifacts_on_checkpoint":
                                    sync_artifacts_on_checkpoint},
                 "workers write to storage_path themselves")
        staging_path = _path(staging_path)
        self._set(locals())


class DataConfig(_Config):
    """How the datasets are divided among the workers. A subclass may have its own
    method configure(), which fit() then calls.

    Args:
        datasets_to_split: "all", or the names of the datasets that are divided among
            the workers; each worker reads all rows of the others.
        execution_options: Without effect, with a warning if they are not those of
            default_ingest_options().
        enable_shard_locality: Without effect.

    Raises:
        TypeError: datasets_to_split is something else.
    """

    _settings = ("datasets_to_split",)
    datasets_to_split: str | list[str]

    def __init__(self, datasets_to_split: str | list[str] = "all",
                 execution_options: ExecutionOptions | None = None,
                 enable_shard_locality: bool = True) -> None:
        if _ingest.says_something(execution_options):
            _ignored("DataConfig", {"execution_options": execution_options},
                     "every worker reads its rows itself")
        if datasets_to_split != "all" and not (
                isinstance(datasets_to_split, (list, tuple)) and
                all(isinstance(name, str) for name in datasets_to_split)):
            raise WrongType("DataConfig: datasets_to_split is 'all' or a list of "
                            f"names, not {datasets_to_split!r}")
        self._set(locals())

    @property
    def _is_custom(self) -> bool:
        """Does the class have its own configure()?"""
        return type(self).configure is not DataConfig.configure

    def configure(self, datasets: dict[str, Dataset], world_size: int,
                  worker_handles: list[Any] | None = None,
                  worker_node_ids: list[str] | None = None, **kwargs: Any
                  ) -> list[dict[str, DataIterator]]:
        """Which rows each worker reads. fit() calls the method of a subclass, in its
        own process and before the workers start. The number of workers may change
        later, so the result is applied as a rule for any number.

        Args:
            datasets: The datasets of the trainer, by their names.
            world_size: The number of workers; for (MIN, MAX) workers it is MAX.
            worker_handles: None.
            worker_node_ids: None.
            kwargs: Empty in this version.

        Returns:
            For each worker {name: iterator}. Under a name, either worker i has the i-th
            iterator of one streaming_split(world_size), or each worker that has the
            name has an iterator() of the same Dataset.
        """
        split = datasets if self.datasets_to_split == "all" else self.datasets_to_split
        made: list[dict[str, DataIterator]] = [{} for _ in range(world_size)]
        for name, ds in datasets.items():
            parts = ds.streaming_split(world_size, equal=True,
                                       locality_hints=worker_node_ids) \
                if name in split else [ds.iterator()] * world_size
            for of_worker, part in zip(made, parts):
                of_worker[name] = part
        return made

    @staticmethod
    def default_ingest_options() -> ExecutionOptions:
        """The execution options of Ray that change nothing."""
        return ExecutionOptions()


def local_path(path: Path | bytes) -> str:
    """The path for the operating system. Users may write it with ~, or as file:///PATH.

    Args:
        path: The path of a file or a directory.

    Returns:
        The path, which may be relative.

    Raises:
        ValueError: It is a URL of another kind, or of another machine.
    """
    text = os.fsdecode(path)
    if text.startswith("file:"):
        url = urllib.parse.urlsplit(text)
        if url.netloc not in ("", "localhost") or not url.path.startswith("/"):
            raise ValueError(f"{text}: a file of this machine is file:///PATH")
        return urllib.parse.unquote(url.path, errors="surrogateescape")
    if "://" in text:
        raise ValueError(f"{text}: raytrain stores runs in directories that all nodes "
                         "see; mount that storage, and give the path")
    return os.path.expanduser(text)


def _path(path: Path | bytes | None) -> str | None:
    return None if path is None else local_path(path)


def _ranks(show: object) -> str | None:
    """run_config.show: a list of ranks is a text there."""
    if show is None or isinstance(show, str) and show in ("none", "rank0", "all"):
        return show
    if isinstance(show, int):
        show = [show]
    if isinstance(show, (list, tuple, range)) and all(
            isinstance(r, int) and not isinstance(r, bool) and r >= 0 for r in show):
        return ",".join(str(rank) for rank in show) or "none"
    if isinstance(show, str) and show.replace(",", "").replace("-", "").isdigit():
        return show
    raise ValueError("RunConfig: show is 'none', 'rank0', 'all' or a list of ranks, "
                     f"not {show!r}")


def _stop_keys(stop: object) -> object:
    """run_config.stop: a group, or a list if a name cannot be a key."""
    if stop is None:
        return None
    if not isinstance(stop, dict):
        raise ValueError("RunConfig: stop is a dict of metrics and numbers in "
                         "raytrain; for another condition, return from the training "
                         "function")
    numbers = {str(name): float(value) for name, value in stop.items()}
    if all(_is_name(name) for name in numbers):
        return numbers
    return [{"metric": name, "value": value} for name, value in numbers.items()]


class RunConfig(_Config):
    """The run: its name, where it is stored, when it restarts and stops.

    Args:
        name: The name of the run and of its directory, STORAGE_PATH/NAME. Default: the
            trainer's name with date and time.
        storage_path: A directory that all nodes see. Default: "raytrain_results".
        storage_filesystem: Only None: the storage is mounted.
        failure_config: A FailureConfig.
        checkpoint_config: A CheckpointConfig.
        sync_config: A SyncConfig.
        verbose: 0: print only warnings and errors.
        stop: {metric: number}: the run stops when a metric reaches its number.
        callbacks: They receive reports and events: objects of subclasses of
            UserCallback, whose methods are called in this process; names, such as
            "csv"; or dicts with the name as "type" and its settings, as in
            run_config.callbacks of raytrain.cfg(5).
        progress_reporter: Without effect, with a warning.
        log_to_file: Without effect, with a warning: the output is always in logs/.
        worker_runtime_env: Without effect, with a warning.
        logging_config: Without effect, with a warning.
        stop_before_end_s: See raytrain.cfg(5).
        grace_s: See raytrain.cfg(5).
        requeue_on_stop: See raytrain.cfg(5).
        on_existing: What fit() does if a run of this name exists. "resume", the default
            if name is set, calls the function with its newest checkpoint, even if the
            run has finished; "fresh" sets the run aside as NAME.1 and starts a new one;
            "error" raises an exception.
        launcher: "slurm", "local" or "auto", the default.
        options: Further options of raytrain-run(1), such as ["--srun-args=--qos=high"].
        allow_code: A checkpoint that the run starts from may have preprocessors with
            functions that the trainer does not name.
        exit_grace_s: See raytrain.cfg(5).
        show: The ranks whose output fit() prints during the run: "rank0", the default,
            "all", "none", or a list of ranks.
        device_collectives: How training functions in C send tensors in GPU memory from
            worker to worker: "nccl", the default, "host" or "auto"; see
            raytrain.cfg(5). PyTorch has its own setting, TorchConfig(backend=).

    Raises:
        ValueError: A setting has a value that it cannot have.
    """

    _settings = ("name", "storage_path", "failure_config", "checkpoint_config",
                 "sync_config", "stop", "callbacks", "stop_before_end_s", "grace_s",
                 "exit_grace_s", "requeue_on_stop", "allow_code", "device_collectives",
                 "show", "verbose", "on_existing", "launcher", "options")
    name: str | None
    storage_path: str | None
    failure_config: FailureConfig | None
    checkpoint_config: CheckpointConfig | None
    sync_config: SyncConfig | None
    stop: dict[str, float] | None
    callbacks: Sequence[UserCallback | str | dict[str, Any]] | None
    stop_before_end_s: float | None
    grace_s: float | None
    exit_grace_s: float | None
    requeue_on_stop: bool | None
    allow_code: bool | None
    device_collectives: str | None
    show: str | None
    verbose: int | None
    on_existing: str | None
    launcher: str | None
    options: tuple[str, ...]
    _flags = ("verbose", "on_existing", "launcher", "options")

    def __init__(self, name: str | None = None, storage_path: Path | None = None,
                 storage_filesystem: object = None,
                 failure_config: FailureConfig | None = None,
                 checkpoint_config: CheckpointConfig | None = None,
                 sync_config: SyncConfig | None = None, verbose: int | None = None,
                 stop: dict[str, float] | None = None,
                 callbacks: Sequence[UserCallback | str | dict[str, Any]] | None = None,
                 progress_reporter: object = None,
                 log_to_file: object = None, worker_runtime_env: object = None,
                 logging_config: object = None,
                 stop_before_end_s: float | None = None, grace_s: float | None = None,
                 requeue_on_stop: bool | None = None, on_existing: str | None = None,
                 launcher: str | None = None, options: Sequence[str] = (),
                 allow_code: bool | None = None,
                 exit_grace_s: float | None = None,
                 show: str | Sequence[int] | None = None,
                 device_collectives: str | None = None) -> None:
        show = _ranks(show)
        if device_collectives not in (None, "nccl", "host", "auto"):
            raise ValueError("RunConfig: device_collectives is 'nccl', 'host' or "
                             f"'auto', not {device_collectives!r}")
        if storage_filesystem is not None:
            raise ValueError("RunConfig: raytrain has no storage_filesystem; mount the "
                             "storage on all nodes, and give storage_path")
        if on_existing not in (None, "fresh", "resume", "error"):
            raise ValueError("RunConfig: on_existing is 'fresh', 'resume' or 'error', "
                             f"not {on_existing!r}")
        callbacks = None if callbacks is None else list(callbacks)
        for callback in callbacks or ():
            if not isinstance(callback, str) and not is_callback(callback) and not (
                    isinstance(callback, dict) and "type" in callback):
                raise ValueError(
                    f"RunConfig: {callback!r} is not a callback of raytrain: callbacks "
                    "are objects of a subclass of raytrain.UserCallback, names, such "
                    "as 'csv', or dicts with a 'type'")
        _ignored("RunConfig", {"progress_reporter": progress_reporter},
                 "raytrain-run shows the progress; verbose=0 turns it off")
        _ignored("RunConfig", {"log_to_file": log_to_file or None},
                 "the output of workers is always in logs/ of the run directory")
        _ignored("RunConfig", {"logging_config": logging_config},
                 "the output of workers is in logs/ of the run directory, and show= "
                 "selects the ranks whose output is printed")
        _ignored("RunConfig", {"worker_runtime_env": worker_runtime_env},
                 "workers inherit the environment, interpreter, path and directory of "
                 "the process that calls fit()")
        storage_path = _path(storage_path)
        options = tuple(options)
        self._set(locals())

    def _keys(self) -> dict[str, Any]:
        keys = {k: v for k, v in super()._keys().items() if k not in self._flags}

        if "grace_s" not in keys and self.failure_config is not None \
                and self.failure_config.preemption_grace_s is not None:
            keys["grace_s"] = self.failure_config.preemption_grace_s
        for group in ("failure_config", "checkpoint_config", "sync_config"):
            if group in keys:
                keys[group] = keys[group]._keys()
        if "stop" in keys:
            keys["stop"] = _stop_keys(self.stop)
        if "callbacks" in keys:
            named = [c for c in self.callbacks or () if isinstance(c, (str, dict))]
            keys["callbacks"] = named
            if self.callbacks and not named:
                del keys["callbacks"]
        return keys

    def _takes_allocation(self) -> bool:
        """Do the arguments ask for the workers to run under Slurm?"""
        return self.launcher == "slurm" or "--launcher=slurm" in self.options or any(
            pair == ("--launcher", "slurm")
            for pair in zip(self.options, self.options[1:]))

    def _user_callbacks(self) -> list[UserCallback]:
        """The callbacks that are objects of this process."""
        return [c for c in self.callbacks or () if not isinstance(c, (str, dict))]

    def _shippable(self) -> RunConfig:
        """A copy without these callbacks, which may not be picklable."""
        import copy

        shipped = copy.copy(self)
        if self._user_callbacks():
            shipped.callbacks = self._keys().get("callbacks")
        return shipped


# ---- libconfig, the grammar of raytrain.cfg ----

class Long(int):
    """An integer that is written with 64 bits."""


def _is_name(name: object) -> bool:
    """Is it a valid name of a key?"""
    return (isinstance(name, str) and name.isascii() and name[:1].isalpha()
            and name.replace("-", "").replace("_", "").isalnum())


def _string(text: str) -> str:
    quoted = []

    for c in text:
        if c in '"\\':
            quoted.append("\\" + c)
        elif c == "\n":
            quoted.append("\\n")
        elif c < " " or c == "\x7f":
            quoted.append(f"\\x{ord(c):02X}")
        elif "\udc80" <= c <= "\udcff":
            quoted.append(f"\\x{ord(c) - 0xdc00:02X}")
        else:
            quoted.append(c)
    return '"' + "".join(quoted) + '"'


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        wide = isinstance(value, Long) or not -2 ** 31 <= value < 2 ** 31
        return f"{int(value)}L" if wide else str(value)
    if isinstance(value, float):
        text = repr(value)
        return text if "." in text or "e" in text else text + ".0"
    return _string(cast(str, value))


def is_storable(value: object) -> bool:
    """Can a key of raytrain.cfg have this value, and be read back as an equal one?"""
    if isinstance(value, (list, dict)) and type(value) not in (list, dict):
        return False
    if isinstance(value, dict):
        return all(_is_name(k) and is_storable(v) for k, v in value.items())
    if isinstance(value, list):
        return all(is_storable(v) for v in value)
    if type(value) is float:
        return value - value == 0.0
    if type(value) is int:
        return -INT64_MAX <= value <= INT64_MAX
    if type(value) is str:
        return "\0" not in value and value.isprintable()
    return type(value) is bool


def render(value: object, depth: int = 0) -> str:
    """The text of a value. Dicts are groups, lists and tuples are lists."""
    if isinstance(value, dict):
        pad = "    " * depth
        lines = [f"{pad}{name} = {_value(item, depth)};\n"
                 for name, item in value.items()]
        return "".join(lines)
    return _value(value, depth)


def _value(value: object, depth: int) -> str:
    if isinstance(value, dict):
        return "{\n" + render(value, depth + 1) + "    " * depth + "}"
    if isinstance(value, (list, tuple)):
        items = ", ".join(_value(item, depth + 1) for item in value)
        return f"( {items} )" if items else "()"
    return _scalar(value)
