#!/bin/sh

test_description='The types of the Python client: its public names, and what a type checker sees'

SETUP_WITHOUT_STAGE=1
. "$(dirname "$0")/setup.sh"

client=$srcdir/share/python
PYTHONPATH=$client
PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE

# mypy of bullseye is too old. Its cache is kept: a second run takes a second.
"$PYTHON" -m mypy --version 2>version | grep -q " [1-9]" && test_set_prereq MYPY
checked () {
	"$PYTHON" -m mypy --config-file "$srcdir/t/check/mypy.ini" \
		--enable-incomplete-feature Unpack --cache-dir "$builddir/t/mypy-cache" \
		--hide-error-context --no-error-summary "$@" | sed "/^Warning: Unpack/d"
}

test_expect_success 'type checkers and Python find the same public names' '
	cat >names.py <<-\EOT &&
	import ast, glob, sys
	for path in glob.glob(sys.argv[1] + "/**/__init__.py", recursive=True):
	    tree = ast.parse(open(path, encoding="utf-8").read())
	    lazy, typed = {}, {}
	    for node in tree.body:
	        if isinstance(node, ast.Assign) and node.targets[0].id == "_NAMES":
	            lazy = ast.literal_eval(node.value)
	        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
	            typed = {name.asname: found.module for found in node.body
	                     if isinstance(found, ast.ImportFrom) and found.level
	                     for name in found.names if name.asname == name.name}
	    for name in sorted(lazy.keys() | typed.keys()):
	        if lazy.get(name) != typed.get(name):
	            print(f"{path}: put {name} into both _NAMES and `if TYPE_CHECKING:`")
	EOT
	"$PYTHON" names.py "$client/raytrain" >found &&
	test_must_be_empty found
'

test_expect_success 'every public name of every module is there' '
	cat >public.py <<-\EOT &&
	import importlib, os, sys
	for name in sorted(os.listdir(sys.argv[1])):
	    if name[0] == "_" or not name.endswith(".py"):
	        continue
	    module = importlib.import_module("raytrain." + name[:-3])
	    assert module.__doc__, module
	    for public in getattr(module, "__all__", ()):
	        try:
	            assert getattr(module, public).__doc__, (module, public)
	        except ImportError as error:  # of a framework
	            assert not (error.name or "raytrain").startswith("raytrain"), error
	import raytrain
	for public in raytrain.__all__:
	    assert getattr(raytrain, public).__doc__, public
	EOT
	"$PYTHON" public.py "$client/raytrain"
'

test_expect_success 'an XGBoost without the class of callbacks is an ImportError that names the version' '
	mkdir -p old/xgboost && echo "__version__ = \"0.90\"; from . import callback" >old/xgboost/__init__.py &&
	: >old/xgboost/callback.py &&
	test_must_fail env PYTHONPATH="$PWD/old:$client" \
		"$PYTHON" -c "from raytrain.xgboost import RayTrainReportCallback" 2>err &&
	grep "^ImportError: .*needs XGBoost 1.3 or later, not 0.90" err
'

# The last block of the manual has those that are refused, the others those that are here.
test_expect_success 'names of Ray are here or refused with what to use, as the manual says' '
	sed -n "/^[.]SH .NAMES OF RAY TRAIN/,/^[.]SH .DIFF/p" \
		"$srcdir/share/man/raytrain-python.7" >section &&
	cat >ray.py <<-\EOT &&
	import importlib, re, sys
	*here, refused = re.findall("[.]nf\n(.*?)[.]fi", open("section").read(), re.DOTALL)
	here = " ".join(here)
	def value_of(whole):
	    module, _, name = whole.rpartition(".")
	    # Of packages that import a framework, the table alone is looked at.
	    found = importlib.import_module("raytrain." + module if module else "raytrain")
	    if module and name in [*getattr(found, "_NAMES", ()), *getattr(found, "__all__", ())]:
	        return name
	    return getattr(found, name)
	for name in here.split():
	    value_of(name)
	assert len(here.split()) > 35, here
	for name in refused.split():
	    try:
	        value_of(name)
	    except ImportError as error:
	        assert re.search("which ray.(train|data) has: .{20}", str(error)), error
	    else:
	        sys.exit(f"{name} is here: move it to the other list of raytrain-python(7)")
	from raytrain import _instead
	listed = {f"{module}.{name}".lstrip(".") for module in _instead.INSTEAD
	          for name in _instead.INSTEAD[module]}
	assert set(refused.split()) <= listed, set(refused.split()) - listed
	EOT
	"$PYTHON" ray.py
