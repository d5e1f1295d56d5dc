/* Observers of training: screen, log, curves, samples, TensorBoard.
 *
 * The loop knows nothing of screens and files; it tells observers of events, in the order of
 * the list. An observer is a table of functions, NULL for events it ignores, and their data. If
 * one cannot start, training does not begin. One that fails later is still called, since a full
 * disk may have room again; it is an error only if it still fails at the end. Observers never
 * change what is trained. */
#ifndef LINNET_OBSERVER_H
#define LINNET_OBSERVER_H

#include "train/loop/view.h"

typedef enum RunEvent {
    RUN_STARTED,
    RUN_STEPPED,
    RUN_VALIDATED,
    RUN_SAMPLED, /* the model generated a text */
    RUN_LOGGED,  /* a row of the log is complete */
    RUN_ENDED,   /* the last event, however training ended, even if it did not begin */
    RUN_EVENTS
} RunEvent;

typedef bool ObserverCall(void *self, const RunView *run, Error *error);

typedef struct ObserverCalls {
    ObserverCall *at[RUN_EVENTS];
    /* Something went wrong; training continues. */
    void (*warned)(void *self, const char *text);
    /* Frees what self points to, after the end. */
    void (*free)(void *self);
} ObserverCalls;

typedef struct Observer {
    const ObserverCalls *calls;
    void *self;
    bool failing; /* its last call failed */
    Error why;
} Observer;

typedef struct Observers {
    Observer *list; /* an array of stb_ds */
} Observers;

void observers_add(Observers *observers, const ObserverCalls *calls, void *self);
void observers_free(Observers *observers);

bool observers_started(const Observers *observers, const RunView *run, Error *error);
void observers_tell(const Observers *observers, RunEvent event, const RunView *run);
/* Without an observer that takes warnings, prints to stderr. */
void observers_warned(const Observers *observers, const char *text);
/* Ends all of them, the last first; returns the first error. */
bool observers_ended(const Observers *observers, const RunView *run, Error *error);

#endif
