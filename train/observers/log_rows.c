#include "train/observers/log_rows.h"

static bool logged(void *self, const RunLogRow *row, Error *error)
{
    RunFolder *folder = self;
    return runlog_append(&folder->log, row, error);
}

static bool ended(void *self, Error *error)
{
    RunFolder *folder = self;
    return runlog_close(&folder->log, error);
}

const ObserverCalls log_rows_calls = {.logged = logged, .ended = ended};
