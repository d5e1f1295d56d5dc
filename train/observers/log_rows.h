/* The observer that writes the run's log.csv. */
#ifndef LINNET_LOG_ROWS_H
#define LINNET_LOG_ROWS_H

#include "train/loop/folder.h"
#include "train/loop/observer.h"

/* `self` is a RunFolder with an open log. */
extern const ObserverCalls log_rows_calls;

#endif
