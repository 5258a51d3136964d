/* duration.h - times as short text. */
#ifndef RAYTRAIN_VIEW_DURATION_H
#define RAYTRAIN_VIEW_DURATION_H

#define DURATION_TEXT 32

/* "0:07", "12:30", "1:02:03", "3 d 04:05". Returns out. */
char *duration_text(double seconds, char out[DURATION_TEXT]);
/* "just now", "8 s ago", "12 min ago", "5 h ago", "3 d ago". Returns out. */
char *age_text(double seconds, char out[DURATION_TEXT]);
/* For an iteration: "0.52 s", "12 ms", "2:10". Returns out. */
char *pace_text(double seconds, char out[DURATION_TEXT]);

#endif
