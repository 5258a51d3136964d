"""The callback for a Trainer of Transformers, and its datasets. Imports
Transformers."""

from __future__ import annotations

import os
from typing import Any, Iterator

from torch.utils.data import DataLoader, IterableDataset

from ... import _frameworks
from ..._batches import Batches
from ..._context import report

_transformers: Any = _frameworks.needed(
    "Transformers", ("transformers",), "pip install transformers")


class RayTrainReportCallback(_transformers.TrainerCallback):
    """Reports each checkpoint that the Trainer saves, with the metrics that it logged
    last.

    When the Trainer saves, it has evaluated before if `eval_strategy` is the same as
    `save_strategy`, and the metrics are those of the evaluation. The checkpoint is a
    directory with the Trainer's own in the folder `checkpoint`::

        with raytrain.get_checkpoint().as_directory() as directory:
            trainer.train(resume_from_checkpoint=os.path.join(
                directory, RayTrainReportCallback.CHECKPOINT_NAME))
    """

    CHECKPOINT_NAME = "checkpoint"

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Report what was saved. COLLECTIVE: the Trainer calls it on each worker.

        Args:
            args: The TrainingArguments.
            state: The TrainerState.
            control: The TrainerControl.
            kwargs: Other things that the Trainer has.
        """
        metrics = dict(state.log_history[-1]) if state.log_history else {}
        folder = os.path.abspath(args.output_dir)
        source = os.path.join(folder, f"checkpoint-{state.global_step}")
        os.makedirs(folder, exist_ok=True)
        # All workers have saved when they are in here.
        with _frameworks.common_directory(folder) as saved:
            if saved.mine and os.path.isdir(source):
                _frameworks.link_tree(source, os.path.join(saved.path,
                                                           self.CHECKPOINT_NAME))
            report(metrics, checkpoint=saved.checkpoint())


# ---- Datasets ----


class _Rows(IterableDataset):
    """Batches of raytrain, as a dataset whose elements are batches."""

    def __init__(self, batches: Batches[Any]) -> None:
        super().__init__()
        self._batches = batches

    def __iter__(self) -> Iterator[Any]:
        return iter(self._batches)


def _only(batches: list[Any]) -> Any:
    return batches[0]


def _loader(batches: Batches[Any]) -> Any:
    """A loader that leaves the batches as they are: each worker has its own rows."""
    return DataLoader(_Rows(batches), batch_size=1, collate_fn=_only)


class _OfBatches:
    """What prepare_trainer() puts before the class of a Trainer."""

    train_dataset: Any
    eval_dataset: Any

    def get_train_dataloader(self) -> Any:
        if isinstance(self.train_dataset, Batches):
            return _loader(self.train_dataset)
        return super().get_train_dataloader()  # type: ignore[misc]

    def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
        """eval_dataset: None is that of the Trainer; a str is one of its datasets."""
        rows = self.eval_dataset if eval_dataset is None else eval_dataset
        if isinstance(rows, str) and isinstance(self.eval_dataset, dict):
            rows = self.eval_dataset[rows]
        if isinstance(rows, Batches):
            return _loader(rows)
        return super().get_eval_dataloader(eval_dataset)  # type: ignore[misc]


def prepare_trainer(trainer: Any) -> Any:
    """Let a Trainer take what iter_torch_batches() of a dataset shard returns, as
    train_dataset and eval_dataset.

    Such a dataset has no length: TrainingArguments needs max_steps. The size of the
    batches is that of iter_torch_batches(), and not per_device_train_batch_size.

    Args:
        trainer: A transformers.Trainer, or an object of a subclass.

    Returns:
        The same Trainer.

    Raises:
        TypeError: It is not a Trainer of Transformers.
    """
    if not isinstance(trainer, _transformers.Trainer):
        raise TypeError("prepare_trainer() takes a transformers.Trainer, not "
                        f"{type(trainer).__module__}.{type(trainer).__name__}")
    own = type(trainer)
    if not issubclass(own, _OfBatches):
        trainer.__class__ = type(own.__name__, (_OfBatches, own),
                                 {"__module__": own.__module__, "__doc__": own.__doc__})
    return trainer
