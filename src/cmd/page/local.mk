# The page of a run, a part of raytrain-inspect.
PAGE_SOURCES = src/cmd/page/run_page.c src/cmd/page/run_page.h src/cmd/page/assets.h \
	src/cmd/page/axis.c src/cmd/page/axis.h src/cmd/page/chart.c \
	src/cmd/page/chart.h src/cmd/page/commands.c src/cmd/page/compare_page.c \
	src/cmd/page/compare_page.h \
	src/cmd/page/curve.c src/cmd/page/curve.h src/cmd/page/document.c \
	src/cmd/page/document.h src/cmd/page/facts.c \
	src/cmd/page/facts.h src/cmd/page/failures.c src/cmd/page/grid.c \
	src/cmd/page/grid.h src/cmd/page/html.c src/cmd/page/html.h \
	src/cmd/page/log_tail.c src/cmd/page/log_tail.h src/cmd/page/measures.c \
	src/cmd/page/measures.h src/cmd/page/score.c src/cmd/page/score.h \
	src/cmd/page/sections.h src/cmd/page/series.c src/cmd/page/series.h \
	src/cmd/page/stalls.c src/cmd/page/overlay.c src/cmd/page/overlay.h \
	src/cmd/page/overview.c src/cmd/page/superseded.c \
	src/cmd/page/superseded.h src/cmd/page/tables.c \
	src/cmd/page/timeline.c

# The style and the script, line by line as C strings.
PAGE_ASSETS = src/cmd/page/page.css src/cmd/page/page.js
EXTRA_DIST += $(PAGE_ASSETS)
CLEANFILES += src/cmd/page/assets.c
src/cmd/page/assets.c: $(PAGE_ASSETS)
	$(AM_V_GEN)$(MKDIR_P) src/cmd/page && { \
	echo "#include <stddef.h>" && echo "#include \"page/assets.h\"" && \
	for kind in css js; do \
		echo "const char *const page_$$kind[] = {" && \
		sed 's/[\\"]/\\&/g; s/^/    "/; s/$$/\\n",/' \
			$(top_srcdir)/src/cmd/page/page.$$kind && \
		echo '    NULL};' || exit 1; \
	done; } >$@.tmp && mv $@.tmp $@

PAGE_TESTS = t/2170-report-page.t t/2171-report-browser.t
dist_check_SCRIPTS += $(PAGE_TESTS)
TESTS += $(PAGE_TESTS)
