/* A full-screen page on the terminal, drawn with ANSI escape sequences alone.
 *
 * The page uses the terminal's alternate screen, so the normal one stays as it was. Only
 * changed lines are written, in one piece inside a synchronized update, so nothing flickers;
 * lines never wrap. Meanwhile standard error goes to a file, and to the terminal when the page
 * is left, so no message is lost. The terminal is restored in every case: at the end, at exit,
 * at a signal or a crash, and while Ctrl-Z stops the program. */
#ifndef LINNET_FULLSCREEN_H
#define LINNET_FULLSCREEN_H

#include "src/base/error.h"

#include <stddef.h>

/* Whether standard error is a terminal that can be drawn on. */
bool fullscreen_is_possible(void);

/* Takes the terminal of standard error; one page at a time. */
bool fullscreen_enter(Error *error);
/* Restores it, if it was taken. */
void fullscreen_leave(void);

typedef struct FullscreenLook {
    size_t columns, rows; /* of text that fits */
    bool utf8, colour;
} FullscreenLook;
FullscreenLook fullscreen_look(void);

/* Whether the page must be redrawn: the size changed, or it was hidden. */
bool fullscreen_is_stale(void);
/* Draws the page: an array of stb_ds of lines that fit the size. */
void fullscreen_draw(char *const *lines);

#endif
