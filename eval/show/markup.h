/* Untrusted text inside XML, HTML and JSON. Control characters and bytes that are not UTF-8 are
 * shown like \x1b. */
#ifndef LINNET_MARKUP_H
#define LINNET_MARKUP_H

#include "src/base/json.h"

#include <stdio.h>

/* Prints text escaped, for elements and quoted attributes. */
void markup_print(FILE *out, const char *text);

/* A string of JSON; null for NULL. */
json_t *markup_json(const char *text);
/* Prints JSON for a script element of HTML, compactly, and frees it. Nothing in it looks like
 * the end of the script. */
void markup_print_json(FILE *out, json_t *value);

#endif
