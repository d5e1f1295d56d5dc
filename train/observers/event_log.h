/* The observer that writes TensorBoard event files into the run directory: a scalar for each
 * number of a log row, and the settings and samples as texts. */
#ifndef LINNET_EVENT_LOG_H
#define LINNET_EVENT_LOG_H

#include "eval/runs/events.h"
#include "train/loop/observer.h"

typedef struct EventLog {
    const Trainer *trainer;
    const char *folder; /* borrowed */
    EventFile file;
} EventLog;

/* Nothing is written before the training starts. */
void event_log_init(EventLog *log, const Trainer *trainer, const char *folder);
extern const ObserverCalls event_log_calls;

#endif
