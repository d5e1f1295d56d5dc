#include "src/ranks/ranks.h"
#include "src/base/control_groups.h"
#include "src/math/team.h"

#include <limits.h>
#include <math.h>
#include <unistd.h>

typedef struct Place {
    int count, index;
} Place;
static Place ranks = {.count = 1};

size_t ranks_count(void)
{
    return (size_t)ranks.count;
}

size_t ranks_index(void)
{
    return (size_t)ranks.index;
}

void ranks_alone(bool alone)
{
    static const Place one = {.count = 1};
    static Place among_all;
    if (alone)
        among_all = ranks;
    ranks = alone ? one : among_all;
}

/* --- what MPI does, if it is built in --- */

#ifdef LINNET_MPI

#include "src/base/containers.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

/* MPI counts elements with an int; longer arrays are sent in pieces. */
#define PIECE ((size_t)1 << 30)

static struct {
    bool begun, led, ending;
    MPI_Request *under_way; /* stb_ds arrays */
    MPI_Status *arrived;
} mpi;

static int piece_at(size_t at, size_t size)
{
    return (int)(size - at < PIECE ? size - at : PIECE);
}

/* --- beginning and ending --- */

/* Runs at every exit. Before ranks_lead, the other ranks exit with the status of rank 0;
 * afterwards they could wait for ever for a rank that is gone, so the job aborts. */
static void leave(int status, void *unused)
{
    (void)unused;
    if (mpi.ending)
        return;
    mpi.ending = true;
    fflush(NULL);
    if (mpi.led && status != 0)
        MPI_Abort(MPI_COMM_WORLD, status);
    int verdict = -1 - status;
    if (!mpi.led && ranks.index == 0)
        MPI_Bcast(&verdict, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
}

void ranks_begin(int *argc, char ***argv)
{
    int provided, verdict = 0;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks.count);
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks.index);
    mpi.begun = true;
    on_exit(leave, NULL);
    if (ranks.index == 0)
        return;
    MPI_Bcast(&verdict, 1, MPI_INT, 0, MPI_COMM_WORLD);
    mpi.led = verdict >= 0;
    if (!mpi.led)
        exit(-1 - verdict);
}

void ranks_lead(void)
{
    int verdict = 0;
    if (!mpi.begun || mpi.led || ranks.index != 0)
        return;
    MPI_Bcast(&verdict, 1, MPI_INT, 0, MPI_COMM_WORLD);
    mpi.led = true;
}

void ranks_end(void)
{
    if (!mpi.begun || mpi.ending)
        return;
    ranks_lead();
    mpi.ending = true;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}

/* Ranks with overlapping affinity masks, or in one container with a quota, divide the
 * processors among themselves. */
static size_t share_of_processors(void)
{
    MPI_Comm node;
    int neighbours, processors = (int)team_processors(), sum;
    double quota = ceil(control_groups_processors("")), largest;
    cpu_set_t mine, all;
    CPU_ZERO(&mine);
    /* It fails where there may be more processors than the set has bits. */
    if (sched_getaffinity(0, sizeof mine, &mine) != 0)
        for (size_t i = 0; i < (size_t)processors && i < CPU_SETSIZE; i++)
            CPU_SET(i, &mine);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &neighbours);
    MPI_Allreduce(&mine, &all, (int)sizeof mine, MPI_BYTE, MPI_BOR, node);
    MPI_Allreduce(&processors, &sum, 1, MPI_INT, MPI_SUM, node);
    MPI_Allreduce(&quota, &largest, 1, MPI_DOUBLE, MPI_MAX, node);
    MPI_Comm_free(&node);
    int together = (int)fmin(CPU_COUNT(&all), largest);
    if (sum <= together)
        return (size_t)processors;
    return together > neighbours ? (size_t)(together / neighbours) : 1;
}

void ranks_start_team(size_t threads)
{
    team_start(threads == 0 && ranks.count > 1 ? share_of_processors() : threads);
}

size_t ranks_most(size_t number)
{
    unsigned long long value = number, most = number;
    if (ranks.count > 1)
        MPI_Allreduce(&value, &most, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    return (size_t)most;
}

void ranks_sleep(void)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    MPI_Request request;
    int done = ranks.count == 1;
    if (!done)
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (!done) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        nanosleep(&nap, NULL);
    }
}

void ranks_share(void *bytes, size_t size, size_t from)
{
    for (size_t at = 0; at < size && ranks.count > 1; at += PIECE)
        MPI_Bcast((char *)bytes + at, piece_at(at, size), MPI_BYTE, (int)from, MPI_COMM_WORLD);
}

