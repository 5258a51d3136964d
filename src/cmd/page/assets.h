/*
 * assets.h - page.css and page.js, line by line; the build makes assets.c of them.
 */
#ifndef RAYTRAIN_PAGE_ASSETS_H
#define RAYTRAIN_PAGE_ASSETS_H

extern const char *const page_css[]; /* NULL at the end */
extern const char *const page_js[];

#endif
