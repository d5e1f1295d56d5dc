#include "train/loop/signals.h"
#include "src/base/file.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t caught;
static void (*volatile last_act)(void);

static void act_last(void)
{
    void (*act)(void) = last_act;
    last_act = NULL;
    if (act)
        act();
}

/* --- asked to end --- */

static const int requests[] = {SIGINT, SIGTERM, SIGHUP};
enum { REQUESTS = sizeof requests / sizeof *requests };
static struct sigaction before_request[REQUESTS];

static void on_request(int number)
{
    if (caught) {
        act_last();
        file_remove_half_written();
        _exit(128 + number);
    }
    caught = number;
}

void signals_catch(void)
{
    struct sigaction action = {.sa_handler = on_request, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < REQUESTS; i++) {
        sigaction(requests[i], &action, &before_request[i]);
        if (requests[i] == SIGHUP && before_request[i].sa_handler == SIG_IGN)
            sigaction(SIGHUP, &before_request[i], NULL); /* under nohup */
    }
}

void signals_release(void)
{
    for (size_t i = 0; i < REQUESTS; i++)
        sigaction(requests[i], &before_request[i], NULL);
}

int signals_caught(void)
{
    return caught;
}

void signals_record(int number)
{
    if (!caught)
        caught = number;
}

/* --- crashes --- */

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT};
enum { CRASHES = sizeof crashes / sizeof *crashes };
static struct sigaction before_crash[CRASHES];

/* Then comes the handler that was there before. Without one, the signal is raised again on
 * return, with its default action, core dump included. */
static void on_crash(int number, siginfo_t *info, void *context)
{
    act_last();
    for (size_t i = 0; i < CRASHES; i++)
        if (crashes[i] == number) {
            sigaction(number, &before_crash[i], NULL);
            if (before_crash[i].sa_flags & SA_SIGINFO)
                before_crash[i].sa_sigaction(number, info, context);
            else
                raise(number);
        }
}

void signals_set_last_act(void (*act)(void))
{
    struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_ONSTACK | SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < CRASHES; i++) {
        if (act && !last_act)
            sigaction(crashes[i], &action, &before_crash[i]);
        if (!act && last_act)
            sigaction(crashes[i], &before_crash[i], NULL);
    }
    last_act = act;
}
