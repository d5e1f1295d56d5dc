#include "train/loop/observer.h"
#include "src/base/containers.h"
#include "src/ranks/ranks.h"

void observers_add(Observers *observers, const ObserverCalls *calls, void *self)
{
    arrput(observers->list, ((Observer){.calls = calls, .self = self}));
}

void observers_free(Observers *observers)
{
    arrfree(observers->list);
}

/* Whether the observer succeeds or ignores the event. */
static bool tell(const Observer *observer, RunEvent event, const RunView *run, Error *error)
{
    const ObserverCalls *calls = observer->calls;
    return !calls->at[event] || calls->at[event](observer->self, run, error);
}

bool observers_started(const Observers *observers, const RunView *run, Error *error)
{
    for (size_t i = 0; i < arrlenu(observers->list); i++)
        if (!tell(&observers->list[i], RUN_STARTED, run, error))
            return false;
    return true;
}

/* One warning for a failure, however long it lasts. */
void observers_tell(const Observers *observers, RunEvent event, const RunView *run)
{
    for (size_t i = 0; i < arrlenu(observers->list); i++) {
        Observer *observer = &observers->list[i];
        Error why;
        if (!observer->calls->at[event])
            continue;
        bool good = tell(observer, event, run, &why);
        if (!good && !observer->failing)
            observers_warned(observers, why.text);
        if (!good)
            observer->why = why;
        observer->failing = !good;
    }
}

void observers_warned(const Observers *observers, const char *text)
{
    bool taken = false;
    for (size_t i = 0; i < arrlenu(observers->list); i++) {
        const Observer *observer = &observers->list[i];
        if (!observer->calls->warned)
            continue;
        observer->calls->warned(observer->self, text);
        taken = true;
    }
    if (!taken && ranks_first())
        print_warning("%s", text);
}

/* An observer that failed last time may still succeed at its end. */
static bool end(const Observer *observer, const RunView *run, Error *error)
{
    if (observer->calls->at[RUN_ENDED])
        return tell(observer, RUN_ENDED, run, error);
    if (observer->failing)
        *error = observer->why;
    return !observer->failing;
}

bool observers_ended(const Observers *observers, const RunView *run, Error *error)
{
    bool good = true;
    for (size_t i = arrlenu(observers->list); i-- > 0;) {
        Error later;
        const Observer *observer = &observers->list[i];
        good = end(observer, run, good ? error : &later) && good;
        if (observer->calls->free)
            observer->calls->free(observer->self);
    }
    return good;
}
