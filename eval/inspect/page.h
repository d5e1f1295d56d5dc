/* An inspection as one HTML page that needs nothing else: no network, no script. */
#ifndef LINNET_INSPECT_PAGE_H
#define LINNET_INSPECT_PAGE_H

#include "eval/inspect/inspection.h"

#include <stdio.h>

typedef struct InspectPage {
    const char *run;
    const Inspection *inspection;
} InspectPage;

/* The page is handed as content of file_replace_printed. */
void inspect_print_page(FILE *out, const void *page);

#endif
