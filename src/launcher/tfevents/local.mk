liblauncher_a_SOURCES += \
	src/launcher/tfevents/crc32c.c src/launcher/tfevents/crc32c.h \
	src/launcher/tfevents/event_files.c src/launcher/tfevents/event_files.h \
	src/launcher/tfevents/record.c src/launcher/tfevents/record.h \
	src/launcher/tfevents/run_events.c src/launcher/tfevents/run_events.h \
	src/launcher/tfevents/summary_event.c src/launcher/tfevents/summary_event.h

# The messages, generated from their description.
nodist_liblauncher_a_SOURCES += src/launcher/tfevents/tfevents.pb-c.c
EXTRA_DIST += src/launcher/tfevents/tfevents.proto
CLEANFILES += src/launcher/tfevents/tfevents.pb-c.c src/launcher/tfevents/tfevents.pb-c.h

src/launcher/tfevents/summary_event.o: src/launcher/tfevents/tfevents.pb-c.h
src/launcher/tfevents/tfevents.pb-c.o: src/launcher/tfevents/tfevents.pb-c.c
src/launcher/tfevents/%.pb-c.c src/launcher/tfevents/%.pb-c.h: src/launcher/tfevents/%.proto
	$(AM_V_GEN)$(MKDIR_P) src/launcher/tfevents && \
	$(PROTOC_C) --c_out=src/launcher/tfevents -I$(srcdir)/src/launcher/tfevents \
		$(srcdir)/src/launcher/tfevents/tfevents.proto

UNIT_TESTS += t/unit/test_tfevents
