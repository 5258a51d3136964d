# Other files that are installed: man pages, examples, sbatch templates.

# The sources of the Fortran module, which users compile with their own compiler.
fortrandir = $(pkgdatadir)/fortran
dist_fortran_DATA = share/fortran/raytrain_c.f90 share/fortran/raytrain.f90

examplesdir = $(docdir)/examples
dist_examples_DATA = \
	share/examples/hello.c share/examples/hello_main.c share/examples/hello.cc \
	share/examples/hello.f90 share/examples/fashion_mlp.c \
	share/examples/fashion_mlp_main.c share/examples/fashion_mlp.cfg \
	share/examples/mlp.c share/examples/mlp.h share/examples/mlp_kernels.h \
	share/examples/mlp_cpu.c share/examples/mlp_cuda.cu
examplestabulardir = $(examplesdir)/tabular
dist_examplestabular_DATA = share/examples/tabular/customers.py \
	share/examples/tabular/tabular.c share/examples/tabular/tabular.cfg \
	share/examples/tabular/tabular.py
examplestreesdir = $(examplesdir)/trees
dist_examplestrees_DATA = share/examples/trees/breast_cancer.py \
	share/examples/trees/trees.cfg share/examples/trees/trees.py
examplestutorialdir = $(examplesdir)/tutorial
dist_examplestutorial_DATA = share/examples/tutorial/line.c share/examples/tutorial/line.cfg \
	share/examples/tutorial/line.py share/examples/tutorial/line.sbatch \
	share/examples/tutorial/points.csv
examplesservedir = $(examplesdir)/serve
dist_examplesserve_SCRIPTS = share/examples/serve/image.sh
examplescallbacksdir = $(examplesdir)/callbacks
dist_examplescallbacks_SCRIPTS = share/examples/callbacks/notify.py \
	share/examples/callbacks/track.py
dist_examplescallbacks_DATA = share/examples/callbacks/print.c
examplespythondir = $(examplesdir)/python
dist_examplespython_DATA = share/examples/python/fit.py share/examples/python/notebook.ipynb
examplessweepdir = $(examplesdir)/sweep
dist_examplessweep_DATA = share/examples/sweep/compare.py share/examples/sweep/sweep.sbatch
sbatchdir = $(docdir)/sbatch
dist_sbatch_DATA = \
	share/sbatch/array.sbatch share/sbatch/container.sbatch share/sbatch/cpu.sbatch \
	share/sbatch/elastic.sbatch \
	share/sbatch/gpu.sbatch share/sbatch/python.sbatch share/sbatch/requeue.sbatch \
	share/sbatch/serve.sbatch share/sbatch/serve-nodes.sbatch

# The examples are built as a user would build them. Training functions find the raytrain_*
# functions in the worker that loads them.
EXAMPLE_CFLAGS = -I$(top_srcdir)/src/include -Wall -Wextra -fopenmp-simd \
	$(SANITIZE_CFLAGS)
EXAMPLE_COMPILE = $(AM_V_CCLD)$(MKDIR_P) share/examples && $(CC) $(EXAMPLE_CFLAGS) \
	$(CFLAGS) -shared -fPIC -o $@

noinst_DATA += share/examples/hello.so
share/examples/hello.so: share/examples/hello.c src/include/raytrain.h
	$(EXAMPLE_COMPILE) $(srcdir)/share/examples/hello.c

noinst_DATA += share/examples/tabular.so
share/examples/tabular.so: share/examples/tabular/tabular.c src/include/raytrain.h
	$(EXAMPLE_COMPILE) $(srcdir)/share/examples/tabular/tabular.c -lm

noinst_DATA += share/examples/hello_cxx.so
share/examples/hello_cxx.so: share/examples/hello.cc src/include/raytrain.h \
		src/include/raytrain.hpp
	$(AM_V_CXXLD)$(MKDIR_P) share/examples && $(CXX) -I$(top_srcdir)/src/include -Wall \
		-Wextra $(SANITIZE_CFLAGS) $(CXXFLAGS) -shared -fPIC -o $@ \
		$(srcdir)/share/examples/hello.cc

if HAVE_OPENBLAS
noinst_DATA += share/examples/fashion_mlp.so
share/examples/fashion_mlp.so: share/examples/fashion_mlp.c share/examples/mlp.c \
		share/examples/mlp.h share/examples/mlp_kernels.h share/examples/mlp_cpu.c \
		src/include/raytrain.h
	$(EXAMPLE_COMPILE) $(OPENBLAS_CFLAGS) $(srcdir)/share/examples/fashion_mlp.c \
		$(srcdir)/share/examples/mlp.c $(srcdir)/share/examples/mlp_cpu.c \
		$(OPENBLAS_LIBS) -lm

