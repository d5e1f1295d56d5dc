/* An inspection as JSON, for other programs: every digit, rows up to the diagonal. */
#ifndef LINNET_INSPECT_JSON_H
#define LINNET_INSPECT_JSON_H

#include "eval/inspect/inspection.h"

#include <stdio.h>

void inspect_print_json(FILE *out, const Inspection *inspection);

#endif
