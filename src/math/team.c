/* Threads that work through tiles. Why not OpenMP's `parallel for` over the same tiles, with
 * GNU's library? Measured in turns on two cores of an Intel Xeon (AVX-512, 2026): training is
 * equally fast within the noise of that machine, the reference and the small model, single and
 * bf16. But decoding is 5 % slower in single precision, 1 % in bf16; with two other busy
 * processes on the same cores a small model trains 15 to 25 times slower, because its threads
 * spin until all have arrived, where the team does without a thread that is not running; and
 * the thread sanitizer does not understand the library. */
#include "src/math/team.h"
#include "src/base/control_groups.h"
#include "src/base/error.h"
#include "src/base/memory.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __SSE__
#include <immintrin.h>
#endif

/* Parallel phases last microseconds to milliseconds, so an idle worker spins this many times
 * before it sleeps. */
#define PATIENCE 20000

/* A round is one call of team_run. Workers enter while the gate is open; the round ends when
 * the gate is closed and all have left. A worker that the system has not scheduled does not
 * enter, so nobody waits for it. The gate is one number: upper half, the round; lower half,
 * twice the number of workers inside plus the open bit. */
typedef uint64_t Gate;
#define OPEN       ((Gate)1)
#define ONE_INSIDE ((Gate)2)
#define NEXT_ROUND ((Gate)1 << 32)
#define INSIDE     (NEXT_ROUND - ONE_INSIDE)

typedef struct Member {
    Team *team;
    size_t worker;
    _Alignas(64) atomic_size_t next; /* tile of its share that is to be taken */
} Member;

struct Team {
    pthread_t *threads;
    size_t size;  /* number of workers including the thread that uses the team */
    int patience; /* 0 if there are more threads than processors */

    _Atomic Gate gate;
    pthread_mutex_t lock;
    pthread_cond_t opened, empty;
    atomic_size_t sleepers; /* workers waiting for `opened` */
    atomic_bool stopping;

    TeamWork work;
    void *job;
    size_t tiles;

    Member *members;    /* what each thread starts with */
    int refused;        /* the error that kept a thread from starting, or 0 */
    atomic_bool failed; /* a tile called die, and why */
    Error why;
};

/* The team of the calling thread; NULL: none. */
static _Thread_local Team *current;

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#else
    sched_yield();
#endif
}

/* Denormal numbers take a hundred times as long as others: what fades, such as the state of a
 * kind with strong decays, would train at a tenth of its speed. In tiles they count as zero, on
 * every thread, the calling one too. */
#ifdef __SSE__
typedef unsigned Arithmetic;

static Arithmetic arithmetic(void)
{
    return _mm_getcsr();
}

static void set_arithmetic(Arithmetic mode)
{
    _mm_setcsr(mode);
}

enum { DENORMALS_ARE_ZERO = 0x8040 };
#elif defined __aarch64__
typedef uint64_t Arithmetic;

static Arithmetic arithmetic(void)
{
    Arithmetic mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}

static void set_arithmetic(Arithmetic mode)
{
    __asm__ volatile("msr fpcr, %0" ::"r"(mode));
}

enum { DENORMALS_ARE_ZERO = 1 << 24 };
#else
typedef unsigned Arithmetic;

static Arithmetic arithmetic(void)
{
    return 0;
}

static void set_arithmetic(Arithmetic mode)
{
    (void)mode;
}

enum { DENORMALS_ARE_ZERO = 0 };
#endif

/* Enters the current round if it is open and this worker has not been in it. */
static bool enter(Team *team, Gate *last)
{
    Gate gate = atomic_load(&team->gate);
    while ((gate & OPEN) && gate / NEXT_ROUND != *last)
        if (atomic_compare_exchange_weak(&team->gate, &gate, gate + ONE_INSIDE)) {
            *last = gate / NEXT_ROUND;
            return true;
        }
    return false;
}

static void leave(Team *team)
{
    Gate before = atomic_fetch_sub(&team->gate, ONE_INSIDE);
    if ((before & OPEN) || (before & INSIDE) != ONE_INSIDE)
        return;
    pthread_mutex_lock(&team->lock);
    pthread_cond_signal(&team->empty);
    pthread_mutex_unlock(&team->lock);
}

/* False when the team is stopping. */
static bool await_round(Team *team, Gate *last)
{
    for (int i = 0; i < team->patience; i++) {
        if (enter(team, last))
            return true;
        if (atomic_load(&team->stopping))
            return false;
        relax();
    }
    bool entered = false;
    pthread_mutex_lock(&team->lock);
    atomic_fetch_add(&team->sleepers, 1);
    while (!(entered = enter(team, last)) && !atomic_load(&team->stopping))
        pthread_cond_wait(&team->opened, &team->lock);
    atomic_fetch_sub(&team->sleepers, 1);
    pthread_mutex_unlock(&team->lock);
    return entered;
}

/* Every worker has a share of the tiles, and helps others when its own is done. Tiles of one
 * index mostly belong to the same rows in all rounds of a step, so a worker finds in its caches
 * what it wrote before: with one counter for all, a small model trains a tenth slower on two
 * cores. */
static size_t first_of_share(const Team *team, size_t member)
{
    return team->tiles * member / team->size;
}

static void finish_share(Team *team, size_t member, size_t worker)
{
    atomic_size_t *next = &team->members[member].next;
    const size_t end = first_of_share(team, member + 1);
    while (atomic_load_explicit(next, memory_order_relaxed) < end) {
        size_t tile = atomic_fetch_add_explicit(next, 1, memory_order_relaxed);
        if (tile < end)
            team->work(team->job, tile, worker);
    }
}

