/* What a session says at its end. */
#ifndef LINNET_FAREWELL_H
#define LINNET_FAREWELL_H

#include "train/loop/folder.h"
#include "train/loop/loop.h"
#include "train/observers/observers.h"

/* Prints how the session ended, the best loss, and how to continue; returns the exit status. */
int farewell(LoopEnd end, const RunView *run, const RunFolder *folder, Screen *screen,
             const Error *error);

#endif
