"""A stand-in for Hugging Face's Transformers, for tests: what raytrain.huggingface.transformers
uses of it, and in which order a Trainer calls it. Written after the sources of Transformers 4.57:
src/transformers/trainer.py (__init__, get_train_dataloader, get_eval_dataloader,
_inner_training_loop, _maybe_log_save_evaluate, _save_checkpoint, _rotate_checkpoints, evaluate),
trainer_callback.py, trainer_utils.py and training_args.py.

The Trainer trains for real, with torch's DistributedDataParallel, on CPUs.
"""

import json
import os
import re
import shutil
from dataclasses import asdict, dataclass, field

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset


@dataclass
class TrainingArguments:
    output_dir: str = "trainer_output"
    per_device_train_batch_size: int = 8
    per_device_eval_batch_size: int = 8
    num_train_epochs: float = 3.0
    max_steps: int = -1
    learning_rate: float = 5e-5
    eval_strategy: str = "no"
    save_strategy: str = "steps"
    logging_strategy: str = "steps"
    eval_steps: int = 0
    save_steps: int = 500
    logging_steps: int = 500
    save_total_limit: int = 0
    report_to: object = None
    use_cpu: bool = False
    disable_tqdm: bool = False
    save_safetensors: bool = True

    @property
    def process_index(self):
        return dist.get_rank() if dist.is_initialized() else 0

    @property
    def world_size(self):
        return dist.get_world_size() if dist.is_initialized() else 1


@dataclass
class TrainerState:
    epoch: float = 0.0
    global_step: int = 0
    max_steps: int = 0
    log_history: list = field(default_factory=list)
    is_world_process_zero: bool = True


@dataclass
class TrainerControl:
    should_training_stop: bool = False
    should_save: bool = False
    should_evaluate: bool = False
    should_log: bool = False


class TrainerCallback:
    def on_train_begin(self, args, state, control, **kwargs):
        pass

    def on_step_end(self, args, state, control, **kwargs):
        pass

    def on_epoch_end(self, args, state, control, **kwargs):
        pass

    def on_log(self, args, state, control, **kwargs):
        pass

    def on_evaluate(self, args, state, control, **kwargs):
        pass

    def on_save(self, args, state, control, **kwargs):
        pass

    def on_train_end(self, args, state, control, **kwargs):
        pass


class _DefaultFlow(TrainerCallback):
    """trainer_callback.py, DefaultFlowCallback."""

    def on_step_end(self, args, state, control, **kwargs):
        for what, word in (("log", "logging"), ("evaluate", "eval"), ("save", "save")):
            every = getattr(args, word + "_steps") or args.logging_steps
            if getattr(args, word + "_strategy") == "steps" and \
                    state.global_step % every == 0:
                setattr(control, "should_" + what, True)
        if state.global_step >= state.max_steps:
            control.should_training_stop = True
            if args.save_strategy == "steps":
                control.should_save = True
        return control

    def on_epoch_end(self, args, state, control, **kwargs):
        for what, word in (("log", "logging"), ("evaluate", "eval"), ("save", "save")):
            if getattr(args, word + "_strategy") == "epoch":
                setattr(control, "should_" + what, True)
        return control


