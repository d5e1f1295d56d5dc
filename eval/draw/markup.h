/* Text of people's choosing inside XML and HTML. */
#ifndef LINNET_MARKUP_H
#define LINNET_MARKUP_H

#include <stdio.h>

/* Prints it escaped, for the inside of elements and of quoted attributes. What is no character
 * of a document, control characters and bytes that are not UTF-8, is shown as \x1b. */
void markup_print(FILE *out, const char *text);

#endif
