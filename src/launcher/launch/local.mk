liblauncher_a_SOURCES += \
	src/launcher/launch/attempt_plan.c src/launcher/launch/attempt_plan.h \
	src/launcher/launch/allocation_request.h src/launcher/launch/batch_request.h \
	src/launcher/launch/batch_system.c src/launcher/launch/batch_system.h \
	src/launcher/launch/findings.c src/launcher/launch/findings.h \
	src/launcher/launch/finish.c src/launcher/launch/finish.h \
	src/launcher/launch/launcher.c src/launcher/launch/launcher.h \
	src/launcher/launch/node_probe.c src/launcher/launch/node_probe.h \
	src/launcher/launch/placement.c src/launcher/launch/placement.h \
	src/launcher/launch/time_margin.c src/launcher/launch/time_margin.h

UNIT_TESTS += t/unit/test_attempt_plan t/unit/test_placement t/unit/test_launcher
