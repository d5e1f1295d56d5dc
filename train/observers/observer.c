#include "train/observers/observer.h"
#include "src/containers.h"

void observers_add(Observers *observers, const ObserverCalls *calls, void *self)
{
    arrput(observers->list, ((Observer){calls, self}));
}

void observers_free(Observers *observers)
{
    arrfree(observers->list);
}

/* Calls one function of every observer that has it, until one fails. */
#define TELL(observers, function, ...)                               \
    for (size_t i = 0; i < arrlenu((observers)->list); i++) {        \
        const Observer *observer = &(observers)->list[i];            \
        if (observer->calls->function &&                             \
            !observer->calls->function(observer->self, __VA_ARGS__)) \
            return false;                                            \
    }                                                                \
    return true

bool observers_started(const Observers *observers, Error *error)
{
    TELL(observers, started, error);
}

bool observers_stepped(const Observers *observers, const StepNews *news, Error *error)
{
    TELL(observers, stepped, news, error);
}

bool observers_validated(const Observers *observers, const ValidationNews *news, Error *error)
{
    TELL(observers, validated, news, error);
}

bool observers_sampled(const Observers *observers, const SampleNews *news, Error *error)
{
    TELL(observers, sampled, news, error);
}

bool observers_logged(const Observers *observers, const RunLogRow *row, Error *error)
{
    TELL(observers, logged, row, error);
}

bool observers_ended(const Observers *observers, Error *error)
{
    bool good = true;
    for (size_t i = arrlenu(observers->list); i-- > 0;) {
        const Observer *observer = &observers->list[i];
        Error later;
        if (observer->calls->ended)
            good = observer->calls->ended(observer->self, good ? error : &later) && good;
    }
    return good;
}