'

# A row is a class or a function of Ray Train's API reference and the names of its arguments.
test_expect_success 'each argument of the API of Ray Train is taken, or refused with what to use' '
	cat >arguments <<-\EOT &&
	ScalingConfig trainer_resources num_workers use_gpu resources_per_worker placement_strategy accelerator_type label_selector use_tpu topology elastic_resize_monitor_interval_s
	RunConfig name storage_path storage_filesystem failure_config checkpoint_config callbacks worker_runtime_env logging_config sync_config verbose stop progress_reporter log_to_file
	FailureConfig max_failures fail_fast controller_failure_limit max_preemption_failures preemption_grace_s relax_collectives_on_preemption
	CheckpointConfig num_to_keep checkpoint_score_attribute checkpoint_score_order checkpoint_frequency checkpoint_at_end
	DataConfig datasets_to_split execution_options enable_shard_locality
	DataConfig.configure datasets world_size worker_handles worker_node_ids kwargs
	data.Dataset.streaming_split n equal locality_hints
	Checkpoint path filesystem
	Checkpoint.from_directory path
	Checkpoint.to_directory path
	Result metrics checkpoint error path metrics_dataframe best_checkpoints _storage_filesystem return_value
	Result.from_path path storage_filesystem
	Result.get_best_checkpoint metric mode
	report metrics checkpoint checkpoint_dir_name checkpoint_upload_mode delete_local_checkpoint_after_upload checkpoint_upload_fn validation
	get_dataset_shard dataset_name
	get_all_reported_checkpoints consistency_mode timeout_s
	WorkerGroupError error_message worker_failures
	ControllerError controller_failure
	collective.broadcast_from_rank_zero data
	DataParallelTrainer train_loop_per_worker train_loop_config backend_config scaling_config run_config datasets dataset_config resume_from_checkpoint metadata validation_config
	torch.TorchTrainer train_loop_per_worker train_loop_config torch_config scaling_config run_config datasets dataset_config resume_from_checkpoint metadata validation_config
	tensorflow.TensorflowTrainer train_loop_per_worker train_loop_config tensorflow_config scaling_config run_config datasets dataset_config resume_from_checkpoint metadata validation_config
	jax.JaxTrainer train_loop_per_worker train_loop_config jax_config scaling_config run_config datasets dataset_config validation_config
	horovod.HorovodTrainer train_loop_per_worker train_loop_config horovod_config scaling_config run_config datasets dataset_config resume_from_checkpoint metadata
	torch.TorchConfig backend init_method timeout_s
	torch.prepare_model model move_to_device parallel_strategy parallel_strategy_kwargs wrap_ddp ddp_kwargs
	torch.prepare_data_loader data_loader add_dist_sampler move_to_device auto_transfer
	torch.accelerate amp
	torch.prepare_optimizer optimizer
	torch.backward tensor
	torch.enable_reproducibility seed
	torch.TorchCheckpoint.from_model model preprocessor
	torch.TorchCheckpoint.from_state_dict state_dict preprocessor
	torch.TorchCheckpoint.get_model model
	torch.TorchPredictor model preprocessor use_gpu
	torch.TorchPredictor.from_checkpoint checkpoint model use_gpu
	torch.TorchPredictor.predict data dtype
	lightning.prepare_trainer trainer
	lightning.RayTrainReportCallback.on_train_epoch_end trainer pl_module
	huggingface.transformers.prepare_trainer trainer
	huggingface.transformers.RayTrainReportCallback.on_save args state control kwargs
	tensorflow.keras.ReportCheckpointCallback checkpoint_on report_metrics_on metrics
	jax.JaxConfig use_tpu use_gpu
	horovod.HorovodConfig nics verbose key ssh_port ssh_identity_file ssh_str timeout_s placement_group_timeout_s
	xgboost.XGBoostConfig xgboost_communicator
	XGBoostFunctionTrainer train_loop_per_worker train_loop_config xgboost_config scaling_config run_config datasets dataset_config resume_from_checkpoint metadata validation_config
	GBDTTrainer datasets label_column params num_boost_round dmatrix_params scaling_config run_config preprocessor resume_from_checkpoint
	xgboost.RayTrainReportCallback metrics filename frequency checkpoint_at_end results_postprocessing_fn
	xgboost.RayTrainReportCallback.get_model checkpoint filename
	xgboost.XGBoostPredictor model preprocessor
	xgboost.XGBoostPredictor.from_checkpoint checkpoint
	xgboost.XGBoostPredictor.predict data feature_columns dmatrix_kwargs
	LightGBMFunctionTrainer train_loop_per_worker train_loop_config lightgbm_config scaling_config run_config datasets dataset_config resume_from_checkpoint metadata validation_config
	lightgbm.RayTrainReportCallback metrics filename frequency checkpoint_at_end results_postprocessing_fn
	lightgbm.RayTrainReportCallback.get_model checkpoint filename
	lightgbm.LightGBMPredictor model preprocessor
	lightgbm.LightGBMPredictor.predict data feature_columns
	lightgbm.normalize_pandas_for_lightgbm df
	data.read_csv paths filesystem TASKS arrow_open_stream_args partition_filter partitioning include_paths ignore_missing_paths shuffle file_extensions parse_options read_options convert_options memory_pool
	data.read_json paths lines filesystem TASKS arrow_open_stream_args partition_filter partitioning include_paths ignore_missing_paths shuffle file_extensions parse_options read_options memory_pool
	data.read_text paths encoding drop_empty_lines filesystem TASKS arrow_open_stream_args partition_filter partitioning include_paths ignore_missing_paths shuffle file_extensions
	data.read_numpy paths filesystem TASKS arrow_open_stream_args partition_filter partitioning include_paths ignore_missing_paths shuffle file_extensions mmap_mode allow_pickle fix_imports encoding max_header_size
	data.read_parquet paths filesystem columns TASKS tensor_column_schema partition_filter partitioning shuffle include_paths file_extensions filter schema dataset_kwargs use_threads batch_size batch_readahead fragment_readahead fragment_scan_options cache_metadata memory_pool
	data.from_items items TASKS
	data.from_numpy ndarrays
	data.from_pandas dfs override_num_blocks
	data.from_torch dataset local_read
	data.range n TASKS
	data.get_dataset_shard dataset_name
	ActorPoolStrategy size min_size max_size initial_size max_tasks_in_flight_per_actor enable_true_multi_threading
	TaskPoolStrategy size
	data.Dataset.map fn compute fn_args fn_kwargs fn_constructor_args fn_constructor_kwargs num_cpus num_gpus memory concurrency ray_remote_args_fn
	data.Dataset.map_batches fn batch_size compute batch_format zero_copy_batch fn_args fn_kwargs fn_constructor_args fn_constructor_kwargs num_cpus num_gpus memory concurrency udf_modifying_row_count ray_remote_args_fn
	data.Dataset.flat_map fn compute fn_args fn_kwargs fn_constructor_args fn_constructor_kwargs num_cpus num_gpus memory concurrency ray_remote_args_fn
	data.Dataset.filter fn expr compute fn_args fn_kwargs fn_constructor_args fn_constructor_kwargs num_cpus num_gpus memory concurrency ray_remote_args_fn
	data.Dataset.add_column col fn batch_format compute concurrency
	data.Dataset.select_columns cols compute concurrency
	data.Dataset.drop_columns cols compute concurrency
	data.Dataset.rename_columns names concurrency
	data.Dataset.random_shuffle seed num_blocks
	data.Dataset.limit limit
	data.Dataset.split_at_indices indices
	data.Dataset.split_proportionately proportions
	data.Dataset.train_test_split test_size shuffle seed stratify
	data.Dataset.unique column ignore_nulls
	data.Dataset.sum on ignore_nulls
	data.Dataset.min on ignore_nulls
	data.Dataset.max on ignore_nulls
	data.Dataset.mean on ignore_nulls
	data.Dataset.std on ddof ignore_nulls
	data.Dataset.sort key descending boundaries
	data.Dataset.groupby key num_partitions
	data.Dataset.take limit
	data.Dataset.take_all limit
	data.Dataset.take_batch batch_size batch_format
	data.Dataset.show limit
	data.Dataset.to_pandas limit
	data.Dataset.schema fetch_if_missing
	data.Dataset.columns fetch_if_missing
	data.DataIterator.iter_batches prefetch_batches batch_size batch_format drop_last local_shuffle_buffer_size local_shuffle_seed
	data.DataIterator.iter_torch_batches prefetch_batches batch_size dtypes device collate_fn drop_last local_shuffle_buffer_size local_shuffle_seed pin_memory
	whole.Groups.sum on ignore_nulls
	whole.Groups.min on ignore_nulls
	whole.Groups.max on ignore_nulls
	whole.Groups.mean on ignore_nulls
	whole.Groups.std on ddof ignore_nulls
	whole.Groups.map_groups fn compute batch_format zero_copy_batch fn_args fn_kwargs fn_constructor_args fn_constructor_kwargs num_cpus num_gpus memory concurrency ray_remote_args_fn
	EOT
	cat >arguments.py <<-\EOT &&
	import ast, glob, sys, warnings
	import raytrain
	from raytrain import _reading, _transforms
	from raytrain._protocols import Arguments

	# Read, not imported: some modules need a framework.
	found = {}
	for path in glob.glob(sys.argv[1] + "/**/*.py", recursive=True):
	    folder, _, file = path[len(sys.argv[1]) + 1:].rpartition("/")
	    folder = folder.replace("/", ".")
	    module = folder + "." + file[:-3].strip("_").partition("_")[0]  # _keras_callback: keras
	    for node in ast.parse(open(path, encoding="utf-8").read()).body:
	        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
	            for whole in node.name, f"{folder}.{node.name}", f"{module}.{node.name}":
	                found.setdefault(whole.lstrip("."), []).append(node)
	def member(owner, name):
	    for node in owner.body:
	        if getattr(node, "name", "") == name:
	            return node
	    for base in owner.bases:
	        for parent in found.get(ast.unparse(base).rpartition(".")[2], ()):
	            if isinstance(parent, ast.ClassDef) and member(parent, name):
	                return member(parent, name)
	    return None
	def function(whole):
	    owner, _, name = whole.rpartition(".")
	    node = found[whole][0] if whole in found else member(found[owner][0], name)
	    return member(node, "__init__") if isinstance(node, ast.ClassDef) else node
	def parameters(whole):
	    given = function(whole).args
	    names = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
	    return {argument.arg for argument in names if argument}
	for line in open("arguments"):
	    whole, *names = line.split()
	    taken = parameters(whole)
	    if "settings" in taken:
	        taken |= set(Arguments.__annotations__)
	    if {"options", "tasks"} & taken:  # of a function that reads
	        name = whole.rpartition(".")[2]
	        called = {node.attr for node in ast.walk(function(whole)) if isinstance(node, ast.Attribute)}
	        if "TASKS" in names:
	            names = set(names) - {"TASKS"} | _reading.TASKS
	        if "path_of" in called:
	            rest = dict.fromkeys(names)
	            _reading.path_of(name, "/", rest)
	            taken |= set(names) - set(rest)
	        if "delimiter_of" in called:
	            taken.add("parse_options")
	        if {"others", "check"} & called:
	            taken |= set(names) - set(_reading.others(name, dict.fromkeys(names)))
	    elif "resources" in taken:
	        taken |= _transforms._RESOURCES | {"ray_remote_args_fn"}
	    assert taken >= set(names), f"{whole} does not take {set(names) - taken}"

	def refused(kind, words, function, *args, **arguments):
	    with warnings.catch_warnings():
	        warnings.simplefilter("error")
	        try:
	            function(*args, **arguments)
	        except (kind, UserWarning) as error:
	            assert words in str(error), error
	        else:
	            raise AssertionError(words)
	from raytrain.horovod import HorovodConfig
	refused(TypeError, "list of names", raytrain.DataConfig, datasets_to_split="hello")
	refused(TypeError, "list of names", raytrain.DataConfig, datasets_to_split={})
	raytrain.DataConfig(execution_options=raytrain.DataConfig.default_ingest_options())
	refused(ValueError, "reads its rows itself", raytrain.DataConfig, execution_options={"a": 1})
	refused(ValueError, "in logs/", raytrain.RunConfig, logging_config={})
	refused(ValueError, "without ssh", HorovodConfig, ssh_port=22)
	refused(ValueError, "start_timeout_s", HorovodConfig, timeout_s=10)
	refused(NotImplementedError, "BatchPredictor", raytrain.DataParallelTrainer, print,
	        validation_config={})
	raytrain.DataConfig(["train"], enable_shard_locality=False)
	assert HorovodConfig() == HorovodConfig(nics=None, verbose=1)
	EOT
	"$PYTHON" arguments.py "$client/raytrain"
