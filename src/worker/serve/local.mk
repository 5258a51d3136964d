libworker_a_SOURCES += \
	src/worker/serve/life_signs.c src/worker/serve/life_signs.h \
	src/worker/serve/serve_inputs.c src/worker/serve/serve_inputs.h \
	src/worker/serve/service_predictor.c src/worker/serve/service_predictor.h \
	src/worker/serve/service_socket.c src/worker/serve/service_socket.h \
	src/worker/serve/repeat_rows.c src/worker/serve/repeat_rows.h

UNIT_TESTS += t/unit/test_service_predictor