void ranks_send(const void *bytes, size_t size, size_t to, int number)
{
    for (size_t at = 0; at < size; at += PIECE)
        MPI_Isend((const char *)bytes + at, piece_at(at, size), MPI_BYTE, (int)to, number,
                  MPI_COMM_WORLD, arraddnptr(mpi.under_way, 1));
}

void ranks_receive(void *bytes, size_t size, size_t from, int number)
{
    for (size_t at = 0; at < size; at += PIECE)
        MPI_Irecv((char *)bytes + at, piece_at(at, size), MPI_BYTE, (int)from, number,
                  MPI_COMM_WORLD, arraddnptr(mpi.under_way, 1));
}

void ranks_arrive(void)
{
    arrsetlen(mpi.arrived, arrlenu(mpi.under_way));
    if (arrlenu(mpi.under_way) > 0)
        MPI_Waitall((int)arrlenu(mpi.under_way), mpi.under_way, mpi.arrived);
    arrsetlen(mpi.under_way, 0);
}

void ranks_sum_anyhow(real *values, size_t count)
{
#ifdef LINNET_DOUBLE
    MPI_Datatype type = MPI_DOUBLE;
#else
    MPI_Datatype type = MPI_FLOAT;
#endif
    for (size_t at = 0; at < count && ranks.count > 1; at += PIECE)
        MPI_Allreduce(MPI_IN_PLACE, values + at, piece_at(at, count), type, MPI_SUM,
                      MPI_COMM_WORLD);
}

#else /* the only rank */

void ranks_begin(int *argc, char ***argv)
{
    (void)argc, (void)argv;
}

void ranks_lead(void)
{
}

void ranks_end(void)
{
}

void ranks_start_team(size_t threads)
{
    team_start(threads);
}

size_t ranks_most(size_t number)
{
    return number;
}

void ranks_sleep(void)
{
}

void ranks_share(void *bytes, size_t size, size_t from)
{
    (void)bytes, (void)size, (void)from;
}

void ranks_send(const void *bytes, size_t size, size_t to, int number)
{
    (void)bytes, (void)size, (void)to, (void)number;
}

void ranks_receive(void *bytes, size_t size, size_t from, int number)
{
    (void)bytes, (void)size, (void)from, (void)number;
}

void ranks_arrive(void)
{
}

void ranks_sum_anyhow(real *values, size_t count)
{
    (void)values, (void)count;
}

#endif

/* --- what follows from it --- */

bool ranks_agree(bool good, Error *error)
{
    if (ranks.count == 1)
        return good;
    size_t count = ranks_count(), worst = ranks_most(good ? 0 : count - ranks_index());
    if (worst == 0)
        return true;
    size_t first = count - worst;
    Error why = {0};
    if (!good && ranks_index() == first) {
        char host[HOST_NAME_MAX + 1] = "";
        gethostname(host, sizeof host - 1);
        if (first == 0)
            why = *error;
        else
            error_set(&why, "rank %zu on %.64s: %.900s", first, host, error->text);
    }
    ranks_share(&why, sizeof why, first);
    *error = why;
    return false;
}

bool ranks_same(const char *what, uint64_t number, Error *error)
{
    uint64_t first = number;
    ranks_share(&first, sizeof first, 0);
    bool same = number == first;
    if (!same)
        error_set(error,
                  "%s: not the same as on rank 0 (checksums %08llx and %08llx); start "
                  "all ranks with the same command, files and build",
                  what, (unsigned long long)number, (unsigned long long)first);
    return ranks_agree(same, error);
}

/* Where a rank's part of an array begins: at its bound or, without bounds, at its share. */
static size_t part_start(const size_t *bounds, size_t count, size_t rank)
{
    return bounds ? bounds[rank] : share_start(count, ranks_count(), rank);
}

static void collect(char *bytes, size_t element, const size_t *bounds, size_t count)
{
    enum { COLLECT = 32767 }; /* a tag that no caller uses */
    const size_t rank = ranks_index(), start = part_start(bounds, count, rank);
    const size_t end = part_start(bounds, count, rank + 1);
    for (size_t other = 0; other < ranks_count(); other++) {
        size_t from = part_start(bounds, count, other);
        size_t to = part_start(bounds, count, other + 1);
        if (other == rank)
            continue;
        ranks_send(bytes + start * element, (end - start) * element, other, COLLECT);
        ranks_receive(bytes + from * element, (to - from) * element, other, COLLECT);
    }
    ranks_arrive();
}

void ranks_collect(void *array, size_t element, const size_t *bounds)
{
    collect(array, element, bounds, 0);
}

void ranks_collect_shares(void *array, size_t element, size_t count)
{
    collect(array, element, NULL, count);
}
