# Tests: unit tests are listed in the local.mk of their room; here are the sharness scripts and
# the programs that they run. TESTS run against an installed tree, the stage.
EXTRA_DIST += t/README.md t/setup.sh t/faults.sh t/devices.sh t/predict.sh t/browser.sh t/mpi-programs.sh \
	t/lightgbm-library t/python-state.sh t/trees.sh t/trees/data.py \
	t/trees/lightgbm-log.py t/trees/scores.py t/trees/xgb.py

check_DATA += stage.stamp
CLEANFILES += stage.stamp
stage.stamp: $(LIBRAYTRAIN) $(bin_PROGRAMS) $(pkglibexec_PROGRAMS) $(include_HEADERS) \
		$(pkgconfig_DATA) $(dist_bashcompletion_DATA) $(dist_zshcompletion_DATA) $(dist_man_MANS) \
		$(dist_examplescallbacks_DATA) $(dist_examplescallbacks_SCRIPTS) \
		$(dist_fortran_DATA) $(dist_pkgdata_DATA) $(dist_pythonmodule_DATA) $(dist_pythontorch_DATA) \
		$(dist_pythonlightning_DATA) $(dist_pythonhuggingface_DATA) \
		$(dist_pythontransformers_DATA) $(dist_pythontensorflow_DATA)
	$(AM_V_GEN)rm -rf stage && \
	$(MAKE) $(AM_MAKEFLAGS) install DESTDIR=$(abs_top_builddir)/stage prefix=/usr/local \
		>stage.log 2>&1 || { cat stage.log; exit 1; }; \
	rm -f stage.log; touch $@
clean-local:
	rm -rf stage html t/trash t/mypy-cache

include t/check/local.mk
include t/device/local.mk
include t/cluster/local.mk

dist_check_SCRIPTS += t/0001-layers.t
TESTS += t/0001-layers.t
dist_check_SCRIPTS += t/0003-setup.t
TESTS += t/0003-setup.t
dist_check_SCRIPTS += t/0002-install.t
TESTS += t/0002-install.t
dist_check_SCRIPTS += t/0004-abi.t t/0005-module.t t/0006-packages.t t/0007-ignored.t t/0008-version.t
TESTS += t/0004-abi.t t/0005-module.t t/0006-packages.t t/0007-ignored.t t/0008-version.t
# What scripts/matrix --packages runs.
EXTRA_DIST += t/packages/use t/container/apptainer t/container/enroot
# The header as released, with which programs may have been built. HACKING.md says when it may be
# replaced.
EXTRA_DIST += t/abi/released.txt
update-abi:
	cp $(srcdir)/src/include/raytrain.h $(srcdir)/t/abi/released.txt
.PHONY: update-abi
include t/fuzz/local.mk
include t/runs.mk
