liblauncher_a_SOURCES += \
	src/launcher/view/block.c src/launcher/view/block.h \
	src/launcher/view/duration.c src/launcher/view/duration.h \
	src/launcher/view/metric_view.c src/launcher/view/metric_view.h \
	src/launcher/view/next_command.c src/launcher/view/next_command.h \
	src/launcher/view/page.c src/launcher/view/page.h \
	src/launcher/view/plain.c src/launcher/view/plain.h \
	src/launcher/view/run_state.c src/launcher/view/run_state.h \
	src/launcher/view/summary.c src/launcher/view/summary.h \
	src/launcher/view/terminal.c src/launcher/view/terminal.h

UNIT_TESTS += t/unit/test_page t/unit/test_run_state t/unit/test_view
