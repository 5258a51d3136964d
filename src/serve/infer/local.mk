libserve_la_SOURCES += \
	src/serve/infer/answer.h \
	src/serve/infer/datatype.c src/serve/infer/datatype.h \
	src/serve/infer/element.c src/serve/infer/element.h \
	src/serve/infer/infer.h \
	src/serve/infer/json_scan.c src/serve/infer/json_scan.h \
	src/serve/infer/metadata.c \
	src/serve/infer/refusal.c src/serve/infer/refusal.h \
	src/serve/infer/request.c \
	src/serve/infer/request_csv.c \
	src/serve/infer/request_json.c \
	src/serve/infer/request_parse.h \
	src/serve/infer/response.c \
	src/serve/infer/rows_binary.c \
	src/serve/infer/rows_json.c \
	src/serve/infer/tensor_take.c

UNIT_TESTS += t/unit/test_infer_metadata t/unit/test_infer_request \
	t/unit/test_infer_response
