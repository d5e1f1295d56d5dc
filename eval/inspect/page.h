/* An inspection as a self-contained HTML page, without network or script. */
#ifndef LINNET_INSPECT_PAGE_H
#define LINNET_INSPECT_PAGE_H

#include "eval/inspect/inspection.h"

#include <stdio.h>

typedef struct InspectPage {
    const char *run;
    const Inspection *inspection;
} InspectPage;

/* Prints the page; a function for file_replace_printed. */
void inspect_print_page(FILE *out, const void *page);

#endif
