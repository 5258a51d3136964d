libserve_a_SOURCES += \
	src/serve/http/access_log.c src/serve/http/access_log.h \
	src/serve/http/clients.c src/serve/http/clients.h \
	src/serve/http/exchange.c src/serve/http/exchange.h \
	src/serve/http/front.c src/serve/http/front.h src/serve/http/front_page.h \
	src/serve/http/front_options.h \
	src/serve/http/header_fault.c src/serve/http/header_fault.h \
	src/serve/http/host.c src/serve/http/host.h \
	src/serve/http/infer_route.c \
	src/serve/http/listening.c src/serve/http/listening.h \
	src/serve/http/model_routes.c \
	src/serve/http/named_model.c src/serve/http/named_model.h \
	src/serve/http/route.c src/serve/http/route.h \
	src/serve/http/served_model.c src/serve/http/served_model.h \
	src/serve/http/token.c src/serve/http/token.h \
	src/serve/http/turns.c src/serve/http/turns.h \
	src/serve/http/watch_routes.c
nodist_libserve_a_SOURCES += src/serve/http/front_page.c

# The page, line by line as a C string.
EXTRA_DIST += src/serve/http/front_page.html
CLEANFILES += src/serve/http/front_page.c
src/serve/http/front_page.c: src/serve/http/front_page.html
	$(AM_V_GEN)$(MKDIR_P) src/serve/http && { \
	echo '#include "http/front_page.h"' && echo && echo 'const char front_page[] =' && \
	sed 's/[\\"]/\\&/g; s/^/    "/; s/$$/\\n"/' \
		$(top_srcdir)/src/serve/http/front_page.html && \
	echo '    ;'; } >$@.tmp && mv $@.tmp $@

UNIT_TESTS += t/unit/test_clients t/unit/test_listening

dist_check_SCRIPTS += t/1520-serve-front.t t/1525-serve-page.t
TESTS += t/1520-serve-front.t t/1525-serve-page.t
