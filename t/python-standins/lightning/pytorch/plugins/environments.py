from ...fabric import LightningEnvironment  # noqa: F401
