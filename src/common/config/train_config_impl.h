/* train_config_impl.h - what the files of train_config.h share. */
#ifndef RAYTRAIN_CONFIG_TRAIN_CONFIG_IMPL_H
#define RAYTRAIN_CONFIG_TRAIN_CONFIG_IMPL_H

#include "config/train_config.h"

#define OWN_KEYS "train_loop_config"

/* -- train_config.c -- */
bool train_config_is_whole(const struct train_config *cfg);

#endif
