#include "train/loop/observer.h"
#include "src/containers.h"

void observers_add(Observers *observers, const ObserverCalls *calls, void *self)
{
    arrput(observers->list, ((Observer){.calls = calls, .self = self}));
}

void observers_free(Observers *observers)
{
    arrfree(observers->list);
}

bool observers_started(const Observers *observers, Error *error)
{
    for (size_t i = 0; i < arrlenu(observers->list); i++) {
        const Observer *observer = &observers->list[i];
        if (observer->calls->started && !observer->calls->started(observer->self, error))
            return false;
    }
    return true;
}

/* One warning for a failure, however long it lasts. */
static void note(const Observers *observers, Observer *observer, bool good, const Error *why)
{
    if (!good) {
        if (!observer->failing)
            observers_warned(observers, why->text);
        observer->why = *why;
    }
    observer->failing = !good;
}

/* Calls one function of every observer that has it. */
#define TELL(observers, function, news)                                                      \
    for (size_t i = 0; i < arrlenu((observers)->list); i++) {                                \
        Observer *observer = &(observers)->list[i];                                          \
        Error why;                                                                           \
        if (observer->calls->function)                                                       \
            note(observers, observer, observer->calls->function(observer->self, news, &why), \
                 &why);                                                                      \
    }

void observers_stepped(const Observers *observers, const StepNews *news)
{
    TELL(observers, stepped, news)
}

void observers_validated(const Observers *observers, const ValidationNews *news)
{
    TELL(observers, validated, news)
}

void observers_sampled(const Observers *observers, const SampleNews *news)
{
    TELL(observers, sampled, news)
}

void observers_logged(const Observers *observers, const RunLogRow *row)
{
    TELL(observers, logged, row)
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
    if (!taken)
        print_warning("%s", text);
}

/* An observer that failed last time may still succeed at its end. */
static bool end(Observer *observer, Error *error)
{
    if (observer->calls->ended)
        return observer->calls->ended(observer->self, error);
    if (observer->failing)
        *error = observer->why;
    return !observer->failing;
}

bool observers_ended(const Observers *observers, Error *error)
{
    bool good = true;
    for (size_t i = arrlenu(observers->list); i-- > 0;) {
        Error later;
        good = end(&observers->list[i], good ? error : &later) && good;
    }
    return good;
}
