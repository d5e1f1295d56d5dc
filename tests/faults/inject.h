/* How tests/faults/check.c and its neighbours talk to tests/faults/inject.c, which is linked
 * into the programs that they run.
 *
 * A fault is told by the environment, as "ACTION NUMBER ERRNO CALL,CALL,...": of the calls of
 * these functions, counted from 1, the one with that number goes wrong (once), it and all
 * after it do (always), it is only half done (half), or the process is gone before it (kill).
 */
#ifndef LINNET_INJECT_H
#define LINNET_INJECT_H

#define INJECT_FAULT "LINNET_TEST_FAULT"

/* The file that all calls which change files are written down in; none unless it is set. */
#define INJECT_RECORD "LINNET_TEST_RECORD"

/* An open file that gets a byte when a fault has happened. */
enum { INJECT_FIRED_FD = 200 };

#endif
