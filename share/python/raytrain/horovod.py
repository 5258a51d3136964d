"""Horovod under raytrain, with the names of ray.train.horovod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Collection

from ._config import _Config, _ignored
from .backend import BackendConfig
from .trainer import DataParallelTrainer

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._protocols import Arguments, TrainFunction

__all__ = ["HorovodTrainer", "HorovodConfig"]


class HorovodConfig(_Config, BackendConfig):
    """Ray's settings, for scripts that have them; none is needed. raytrain starts the
    workers itself, without ssh, and works out addresses and ports. None of them has an
    effect; a warning names those that are set.

    Args:
        nics: Names of network interfaces.
        verbose: How much is printed.
        key: Of messages.
        ssh_port: Of ssh.
        ssh_identity_file: Of ssh.
        ssh_str: Of ssh.
        timeout_s: The limit for the start of all workers is
            FailureConfig(start_timeout_s=).
        placement_group_timeout_s: Of Ray's scheduler.
    """

    _runs_as = "horovod"

    def __init__(self, nics: Collection[str] | None = None, verbose: int = 1,
                 key: str | None = None, ssh_port: int | None = None,
                 ssh_identity_file: str | None = None, ssh_str: str | None = None,
                 timeout_s: int = 300, placement_group_timeout_s: int = 100) -> None:
        _ignored("HorovodConfig", {"nics": nics},
                 "the network is that by which all nodes reach rank 0's; "
                 "HOROVOD_GLOO_IFACE in the environment names another")
        _ignored("HorovodConfig", {"key": key, "ssh_port": ssh_port,
                                   "ssh_identity_file": ssh_identity_file,
                                   "ssh_str": ssh_str},
                 "raytrain starts the workers itself, without ssh")
        _ignored("HorovodConfig",
                 {"timeout_s": None if timeout_s == 300 else timeout_s},
                 "set FailureConfig(start_timeout_s=)")
        self.nics = nics
        self.verbose = verbose
        self.key = key
        self.ssh_port = ssh_port
        self.ssh_identity_file = ssh_identity_file
        self.ssh_str = ssh_str
        self.timeout_s = timeout_s
        self.placement_group_timeout_s = placement_group_timeout_s


class HorovodTrainer(DataParallelTrainer):
    """Runs a function on each of N workers, as processes of Horovod.

    HOROVOD_* is set and its rendezvous server runs, so that hvd.init() finds the other
    workers, by gloo.

    Args:
        train_loop_per_worker: The function; it takes train_loop_config, or nothing.
        horovod_config: A HorovodConfig, or None.
        settings: Those of raytrain.DataParallelTrainer.
    """

    _backend = "horovod"
    _config_name = "horovod_config"

    def __init__(self, train_loop_per_worker: TrainFunction, *,
                 horovod_config: HorovodConfig | None = None,
                 **settings: Unpack[Arguments]) -> None:
        super().__init__(train_loop_per_worker, backend_config=horovod_config,
                         **settings)