'

test_expect_success 'docstrings name each argument, what is returned and what is raised' '
	"$PYTHON" "$srcdir/t/check/python_docs.py" "$client/raytrain" >found &&
	test_must_be_empty found
'

test_expect_success 'a docstring without an argument, Returns or Raises is found' '
	cp -R "$client/raytrain" changed && chmod -R u+w changed &&
	cat >>changed/collective.py <<-\EOT &&

	def scatter(data: int) -> int:
	    """Divide data."""
	    if data < 0:
	        raise ValueError("negative")
	    return data
	EOT
	"$PYTHON" "$srcdir/t/check/python_docs.py" changed >found &&
	grep "^collective.py:[0-9]*: the docstring of scatter lacks data, Args:, Returns:, Raises:" found
'

test_expect_success 'no line of the client is longer than 88 columns' '
	cat >lines.py <<-\EOT &&
	import glob, sys
	for path in glob.glob(sys.argv[1] + "/**/*.py", recursive=True):
	    with open(path, encoding="utf-8") as file:
	        for number, line in enumerate(file, 1):
	            if len(line.rstrip("\n")) > 88:
	                print(f"{path}:{number}: {line}")
	EOT
	"$PYTHON" lines.py "$client" >found &&
	test_must_be_empty found
'

test_expect_success 'the client is marked as typed' '
	test -f "$client/raytrain/py.typed" &&
	grep raytrain/py.typed "$srcdir/share/local.mk"
