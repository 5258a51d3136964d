libworker_a_SOURCES += \
	src/worker/command/batch_slot.c src/worker/command/batch_slot.h \
	src/worker/command/checkpoint_dicts.c \
	src/worker/command/checkpoint_directories.c \
	src/worker/command/checkpoint_make.c src/worker/command/checkpoint_make.h \
	src/worker/command/checkpoint_offer.c src/worker/command/checkpoint_offer.h \
	src/worker/command/checkpoint_requests.c \
	src/worker/command/checkpoint_state.c src/worker/command/checkpoint_state.h \
	src/worker/command/client_checkpoint.c src/worker/command/client_checkpoint.h \
	src/worker/command/client_dataset.c src/worker/command/client_dataset.h \
	src/worker/command/client_maps.c src/worker/command/client_maps.h \
	src/worker/command/command.c \
	src/worker/command/companion.c src/worker/command/companion.h \
	src/worker/command/container.c src/worker/command/container.h \
	src/worker/command/dataset_requests.c \
	src/worker/command/environment.c src/worker/command/environment.h \
	src/worker/command/frame_parse.c src/worker/command/frame_parse.h \
	src/worker/command/frame_wire.c src/worker/command/frame_wire.h \
	src/worker/command/gradient_requests.c \
	src/worker/command/helper.c src/worker/command/helper.h \
	src/worker/command/loader_positions.c \
	src/worker/command/predict_requests.c \
	src/worker/command/preprocess_requests.c \
	src/worker/command/session_requests.c src/worker/command/session_requests.h \
	src/worker/command/session_socket.c src/worker/command/session_socket.h \
	src/worker/command/shared_buffer.c src/worker/command/shared_buffer.h

UNIT_TESTS += t/unit/test_checkpoint_offer t/unit/test_frame_wire \
	t/unit/test_frame_parse
