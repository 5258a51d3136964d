/* config_fixture.h - a configuration with its defaults for each test, and an error. */
#ifndef RAYTRAIN_TEST_CONFIG_FIXTURE_H
#define RAYTRAIN_TEST_CONFIG_FIXTURE_H

#include "config/train_config.h"

extern struct train_config cfg;
extern struct error err;

int config_setup(void **state);
int config_teardown(void **state);

#endif
