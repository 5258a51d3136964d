/* time_text.h - durations, in a form for people. */
#ifndef RAYTRAIN_INSPECT_TIME_TEXT_H
#define RAYTRAIN_INSPECT_TIME_TEXT_H

#define TIME_TEXT_MAX 40

/* "12.3s", "12m05s", "3h05m", "2d03h". */
char *time_text(double seconds, char text[TIME_TEXT_MAX]);
/* "12s", "12m", "3h", "2d". */
char *time_text_short(double seconds, char text[TIME_TEXT_MAX]);

#endif
