/* Fault injection: main whole|quick DIRECTORY [GROUP], where DIRECTORY has the programs linked
 * with tests/faults/inject.c. */
#include "src/base/error.h"
#include "tests/faults/checks.h"
#include "tests/faults/session.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    program_name_set(argv[0]);
    if (argc < 3 || (strcmp(argv[1], "whole") != 0 && strcmp(argv[1], "quick") != 0))
        die("usage: main whole|quick DIRECTORY [GROUP]");
    bool quick = strcmp(argv[1], "quick") == 0;
    const char *only = argc > 3 ? argv[3] : NULL;
    session_begin(argv[2]);
    if (!only || strcmp(only, "flips") == 0)
        check_flips(quick);
    if (!only || strcmp(only, "places") == 0)
        check_places();
    if (!only || strcmp(only, "power") == 0)
        check_power(quick);
    if (!only || strcmp(only, "kills") == 0)
        check_kills(quick);
    if (!only || strcmp(only, "faults") == 0)
        check_faults(quick);
    return session_end();
}
