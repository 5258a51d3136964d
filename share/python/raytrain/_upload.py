"""How report() takes a checkpoint: its arguments that are about that."""

from __future__ import annotations

import itertools
import os
import shutil
from enum import Enum
from typing import TYPE_CHECKING, Any, Callable

from . import errors
from ._instead import INSTEAD
from ._session import session

if TYPE_CHECKING:
    from ._protocols import Asks, Offer
    from .checkpoint import Checkpoint

    UploadFunction = Callable[[Checkpoint, str], Checkpoint]


class CheckpointUploadMode(Enum):
    """What report() does with a checkpoint.

    In every mode its files are copied before report() returns, and become one HDF5
    file, at the time that CheckpointConfig(mode=) says.

    SYNC: the directory that was reported stays.
    ASYNC: it is removed when it has been copied.
    NO_UPLOAD: the script has put it on the storage of the run, where it stays.
    """

    ASYNC = "ASYNC"
    SYNC = "SYNC"
    NO_UPLOAD = "NO_UPLOAD"


def check_dir_name(name: Any) -> None:
    """Refuse a value that is not the name of a directory.

    Args:
        name: The argument of a script.

    Raises:
        WrongType: It is not a str.
        InvalidArgument: It is a path of more than one part, or empty.
    """
    if not isinstance(name, str):
        raise errors.WrongType("the name of a checkpoint's directory is a str, not "
                               f"{type(name).__name__}")
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise errors.InvalidArgument(f"the name of a checkpoint's directory is a name "
                                     f"without /, not {name!r}")


_numbers = itertools.count(1)  # number the calls of report() alike on all workers


class Upload:
    """The checkpoint of one report(), from the call to its return."""

    def __init__(self, checkpoint: Checkpoint | None, dir_name: str | None,
                 mode: CheckpointUploadMode, delete: bool | None,
                 function: UploadFunction | None, validation: Any) -> None:
        self._number = next(_numbers)
        self._checkpoint = checkpoint
        self._dir_name = dir_name
        self._mode = mode
        self._delete = delete
        self._function = function
        self._wrong = self._check(validation)
        self._is_offered = False

    def _check(self, validation: Any) -> Exception | None:
        """The exception for wrong arguments, or None."""
        if validation:
            return errors.NotSupported(
                "report() has no validation=, which Ray Train has: "
                + INSTEAD[""]["ValidationConfig"])
        if not isinstance(self._mode, CheckpointUploadMode):
            return errors.WrongType(
                "checkpoint_upload_mode is raytrain.CheckpointUploadMode.SYNC, ASYNC "
                f"or NO_UPLOAD, not {self._mode!r}")
        if self._delete is not None and not isinstance(self._delete, bool):
            return errors.WrongType(
                "delete_local_checkpoint_after_upload is True, False or None, not "
                f"{self._delete!r}")
        if self._function is not None and not callable(self._function):
            return errors.WrongType(
                "checkpoint_upload_fn is a function of a Checkpoint and a name, not "
                f"{type(self._function).__name__}")
        try:
            if self._dir_name is not None:
                check_dir_name(self._dir_name)
        except errors.RaytrainError as wrong:
            return wrong
        return None

    @property
    def offer(self) -> Offer | None:
        """For Session.report(); None without a checkpoint. The exception for wrong
        arguments is raised there, since the other workers wait."""
        if self._checkpoint is None and self._wrong is None:
            return None
        return self._make_offer

    def _make_offer(self) -> tuple[dict[str, Any], Asks]:
        from ._offer import offer

        if self._wrong is not None:
            raise self._wrong
        made = offer(self._uploaded(), self._dir_name)
        self._is_offered = True
        return made

    def _uploaded(self) -> Any:
        """The checkpoint that checkpoint_upload_fn returns."""
        from .checkpoint import Checkpoint

        info = session().info
        if self._mode is CheckpointUploadMode.NO_UPLOAD or self._function is None or \
                not isinstance(self._checkpoint, Checkpoint):
            return self._checkpoint
        name = self._dir_name or f"checkpoint_{info['attempt']}_{self._number:06d}"
        uploaded = self._function(self._checkpoint, name)
        if not isinstance(uploaded, Checkpoint):
            raise errors.InvalidArgument(
                "checkpoint_upload_fn must return a raytrain.Checkpoint, not "
                f"{type(uploaded).__name__}")
        return uploaded

    def end(self) -> None:
        """All workers have copied their checkpoints: a directory may be removed."""
        path = getattr(self._checkpoint, "_directory", None)
        delete = self._delete
        if delete is None:
            delete = self._mode is CheckpointUploadMode.ASYNC
        if not (self._is_offered and delete) or path is None or \
                self._mode is CheckpointUploadMode.NO_UPLOAD:
            return
        for _ in range(100):
            if not os.path.lexists(path):
                break
            try:
                shutil.rmtree(path)
            except FileNotFoundError:
                pass  # another worker of this node removes the same directory
            except OSError as e:
                # For a link, rmtree() has the reason in args, and sets no errno.
                why = e.strerror or (e.args[0] if e.args else e)
                session().warn(f"cannot remove the checkpoint's directory {path} after "
                               f"report(): {why}")
                break