noinst_PROGRAMS += share/examples/fashion_mlp
share_examples_fashion_mlp_SOURCES = share/examples/fashion_mlp_main.c \
	share/examples/fashion_mlp.c share/examples/mlp.c share/examples/mlp.h \
	share/examples/mlp_kernels.h share/examples/mlp_cpu.c
share_examples_fashion_mlp_CFLAGS = $(DEPENDENCY_CFLAGS) $(EXAMPLE_CFLAGS) $(OPENBLAS_CFLAGS)
share_examples_fashion_mlp_LDFLAGS = $(AM_LDFLAGS) $(LIBRAYTRAIN_HERE)
share_examples_fashion_mlp_LDADD = $(LIBRAYTRAIN) $(OPENBLAS_LIBS) -lm
endif

CLEANFILES += $(noinst_DATA)

# What scripts/quickstart needs, installed: raytrain-run, what starts local workers, and what a
# program is built with.
if HAVE_OPENBLAS
quickstart_helpers = src/cmd/raytrain-worker src/cmd/raytrain-keeper src/cmd/raytrain-pmix
CLEANFILES += quickstart.stamp
quickstart.stamp: src/cmd/raytrain-run $(quickstart_helpers) $(LIBRAYTRAIN) \
		share/examples/fashion_mlp.so $(include_HEADERS) $(dist_pythonmodule_DATA) \
		$(dist_pythontorch_DATA) $(dist_pythonlightning_DATA)
	$(AM_V_GEN)$(MAKE) $(AM_MAKEFLAGS) bin_PROGRAMS=src/cmd/raytrain-run \
		pkglibexec_PROGRAMS='$(quickstart_helpers)' install-binPROGRAMS \
		install-pkglibexecPROGRAMS install-library install-includeHEADERS \
		install-pkgconfigDATA install-dist_pythonmoduleDATA install-dist_pythontorchDATA
	$(AM_V_at)touch $@
endif

dist_man_MANS += share/man/raytrain.7 \
	share/man/raytrain-run.1 share/man/raytrain-predict.1 share/man/raytrain-serve.1 share/man/raytrain-worker.8 share/man/raytrain.cfg.5 \
	share/man/raytrain-site.cfg.5 \
	share/man/raytrain-mpi.7 share/man/raytrain-checkpoint.7 share/man/raytrain-python.7 share/man/raytrain-trees.7 \
	share/man/raytrain-gpu.7 \
	share/man/raytrain.3 share/man/raytrain_allreduce.3 share/man/raytrain_batch_column.3 \
	share/man/raytrain_callback.3 \
	share/man/raytrain_checkpoint_create.3 share/man/raytrain_config_int.3 \
	share/man/raytrain_checkpoint_open.3 \
	share/man/raytrain_dtype_size.3 share/man/raytrain_get_checkpoint.3 \
	share/man/raytrain_get_dataset_shard.3 share/man/raytrain_last_error.3 \
	share/man/raytrain_main.3 share/man/raytrain_mpi_comm.3 \
	share/man/raytrain_predictor_output.3 \
	share/man/raytrain_random_u64.3 share/man/raytrain_rank.3 \
	share/man/raytrain_reducer_create.3 share/man/raytrain_report.3 \
	share/man/raytrain_run_dir.3 share/man/raytrain_set_stream.3

