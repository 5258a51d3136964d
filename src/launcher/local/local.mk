liblauncher_a_SOURCES += \
	src/launcher/local/blame.c src/launcher/local/blame.h \
	src/launcher/local/child_env.c src/launcher/local/child_env.h \
	src/launcher/local/gpus.c src/launcher/local/gpus.h \
	src/launcher/local/keeper.c src/launcher/local/keeper.h \
	src/launcher/local/keeper_process.c src/launcher/local/keeper_process.h \
	src/launcher/local/local_launcher.c \
	src/launcher/local/machine.c src/launcher/local/machine.h \
	src/launcher/local/pmix_server.c src/launcher/local/pmix_server.h

UNIT_TESTS += t/unit/test_launch_local t/unit/test_local_machine \
	t/unit/test_local_blame t/unit/test_pmix_server

if HAVE_CMOCKA
# Unit tests find the programs of the launcher as raytrain-run does.
check_DATA += t/libexec/raytrain/raytrain-keeper t/libexec/raytrain/raytrain-pmix
CLEANFILES += t/libexec/raytrain/raytrain-keeper t/libexec/raytrain/raytrain-pmix
t/libexec/raytrain/raytrain-keeper: src/cmd/raytrain-keeper
t/libexec/raytrain/raytrain-pmix: src/cmd/raytrain-pmix
t/libexec/raytrain/raytrain-keeper t/libexec/raytrain/raytrain-pmix:
	$(AM_V_GEN)mkdir -p $(@D) && ln -sf $(abs_top_builddir)/src/cmd/$(@F) $@
EXTRA_t_unit_test_launch_local_DEPENDENCIES = t/libexec/raytrain/raytrain-keeper \
	t/libexec/raytrain/raytrain-pmix
EXTRA_t_unit_test_pmix_server_DEPENDENCIES = t/libexec/raytrain/raytrain-pmix
endif
