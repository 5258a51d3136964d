liblauncher_a_SOURCES += \
	src/launcher/show/equal_lines.c src/launcher/show/equal_lines.h \
	src/launcher/show/screen.c src/launcher/show/screen.h \
	src/launcher/show/shown.c src/launcher/show/shown.h \
	src/launcher/show/tee.c src/launcher/show/tee.h \
	src/launcher/show/tee_process.c

UNIT_TESTS += t/unit/test_equal_lines t/unit/test_output_wire