# A function that is described on the page of another one has a page that includes that one.
# The names are those in the NAME section of the pages.
man_links = \
	share/man/links/raytrain_run_name.3 share/man/links/raytrain_artifacts_dir.3 \
	share/man/links/raytrain_version.3 share/man/links/raytrain_callback_library.3 \
	share/man/links/raytrain_callback_iteration.3 share/man/links/raytrain_callback_number.3 \
	share/man/links/raytrain_callback_text.3 share/man/links/raytrain_callback_json.3 \
	share/man/links/raytrain_allreduce_mean.3 share/man/links/raytrain_broadcast.3 \
	share/man/links/raytrain_allgather.3 share/man/links/raytrain_barrier.3 \
	share/man/links/raytrain_allreduce_tensor.3 share/man/links/raytrain_broadcast_tensor.3 \
	share/man/links/raytrain_allgather_tensor.3 \
	share/man/links/raytrain_batch_rows.3 share/man/links/raytrain_batch_words.3 \
	share/man/links/raytrain_batch_word.3 share/man/links/raytrain_batch_ragged.3 \
	share/man/links/raytrain_batch_output.3 share/man/links/raytrain_batch_output_words.3 \
	share/man/links/raytrain_batch_put_ragged.3 share/man/links/raytrain_batch_remove.3 \
	share/man/links/raytrain_batch_fail.3 share/man/links/raytrain_checkpoint_put.3 \
	share/man/links/raytrain_checkpoint_close.3 share/man/links/raytrain_checkpoint_is_verified.3 \
	share/man/links/raytrain_checkpoint_name.3 share/man/links/raytrain_checkpoint_put_shard.3 \
	share/man/links/raytrain_checkpoint_put_string.3 share/man/links/raytrain_checkpoint_give.3 \
	share/man/links/raytrain_checkpoint_put_bytes.3 share/man/links/raytrain_checkpoint_put_file.3 \
	share/man/links/raytrain_checkpoint_get_bytes.3 share/man/links/raytrain_checkpoint_get_file.3 \
	share/man/links/raytrain_report_rank0.3 share/man/links/raytrain_set_metric_int64.3 \
	share/man/links/raytrain_set_metric_text.3 share/man/links/raytrain_set_metric_vector.3 \
	share/man/links/raytrain_checkpoint_wait.3 share/man/links/raytrain_durable_iteration.3 \
	share/man/links/raytrain_set_total.3 share/man/links/raytrain_last_status.3 \
	share/man/links/raytrain_checkpoint_overlap.3 share/man/links/raytrain_checkpoint_fence.3 \
	share/man/links/raytrain_checkpoint_discard.3 share/man/links/raytrain_config_double.3 \
	share/man/links/raytrain_config_bool.3 share/man/links/raytrain_config_string.3 \
	share/man/links/raytrain_config_int_array.3 share/man/links/raytrain_config_double_array.3 \
	share/man/links/raytrain_dtype_name.3 share/man/links/raytrain_checkpoint_info.3 \
	share/man/links/raytrain_checkpoint_get.3 share/man/links/raytrain_checkpoint_get_shard.3 \
	share/man/links/raytrain_checkpoint_get_string.3 share/man/links/raytrain_checkpoint_iteration.3 \
	share/man/links/raytrain_checkpoint_metric.3 share/man/links/raytrain_dataset_rows.3 \
	share/man/links/raytrain_dataset_epoch.3 share/man/links/raytrain_dataset_column_info.3 \
	share/man/links/raytrain_dataset_set_batch_size.3 share/man/links/raytrain_dataset_next.3 \
	share/man/links/raytrain_dataset_column.3 share/man/links/raytrain_dataset_words.3 \
	share/man/links/raytrain_dataset_word.3 share/man/links/raytrain_dataset_ragged.3 \
	share/man/links/raytrain_dataset_to_device.3 share/man/links/raytrain_dataset_padding.3 share/man/links/raytrain_status_name.3 \
	share/man/links/raytrain_random_uniform.3 share/man/links/raytrain_random_normal.3 \
	share/man/links/raytrain_world_size.3 share/man/links/raytrain_local_rank.3 \
	share/man/links/raytrain_local_world_size.3 share/man/links/raytrain_node_rank.3 \
	share/man/links/raytrain_node_count.3 share/man/links/raytrain_args.3 \
	share/man/links/raytrain_mpi_comm_f.3 share/man/links/raytrain_reducer_data.3 \
	share/man/links/raytrain_reducer_create_sharded.3 share/man/links/raytrain_reducer_gather.3 \
	share/man/links/raytrain_reducer_param.3 share/man/links/raytrain_reducer_shard.3 \
	share/man/links/raytrain_reducer_ready.3 share/man/links/raytrain_reducer_wait.3 \
	share/man/links/raytrain_reducer_destroy.3 share/man/links/raytrain_should_stop.3 \
	share/man/links/raytrain_should_checkpoint.3 share/man/links/raytrain_training_iteration.3 \
	share/man/links/raytrain_main_functions.3 share/man/links/raytrain_predictor_set_batch_size.3 \
	share/man/links/raytrain_predictor_dataset.3 share/man/links/raytrain_predictor_next.3 \
	share/man/links/raytrain_predictor_put.3
nodist_man_MANS = $(man_links)
CLEANFILES += $(man_links)
$(man_links):
	$(AM_V_GEN)$(MKDIR_P) share/man/links && cd $(srcdir)/share/man && \
	page=`grep -lE '^[a-z_0-9, ]*, $(@F:.3=)[, ]' raytrain_*.3` && \
	echo ".so man3/$$page" >$(abs_builddir)/$@

