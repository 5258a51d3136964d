/* config_fixture.c - the configuration that tests of its keys and checks share. */
#include "config_fixture.h"

struct train_config cfg;

int config_setup(void **state)
{
    (void)state;
    train_config_init(&cfg);
    return 0;
}

int config_teardown(void **state)
{
    (void)state;
    train_config_clear(&cfg);
    train_config_clear(&cfg); /* twice is fine */
    return 0;
}
