/*
 * made_rows.h - rows that the workers of a run have made of its datasets, by functions
 * of the script (_made_rows.py): datasets with made = true, each a directory beside
 * that of the run, RUN.rows-NAME-1a2b3c4d. An attempt that continues reads them again.
 */
#ifndef RAYTRAIN_TRAIN_MADE_ROWS_H
#define RAYTRAIN_TRAIN_MADE_ROWS_H

#include "train/run.h"

/* Remove them after the run has finished. Other files stay, and a failure is a note. */
void made_rows_remove(struct run *run);

#endif