'

test_expect_success MYPY 'the client is clean in the strict mode of mypy' '
	(cd "$client" && checked raytrain) >found
	test_must_be_empty found
'

test_expect_success MYPY 'a script has exact types' '
	cat >script.py <<-\EOT &&
	import raytrain
	from raytrain import data
	from raytrain.torch import TorchTrainer
	from raytrain.xgboost import XGBoostTrainer

	def train(config: dict[str, float]) -> None:
	    reveal_type(raytrain.get_context())
	    reveal_type(raytrain.get_context().get_world_rank())
	    reveal_type(raytrain.get_checkpoint())
	    reveal_type(raytrain.should_stop())
	    for batch in raytrain.get_dataset_shard("train").iter_batches(batch_size=4):
	        reveal_type(batch)
	    reveal_type(raytrain.broadcast_from_rank_zero([1]))
	    checkpoint = raytrain.Checkpoint.from_dict({"a": 1})
	    with checkpoint.as_directory() as path:
	        reveal_type(path)
	    raytrain.report({"loss": 0.5}, checkpoint=checkpoint)

	rows = data.read_csv("rows.csv", columns=["a"])
	reveal_type(rows)
	trainer = TorchTrainer(train, scaling_config=raytrain.ScalingConfig(num_workers=2),
	                       datasets={"train": rows})
	result = trainer.fit()
	reveal_type(result)
	reveal_type(result.checkpoint)
	reveal_type(result.best_checkpoints)
	reveal_type(trainer.scaling_config.num_workers)
	reveal_type(XGBoostTrainer(datasets={"train": rows}, label_column="a").fit())
	EOT
	checked script.py | sed "s/.*Revealed type is //; s/builtins[.]//g
		s/Tuple\[/tuple[/g; s/Union\[\([^][]*\), None\]/\1 | None/
		s/Union\[int, str, tuple\[int, int\]\]/int | str | tuple[int, int]/" >types
	cat >expect <<-\EOT &&
	"raytrain._context.Context"
	"int"
	"raytrain.checkpoint.Checkpoint | None"
	"bool"
	"dict[str, Any]"
	"list[int]"
	"str"
	"raytrain.data.Dataset"
	"raytrain.result.Result"
	"raytrain.checkpoint.Checkpoint | None"
	"list[tuple[raytrain.checkpoint.Checkpoint, dict[str, Any]]]"
	"int | str | tuple[int, int]"
	"raytrain.result.Result"
	EOT
	test_cmp expect types
'

test_expect_success MYPY 'a wrong name, argument or type in a script is found' '
	cat >wrong.py <<-\EOT &&
	import raytrain
	from raytrain.torch import TorchTrainer
	raytrain.get_chekpoint()
	raytrain.report([1])
	raytrain.ScalingConfig(workers=2)
	TorchTrainer(print, scaling_confg=raytrain.ScalingConfig())
	TorchTrainer(print, scaling_config={"num_workers": 2})
	EOT
	checked wrong.py >found
	sed -n "s/^wrong.py:\([0-9]*\): error.*/\1/p" found >lines &&
	printf "%s\n" 3 4 5 6 7 >expect &&
	test_cmp expect lines
'

test_done
