liblauncher_a_SOURCES += \
	src/launcher/callback/callback.c src/launcher/callback/callback.h \
	src/launcher/callback/csv.c \
	src/launcher/callback/deferred.c src/launcher/callback/deferred.h \
	src/launcher/callback/event_command.c \
	src/launcher/callback/kept_lines.c src/launcher/callback/kept_lines.h \
	src/launcher/callback/listener.c src/launcher/callback/listener.h \
	src/launcher/callback/prometheus.c \
	src/launcher/callback/fit_events.c \
	src/launcher/callback/progress_csv.c src/launcher/callback/progress_csv.h \
	src/launcher/callback/notes.c src/launcher/callback/progress.c \
	src/launcher/callback/tensorboard.c

UNIT_TESTS += t/unit/test_callback t/unit/test_deferred t/unit/test_listener \
	t/unit/test_progress_csv
