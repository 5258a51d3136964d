libworker_la_SOURCES +=
