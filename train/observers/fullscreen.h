/* The whole terminal as a page that is drawn again and again, by ANSI sequences alone.
 *
 * The page lies on the terminal's second screen, so that the first is found as it was. Lines
 * that have not changed are not written again, and what is written goes out in one piece
 * between the marks of a synchronized update, so that nothing flickers; a line never wraps.
 * Meanwhile standard error goes into a file, and onto the terminal when the page is gone: a
 * last message is never lost with the page. The terminal gets back what it had whatever
 * happens: at the end, at exit, at a signal or a crash, and while the program is stopped by
 * Ctrl-Z. */
#ifndef LINNET_FULLSCREEN_H
#define LINNET_FULLSCREEN_H

#include "src/error.h"

#include <stddef.h>

/* Whether standard error is a terminal that can be drawn on. */
bool fullscreen_is_possible(void);

/* Takes the terminal behind standard error; one at a time. */
bool fullscreen_enter(Error *error);
/* Gives it back; nothing happens if it was not taken. */
void fullscreen_leave(void);

typedef struct FullscreenLook {
    size_t columns, rows; /* of text that fits */
    bool utf8, colour;
} FullscreenLook;
FullscreenLook fullscreen_look(void);

/* Whether the size has changed, or the page was away, since it was drawn. */
bool fullscreen_is_stale(void);
/* Draws the page: an array of stb_ds of lines that fit the look, as many as there are. */
void fullscreen_draw(char *const *lines);

#endif
