pkglibexec_PROGRAMS += src/cmd/raytrain-worker
src_cmd_raytrain_worker_SOURCES = src/cmd/raytrain-worker.c
src_cmd_raytrain_worker_LDADD = libraytrain.la