class Trainer:
    def __init__(self, model=None, args=None, train_dataset=None, eval_dataset=None,
                 data_collator=None, callbacks=None):
        self.model, self.args = model, args or TrainingArguments()
        self.train_dataset, self.eval_dataset = train_dataset, eval_dataset
        self.data_collator = data_collator
        if train_dataset is not None and not hasattr(train_dataset, "__len__") and \
                self.args.max_steps <= 0:
            raise ValueError("train_dataset has no length, max_steps has to be specified")
        self.callbacks = [_DefaultFlow(), *(callbacks or [])]
        self.state, self.control = TrainerState(), TrainerControl()

    def add_callback(self, callback):
        self.callbacks.append(callback() if isinstance(callback, type) else callback)

    def _call(self, event, **kwargs):
        for callback in self.callbacks:
            control = getattr(callback, event)(self.args, self.state, self.control,
                                               model=self.model, **kwargs)
            if control is not None:
                self.control = control

    # -- loaders: those of map-style datasets are divided among the processes --

    def _divided(self, dataset, size, shuffle):
        if isinstance(dataset, IterableDataset):
            raise AssertionError("an IterableDataset would be divided once more")
        sampler = DistributedSampler(dataset, self.args.world_size, self.args.process_index,
                                     shuffle=shuffle)
        return DataLoader(dataset, size, sampler=sampler, collate_fn=self.data_collator)

    def get_train_dataloader(self):
        if self.train_dataset is None:
            raise ValueError("Trainer: training requires a train_dataset.")
        return self._divided(self.train_dataset, self.args.per_device_train_batch_size, True)

    def get_eval_dataloader(self, eval_dataset=None):
        if isinstance(eval_dataset, str):
            eval_dataset = self.eval_dataset[eval_dataset]
        return self._divided(eval_dataset if eval_dataset is not None else self.eval_dataset,
                             self.args.per_device_eval_batch_size, False)

    # -- the loop --

    def train(self, resume_from_checkpoint=None):
        args = self.args
        loader = self.get_train_dataloader()
        self._optimizer = torch.optim.SGD(self.model.parameters(), args.learning_rate)
        if resume_from_checkpoint:
            self._load(resume_from_checkpoint)
        state = self.state
        self._wrapped = DistributedDataParallel(self.model)
        steps = len(loader) if hasattr(loader.dataset, "__len__") else args.max_steps
        state.max_steps = args.max_steps if args.max_steps > 0 else \
            int(steps * args.num_train_epochs)
        state.is_world_process_zero = args.process_index == 0
        self._losses = []
        self._call("on_train_begin")
        skipped = state.global_step % steps
        while not self.control.should_training_stop and state.global_step < state.max_steps:
            for batch in loader:
                if skipped > 0:
                    skipped -= 1
                    continue
                loss = self._wrapped(**batch)["loss"]
                self._optimizer.zero_grad()
                loss.backward()
                self._optimizer.step()
                self._losses.append(loss.item())
                state.global_step += 1
                state.epoch = state.global_step / steps
                self.control.should_log = self.control.should_evaluate = False
                self.control.should_save = False
                self._call("on_step_end")
                self._maybe_log_save_evaluate()
                if self.control.should_training_stop:
                    break
            self.control.should_log = self.control.should_evaluate = False
            self.control.should_save = False
            self._call("on_epoch_end")
            self._maybe_log_save_evaluate()
        self.log({"train_loss": sum(self._all) / len(self._all)} if self._all else {})
        self._call("on_train_end")
        return state.global_step

    _all: list = []

    def _maybe_log_save_evaluate(self):
        if self.control.should_log and self._losses:
            self._all = self._all + self._losses
            self.log({"loss": round(sum(self._losses) / len(self._losses), 4)})
            self._losses = []
        if self.control.should_evaluate:
            self.evaluate()
        if self.control.should_save:
            self._save_checkpoint()
            self._call("on_save")

    def log(self, logs):
        self.state.log_history.append({**logs, "epoch": self.state.epoch,
                                       "step": self.state.global_step})
        self._call("on_log", logs=logs)

    def evaluate(self, eval_dataset=None, metric_key_prefix="eval"):
        rows = self.eval_dataset if eval_dataset is None else eval_dataset
        if isinstance(rows, dict):
            for name in rows:
                self.evaluate(name, f"{metric_key_prefix}_{name}")
            return
        losses = []
        with torch.no_grad():
            for batch in self.get_eval_dataloader(eval_dataset):
                losses.append(self.model(**batch)["loss"].item())
        self.log({f"{metric_key_prefix}_loss": sum(losses) / len(losses),
                  f"{metric_key_prefix}_samples": len(losses)})
        self._call("on_evaluate", metrics={})

    # -- checkpoints: rank 0 has the model, each process its random numbers --

    def _save_checkpoint(self):
        folder = os.path.join(self.args.output_dir, f"checkpoint-{self.state.global_step}")
        os.makedirs(folder, exist_ok=True)
        if self.args.process_index == 0:
            torch.save(self.model.state_dict(), os.path.join(folder, "model.bin"))
            torch.save(self._optimizer.state_dict(), os.path.join(folder, "optimizer.pt"))
            with open(os.path.join(folder, "trainer_state.json"), "w") as file:
                json.dump(asdict(self.state), file)
        torch.save(torch.get_rng_state(),
                   os.path.join(folder, f"rng_state_{self.args.process_index}.pth"))
        if self.args.process_index == 0 and self.args.save_total_limit:
            self._rotate_checkpoints()

    def _rotate_checkpoints(self):
        found = sorted((int(re.match(r"checkpoint-(\d+)$", name).group(1)), name)
                       for name in os.listdir(self.args.output_dir)
                       if name.startswith("checkpoint-"))
        for _, name in found[:-self.args.save_total_limit]:
            shutil.rmtree(os.path.join(self.args.output_dir, name), ignore_errors=True)

    def _load(self, folder):
        with open(os.path.join(folder, "trainer_state.json")) as file:
            self.state = TrainerState(**json.load(file))
        self.model.load_state_dict(torch.load(os.path.join(folder, "model.bin")))
        self._optimizer.load_state_dict(torch.load(os.path.join(folder, "optimizer.pt")))
        torch.set_rng_state(torch.load(
            os.path.join(folder, f"rng_state_{self.args.process_index}.pth")))
