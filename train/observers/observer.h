/* Who is told how a training goes.
 *
 * The loop trains and knows nothing of screens and files. What is done with its news, each
 * observer decides for itself, in a file of its own: it is a table of functions, NULL for what
 * does not concern it, and whatever they need. They are told in the order of the list. One that
 * cannot start keeps the training from beginning; one that fails later is told on, for a disk
 * that is full today may have room tomorrow, and is an error only if it still fails at the end.
 * Observers look: nothing that they do may change what is trained. */
#ifndef LINNET_OBSERVER_H
#define LINNET_OBSERVER_H

#include "eval/runs/runlog.h"
#include "train/trainer.h"

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

/* A text that the model made. */
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
    /* Something went wrong and the training goes on. */
    void (*warned)(void *self, const char *text);
    /* However the training ended, and whether it began or not; only once. */
    bool (*ended)(void *self, Error *error);
} ObserverCalls;

typedef struct Observer {
    const ObserverCalls *calls;
    void *self;
    bool failing; /* since it last did what it was told */
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
/* If none of them takes warnings, it goes where warnings go. */
void observers_warned(const Observers *observers, const char *text);
/* All of them are told, the last first; the error is the first one. */
bool observers_ended(const Observers *observers, Error *error);

#endif
