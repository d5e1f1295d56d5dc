/* Warnings on compared runs: those without a loss, diverged runs, test scores that are left
 * out, and groups whose runs have reached different steps. */
#ifndef LINNET_COMPARE_NOTES_H
#define LINNET_COMPARE_NOTES_H

#include "eval/runs/groups.h"

void notes_print(const Comparison *all);

#endif
