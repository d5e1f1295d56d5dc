/* Untrusted text inside XML and HTML. */
#ifndef LINNET_MARKUP_H
#define LINNET_MARKUP_H

#include <stdio.h>

/* Prints text escaped, for elements and quoted attributes. Control characters and bytes that
 * are not UTF-8 are shown like \x1b. */
void markup_print(FILE *out, const char *text);

#endif
