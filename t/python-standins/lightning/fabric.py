"""What lightning.fabric.plugins.environments has."""

import os


class LightningEnvironment:
    def __init__(self):
        self._world_size, self._global_rank = 1, 0

    @property
    def creates_processes_externally(self):
        return "LOCAL_RANK" in os.environ

    @property
    def main_address(self):
        return os.environ.get("MASTER_ADDR", "127.0.0.1")

    @property
    def main_port(self):
        return int(os.environ["MASTER_PORT"])

    def world_size(self):
        return self._world_size

    def set_world_size(self, size):
        self._world_size = size

    def global_rank(self):
        return self._global_rank

    def set_global_rank(self, rank):
        self._global_rank = rank

    def local_rank(self):
        return int(os.environ.get("LOCAL_RANK", 0))

    def node_rank(self):
        return int(os.environ.get("NODE_RANK", os.environ.get("GROUP_RANK", 0)))

    def teardown(self):
        os.environ.pop("WORLD_SIZE", None)
