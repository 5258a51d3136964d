/* scratch.h - each test runs in an empty directory of its own, which goes afterwards.
 */
#ifndef RAYTRAIN_TEST_SCRATCH_H
#define RAYTRAIN_TEST_SCRATCH_H

#define SCRATCH(f) cmocka_unit_test_setup_teardown(f, scratch_enter, scratch_leave)

int scratch_enter(void **state);
int scratch_leave(void **state);
/* Names in a directory, hidden ones too; -1 if it cannot be read. */
int scratch_count(const char *path);

#endif