static bool run_tiles(void *member, Error *error)
{
    const Member *self = member;
    Team *team = self->team;
    (void)error;
    for (size_t i = 0; i < team->size; i++)
        finish_share(team, (self->worker + i) % team->size, self->worker);
    return true;
}

/* A call of die() in a worker is kept: the thread that called team_run makes it after the
 * round, when nobody works on its job any more. */
static void work_and_catch(Member *self)
{
    Error why;
    const Arithmetic before = arithmetic();
    set_arithmetic(before | DENORMALS_ARE_ZERO);
    bool done = error_catch(run_tiles, self, &why);
    set_arithmetic(before);
    if (done || atomic_exchange(&self->team->failed, true))
        return;
    self->team->why = why;
}

static void *worker_main(void *argument)
{
    Member *self = argument;
    Gate last = 0;
    current = self->team;
    while (await_round(self->team, &last)) {
        work_and_catch(self);
        leave(self->team);
    }
    return NULL;
}

static void wake_sleepers(Team *team)
{
    if (atomic_load(&team->sleepers) == 0)
        return;
    pthread_mutex_lock(&team->lock);
    pthread_cond_broadcast(&team->opened);
    pthread_mutex_unlock(&team->lock);
}

/* No worker is inside. Round numbers skip 0, the initial value of `last`. */
static void open_gate(Team *team)
{
    Gate round = atomic_load(&team->gate) / NEXT_ROUND + 1;
    if (round == NEXT_ROUND)
        round = 1;
    atomic_store(&team->gate, round * NEXT_ROUND + OPEN);
    wake_sleepers(team);
}

static void shut_gate(Team *team)
{
    atomic_fetch_and(&team->gate, ~OPEN);
    for (int i = 0; i < team->patience; i++) {
        if ((atomic_load(&team->gate) & INSIDE) == 0)
            return;
        relax();
    }
    pthread_mutex_lock(&team->lock);
    while ((atomic_load(&team->gate) & INSIDE) != 0)
        pthread_cond_wait(&team->empty, &team->lock);
    pthread_mutex_unlock(&team->lock);
}

size_t team_processors(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    /* The set has 1,024 bits; it fails where there may be more processors. */
    bool known = sched_getaffinity(0, sizeof set, &set) == 0;
    double allowed = known ? (double)CPU_COUNT(&set) : (double)sysconf(_SC_NPROCESSORS_ONLN);
    double count = fmin(allowed, ceil(control_groups_processors("")));
    return count > 0 ? (size_t)count : 1;
}

/* Signals to the process interrupt the thread that started the team: its handlers may then rely
 * on that nothing goes on meanwhile. Crashes arrive where they happen. */
static int start_thread(pthread_t *thread, Member *member)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t others, before;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        sigdelset(&others, crashes[i]);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    int refused = pthread_create(thread, NULL, worker_main, member);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return refused;
}

Team *team_make(size_t threads)
{
    if (threads == 0)
        threads = team_processors();
    Team *team = memory_new(1, sizeof *team, "the threads");
    team->threads = memory_new(threads, sizeof *team->threads, "the threads");
    team->members = memory_new_aligned(threads * sizeof *team->members, "the threads");
    team->members[0] = (Member){.team = team};
    team->patience = threads <= team_processors() ? PATIENCE : 0;
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->opened, NULL);
    pthread_cond_init(&team->empty, NULL);
    for (team->size = 1; team->size < threads; team->size++) {
        Member *member = &team->members[team->size];
        *member = (Member){.team = team, .worker = team->size};
        team->refused = start_thread(&team->threads[team->size], member);
        if (team->refused != 0)
            break;
    }
    return team;
}

void team_free(Team *team)
{
    if (!team)
        return;
    atomic_store(&team->stopping, true);
    wake_sleepers(team);
    for (size_t i = 1; i < team->size; i++)
        pthread_join(team->threads[i], NULL);
    pthread_cond_destroy(&team->empty);
    pthread_cond_destroy(&team->opened);
    pthread_mutex_destroy(&team->lock);
    free(team->members);
    free(team->threads);
    free(team);
}

Team *team_use(Team *team)
{
    Team *before = current;
    current = team;
    return before;
}

void team_start(size_t threads)
{
    team_stop();
    current = team_make(threads);
    if (threads > 0 ? team_size() < threads : team_size() < team_processors())
        print_warning("cannot start thread %zu: %s; continuing with %zu", team_size() + 1,
                      strerror(current->refused), team_size());
}

void team_stop(void)
{
    team_free(team_use(NULL));
}

size_t team_size(void)
{
    return current ? current->size : 1;
}

void team_run(size_t tiles, TeamWork work, void *job)
{
    static _Thread_local Member caller;
    static _Thread_local Team alone = {.size = 1};
    Team *team = current ? current : &alone;
    alone.members = &caller;
    caller.team = &alone;
    bool shared = team->size > 1 && tiles > 1;
    team->work = work;
    team->job = job;
    team->tiles = tiles;
    for (size_t i = 0; i < team->size; i++)
        atomic_store(&team->members[i].next, first_of_share(team, i));
    if (shared)
        open_gate(team);
    work_and_catch(team->members);
    if (shared)
        shut_gate(team);
    if (atomic_exchange(&team->failed, false))
        die("%s", team->why.text);
}

typedef struct Rows {
    TeamRowWork work;
    const void *job;
    size_t rows, tile_rows;
} Rows;

static void do_rows(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const Rows *all = context;
    size_t first = tile * all->tile_rows;
    size_t end = first + team_extent(all->rows, all->tile_rows, tile);
    for (size_t row = first; row < end; row++)
        all->work(all->job, row);
}

void team_run_rows(size_t rows, size_t tile_rows, TeamRowWork work, const void *job)
{
    Rows all = {work, job, rows, tile_rows};
    team_run(team_tiles(rows, tile_rows), do_rows, &all);
}
