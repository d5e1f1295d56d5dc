/* The interface between the checks and tests/faults/inject.c, which is linked into the tested
 * programs.
 *
 * An environment variable sets a fault: "ACTION NUMBER ERRNO CALL,CALL,...". Of the calls of
 * these functions, counted from 1, the one with this number fails (once), or it and all later
 * ones (always), or it is cut short (half), or the process is killed before it (kill), or gets
 * SIGTERM after it (signal) or SIGTERM and SIGINT at once (signals). */
#ifndef LINNET_INJECT_H
#define LINNET_INJECT_H

#define INJECT_FAULT "LINNET_TEST_FAULT"

/* The file that records all calls which change files; unset: none. */
#define INJECT_RECORD "LINNET_TEST_RECORD"

/* An open file that gets a byte when a fault happens. */
enum { INJECT_FIRED_FD = 200 };

#endif
