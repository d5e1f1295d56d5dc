/* The observers of a session, chosen from its settings. */
#ifndef LINNET_AUDIENCE_H
#define LINNET_AUDIENCE_H

#include "train/observers/event_log.h"
#include "train/observers/samples.h"
#include "train/observers/screen.h"
#include "train/observers/watch.h"

typedef struct Audience {
    Observers observers; /* none on ranks other than the first: people look at that one */
    EventLog events;
    Samples samples;
    Curves curves;
    Watch watch;
} Audience;

/* Checks that all requested observers can work here; call it before creating anything. */
bool audience_check(const SessionOptions *options, Error *error);

/* The observers keep pointers into the audience, which must stay in its place. */
void audience_make(Audience *audience, Trainer *trainer, RunFolder *folder, Screen *screen);
void audience_free(Audience *audience);

#endif
