/* Observers of training: screen, log, curves, samples, TensorBoard.
 *
 * The loop knows nothing of screens and files; it notifies observers, in the order of the list.
 * An observer is a table of functions, NULL for events it ignores, and their data. If one
 * cannot start, training does not begin. One that fails later is still notified, since a full
 * disk may have room again; it is an error only if it still fails at the end. Observers never
 * change what is trained. */
#ifndef LINNET_OBSERVER_H
#define LINNET_OBSERVER_H

#include "eval/runs/runlog.h"
#include "train/loop/trainer.h"

/* After a step. */
typedef struct StepNews {
    const Step *step;
    double smoothed_loss; /* exponential moving average of the training loss, unbiased */
    bool logged;          /* a row of the log follows */
} StepNews;

/* After a validation; its loss is in the trainer's progress. */
typedef struct ValidationNews {
    double train_loss; /* mean since the validation before; NAN if no step was taken */
    bool best;
} ValidationNews;

/* A text that the model generated. */
typedef struct SampleNews {
    size_t step;
    double epoch;
    const char *text; /* UTF-8 without control characters but line ends; ends with one */
} SampleNews;

typedef struct ObserverCalls {
    bool (*started)(void *self, Error *error);
    bool (*stepped)(void *self, const StepNews *news, Error *error);
    bool (*validated)(void *self, const ValidationNews *news, Error *error);
    bool (*sampled)(void *self, const SampleNews *news, Error *error);
    bool (*logged)(void *self, const RunLogRow *row, Error *error);
    /* Something went wrong; training continues. */
    void (*warned)(void *self, const char *text);
    /* Called once, however training ended, even if it did not begin. */
    bool (*ended)(void *self, Error *error);
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

bool observers_started(const Observers *observers, Error *error);
void observers_stepped(const Observers *observers, const StepNews *news);
void observers_validated(const Observers *observers, const ValidationNews *news);
void observers_sampled(const Observers *observers, const SampleNews *news);
void observers_logged(const Observers *observers, const RunLogRow *row);
/* Without an observer that takes warnings, prints to stderr. */
void observers_warned(const Observers *observers, const char *text);
/* Ends all of them, the last first; returns the first error. */
bool observers_ended(const Observers *observers, Error *error);

#endif