# make html: the manuals as pages for a browser.
html-local:
	cd $(srcdir) && share/man/html/make $(abs_builddir)/html $(dist_man_MANS)
EXTRA_DIST += share/man/html/make share/man/html/manual.css

# The rest of the source package.
dist_doc_DATA = README.md INSTALL.md NEWS.md HACKING.md CONTRIBUTING.md \
	share/doc/frameworks.md share/doc/lives.md
EXTRA_DIST += share/pictures/terminal.png share/pictures/page.png scripts/pictures
EXTRA_DIST += scripts/install-lightgbm
EXTRA_DIST += scripts/build scripts/packages scripts/quickstart scripts/test scripts/matrix
EXTRA_DIST += .clang-format
EXTRA_DIST += scripts/bench scripts/bench.d
EXTRA_DIST += scripts/package share/packaging
# Programs for rows of scripts/bench, which compile them.
EXTRA_PROGRAMS = scripts/bench.d/restore scripts/bench.d/inner
scripts_bench_d_restore_SOURCES = scripts/bench.d/restore.c
scripts_bench_d_restore_LDADD = $(WORKER_LIBS)
scripts_bench_d_inner_SOURCES = scripts/bench.d/inner.c
scripts_bench_d_inner_LDADD = $(WORKER_LIBS)

doc_tests = t/9010-man.t t/9020-options.t t/9030-readme.t t/9040-messages.t t/9140-examples-tested.t
dist_check_SCRIPTS += $(doc_tests)
TESTS += $(doc_tests)
if HAVE_OPENBLAS
TESTS += t/9100-examples.t
endif
TESTS += t/9110-tabular.t t/9120-trees.t t/9130-tutorial.t
dist_check_SCRIPTS += t/9110-tabular.t t/9120-trees.t t/9130-tutorial.t
dist_check_SCRIPTS += t/9100-examples.t

# The Python module `raytrain`, which workers add to PYTHONPATH. It has no compiled part. pip
# installs it from here, or from where it is installed.
pippythondir = $(pkgdatadir)/python
dist_pippython_DATA = share/python/pyproject.toml
pipbackenddir = $(pkgdatadir)/python/pip-backend
dist_pipbackend_DATA = share/python/pip-backend/raytrain_wheel.py
pythonmoduledir = $(pkgdatadir)/python/raytrain
dist_pythonmodule_DATA = \
	share/python/raytrain/__init__.py \
	share/python/raytrain/_arguments.py share/python/raytrain/_assign.py \
	share/python/raytrain/_batches.py \
	share/python/raytrain/_build.py \
	share/python/raytrain/_config.py share/python/raytrain/_constraint.py \
	share/python/raytrain/_context.py \
	share/python/raytrain/_exit.py share/python/raytrain/_expression.py \
	share/python/raytrain/_extracted.py \
	share/python/raytrain/_failures.py \
	share/python/raytrain/_fit.py \
	share/python/raytrain/_flatten.py \
	share/python/raytrain/_frame.py \
	share/python/raytrain/_frameworks.py \
	share/python/raytrain/_gbdt.py \
	share/python/raytrain/_gbdt_model.py \
	share/python/raytrain/_helper.py \
	share/python/raytrain/_events.py \
	share/python/raytrain/_ingest.py share/python/raytrain/_instead.py \
	share/python/raytrain/_launch.py \
	share/python/raytrain/_lazy.py \
	share/python/raytrain/_lightgbm_callback.py \
	share/python/raytrain/_local_mode.py \
	share/python/raytrain/_made_rows.py share/python/raytrain/_mapping.py \
	share/python/raytrain/_memory.py \
	share/python/raytrain/_metrics.py \
	share/python/raytrain/_offer.py \
	share/python/raytrain/_preemption.py \
	share/python/raytrain/_positions.py \
	share/python/raytrain/_predict.py \
	share/python/raytrain/_protocols.py share/python/raytrain/_read_config.py \
	share/python/raytrain/_reading.py \
	share/python/raytrain/_records.py share/python/raytrain/_reported.py \
	share/python/raytrain/_returned.py \
	share/python/raytrain/_worker_group.py share/python/raytrain/backend.py \
	share/python/raytrain/_row_ops.py \
	share/python/raytrain/_session.py \
	share/python/raytrain/_settings.py \
	share/python/raytrain/_shard.py \
	share/python/raytrain/_sharded.py \
	share/python/raytrain/_shipping.py \
	share/python/raytrain/_slots.py \
	share/python/raytrain/_sources.py \
	share/python/raytrain/_stored.py \
	share/python/raytrain/_transforms.py \
	share/python/raytrain/_tree.py \
	share/python/raytrain/_tree_reports.py \
	share/python/raytrain/_tree_workers.py share/python/raytrain/_upload.py \
	share/python/raytrain/_whole.py \
	share/python/raytrain/_wire.py \
	share/python/raytrain/_warnings.py \
	share/python/raytrain/_worker.py \
	share/python/raytrain/_xgboost_callback.py \
	share/python/raytrain/_serve_client.py \
	share/python/raytrain/batch_predictor.py \
	share/python/raytrain/serve.py \
	share/python/raytrain/callback.py \
	share/python/raytrain/checkpoint.py \
	share/python/raytrain/collective.py \
	share/python/raytrain/data.py \
	share/python/raytrain/errors.py \
	share/python/raytrain/horovod.py \
	share/python/raytrain/jax.py \
	share/python/raytrain/lightgbm.py \
	share/python/raytrain/predictor.py \
	share/python/raytrain/py.typed \
	share/python/raytrain/preprocessors.py \
	share/python/raytrain/result.py \
	share/python/raytrain/trainer.py \
	share/python/raytrain/xgboost.py
