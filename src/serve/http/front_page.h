/* front_page.h - the page at "/", which is front_page.html: one file that needs no other. */
#ifndef RAYTRAIN_HTTP_FRONT_PAGE_H
#define RAYTRAIN_HTTP_FRONT_PAGE_H

extern const char front_page[];

#endif
