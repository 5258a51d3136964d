# Loaded by a client (share/python/raytrain/torch/_average.py), without the rest of raytrain.
AVERAGE = src/worker/average/raytrain-average.so
average_objects = src/worker/average/average.o src/worker/mpi/combine.o \
	src/common/comm/comm.o src/common/util/error.o
averageexecdir = $(pkglibexecdir)
averageexec_SCRIPTS = $(AVERAGE)
CLEANFILES += $(AVERAGE)
$(AVERAGE): $(average_objects)
	$(AM_V_CCLD)$(CC) $(AM_CFLAGS) $(CFLAGS) -shared $(AM_LDFLAGS) $(LDFLAGS) -o $@ \
		$(average_objects)

UNIT_TESTS += t/unit/test_average
t_unit_test_average_SOURCES = t/unit/test_average.c src/worker/average/average.c \
	src/worker/average/average.h src/worker/average/average_head.h