dist_pkgdata_DATA = share/enroot.conf
# A module file for Lmod. configure would replace @bindir@ here, too: hence the brackets.
modulefiledir = $(pkgdatadir)/modulefiles/raytrain
install-data-local:
	$(MKDIR_P) "$(DESTDIR)$(modulefiledir)"
	sed -e 's|[@]version@|$(VERSION)|g' -e 's|[@]pkgdatadir@|$(pkgdatadir)|g' \
		-e 's|[@]bindir@|$(bindir)|g' -e 's|[@]mandir@|$(mandir)|g' \
		-e 's|[@]pkgconfigdir@|$(pkgconfigdir)|g' \
		$(srcdir)/share/packaging/raytrain.lua.in >"$(DESTDIR)$(modulefiledir)/$(VERSION).lua"
uninstall-modulefile:
	rm -f "$(DESTDIR)$(modulefiledir)/$(VERSION).lua"

# A Python with this prefix finds it by a line in its site directory.
if HAVE_PYTHON
install-data-hook:
	$(MKDIR_P) "$(DESTDIR)$(pythondir)"
	echo "$(pkgdatadir)/python" >"$(DESTDIR)$(pythondir)/raytrain.pth"
uninstall-hook:
	rm -f "$(DESTDIR)$(pythondir)/raytrain.pth"
endif
pythontorchdir = $(pythonmoduledir)/torch
dist_pythontorch_DATA = \
	share/python/raytrain/torch/__init__.py \
	share/python/raytrain/torch/_checkpoint.py \
	share/python/raytrain/torch/_config.py \
	share/python/raytrain/torch/_data_loader.py \
	share/python/raytrain/torch/_place.py \
	share/python/raytrain/torch/_predictor.py \
	share/python/raytrain/torch/_process_group.py \
	share/python/raytrain/torch/_average.py \
	share/python/raytrain/torch/_reducer.py \
	share/python/raytrain/torch/_resume.py \
	share/python/raytrain/torch/_state.py \
	share/python/raytrain/torch/_train_loop.py \
	share/python/raytrain/torch/_trainer.py
pythonlightningdir = $(pythonmoduledir)/lightning
dist_pythonlightning_DATA = \
	share/python/raytrain/lightning/__init__.py \
	share/python/raytrain/lightning/_classes.py
pythontensorflowdir = $(pythonmoduledir)/tensorflow
dist_pythontensorflow_DATA = \
	share/python/raytrain/tensorflow/__init__.py \
	share/python/raytrain/tensorflow/_keras_callback.py \
	share/python/raytrain/tensorflow/keras.py
pythonhuggingfacedir = $(pythonmoduledir)/huggingface
dist_pythonhuggingface_DATA = share/python/raytrain/huggingface/__init__.py
pythontransformersdir = $(pythonmoduledir)/huggingface/transformers
dist_pythontransformers_DATA = \
	share/python/raytrain/huggingface/transformers/__init__.py \
	share/python/raytrain/huggingface/transformers/_classes.py
pythonexamplesdir = $(examplesdir)/python
dist_pythonexamples_DATA = share/examples/python/fashion_mnist_torch.py \
	share/examples/python/fit_jax.py \
	share/examples/python/fit_lightning.py share/examples/python/fit_transformers.py \
	share/examples/python/fit_xgboost.py
