liblauncher_la_SOURCES +=
