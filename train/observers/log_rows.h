/* The observer that keeps the run's log.csv. */
#ifndef LINNET_LOG_ROWS_H
#define LINNET_LOG_ROWS_H

#include "train/folder.h"
#include "train/observers/observer.h"

/* Of a RunFolder, whose log is open. */
extern const ObserverCalls log_rows_calls;

#endif
