#include "src/team.h"
#include "src/error.h"
#include "src/memory.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

/* A phase of a training step lasts microseconds to milliseconds, so a thread that waits for the
 * next one looks out for it this many times before it lies down to sleep. */
#define PATIENCE 20000

static struct {
    pthread_t *threads;
    size_t size;  /* workers, the calling thread included; 0 before the start */
    int patience; /* none when there are more threads than processors */

    pthread_mutex_t lock;
    pthread_cond_t started, finished;
    atomic_uint round;    /* counts the calls of team_run; bumping it wakes the workers */
    atomic_size_t active; /* workers that have not finished this round */
    bool stopping;

    TeamWork work;
    void *job;
    size_t tiles;
    atomic_size_t next; /* the first tile that nobody has taken */
} team = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .started = PTHREAD_COND_INITIALIZER,
          .finished = PTHREAD_COND_INITIALIZER};

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    sched_yield();
#endif
}

static void take_tiles(size_t worker)
{
    for (;;) {
        size_t tile = atomic_fetch_add_explicit(&team.next, 1, memory_order_relaxed);
        if (tile >= team.tiles)
            return;
        team.work(team.job, tile, worker);
    }
}

static void await_round_after(unsigned last)
{
    for (int i = 0; i < team.patience; i++) {
        if (atomic_load(&team.round) != last)
            return;
        relax();
    }
    pthread_mutex_lock(&team.lock);
    while (atomic_load(&team.round) == last)
        pthread_cond_wait(&team.started, &team.lock);
    pthread_mutex_unlock(&team.lock);
}

static void *worker_main(void *argument)
{
    size_t worker = (size_t)(uintptr_t)argument;
    for (unsigned round = 0;; round++) {
        await_round_after(round);
        if (team.stopping)
            return NULL;
        take_tiles(worker);
        if (atomic_fetch_sub(&team.active, 1) == 1) {
            pthread_mutex_lock(&team.lock);
            pthread_cond_signal(&team.finished);
            pthread_mutex_unlock(&team.lock);
        }
    }
}

static void begin_round(void)
{
    atomic_store(&team.active, team.size - 1);
    pthread_mutex_lock(&team.lock);
    atomic_fetch_add(&team.round, 1);
    pthread_cond_broadcast(&team.started);
    pthread_mutex_unlock(&team.lock);
}

static void await_workers(void)
{
    for (int i = 0; i < team.patience; i++) {
        if (atomic_load(&team.active) == 0)
            return;
        relax();
    }
    pthread_mutex_lock(&team.lock);
    while (atomic_load(&team.active) != 0)
        pthread_cond_wait(&team.finished, &team.lock);
    pthread_mutex_unlock(&team.lock);
}

size_t team_processors(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int count = CPU_COUNT(&set);
    return count > 0 ? (size_t)count : 1;
}

void team_start(size_t threads)
{
    team_stop();
    team.threads = memory_take(threads, sizeof *team.threads, "the threads");
    team.patience = threads <= team_processors() ? PATIENCE : 0;
    team.stopping = false;
    atomic_store(&team.round, 0);
    team.size = 1;
    while (team.size < threads) {
        if (pthread_create(&team.threads[team.size], NULL, worker_main,
                           (void *)(uintptr_t)team.size) != 0) {
            warn("the system refused thread %zu; going on with %zu", team.size + 1, team.size);
            break;
        }
        team.size++;
    }
}

void team_stop(void)
{
    if (team.size > 1) {
        team.stopping = true;
        begin_round();
        for (size_t i = 1; i < team.size; i++)
            pthread_join(team.threads[i], NULL);
    }
    free(team.threads);
    team.threads = NULL;
    team.size = 0;
}

size_t team_size(void)
{
    return team.size ? team.size : 1;
}

void team_run(size_t tiles, TeamWork work, void *job)
{
    if (team.size <= 1 || tiles <= 1) {
        for (size_t tile = 0; tile < tiles; tile++)
            work(job, tile, 0);
        return;
    }
    team.work = work;
    team.job = job;
    team.tiles = tiles;
    atomic_store(&team.next, 0);
    begin_round();
    take_tiles(0);
    await_workers();
}
