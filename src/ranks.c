#include "src/ranks.h"
#include "src/team.h"

#ifdef LINNET_MPI

#include "src/containers.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* MPI counts elements with an int; longer arrays are sent in pieces. */
#define PIECE ((size_t)1 << 30)

static struct {
    bool begun, led, ending;
    int count, own;
    MPI_Request *under_way; /* stb_ds arrays */
    MPI_Status *arrived;
} ranks = {.count = 1};

size_t ranks_count(void)
{
    return (size_t)ranks.count;
}

size_t ranks_own(void)
{
    return (size_t)ranks.own;
}

/* --- beginning and ending --- */

/* Runs at every exit. Before ranks_lead, the other ranks exit with the status of rank 0;
 * afterwards they could wait for ever for a rank that is gone, so the job aborts. */
static void leave(int status, void *unused)
{
    (void)unused;
    if (ranks.ending)
        return;
    ranks.ending = true;
    fflush(NULL);
    if (ranks.led && status != 0)
        MPI_Abort(MPI_COMM_WORLD, status);
    int verdict = -1 - status;
    if (!ranks.led && ranks.own == 0)
        MPI_Bcast(&verdict, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
}

void ranks_begin(int *argc, char ***argv)
{
    int provided, verdict = 0;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks.count);
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks.own);
    ranks.begun = true;
    on_exit(leave, NULL);
    if (ranks.own == 0)
        return;
    MPI_Bcast(&verdict, 1, MPI_INT, 0, MPI_COMM_WORLD);
    ranks.led = verdict >= 0;
    if (!ranks.led)
        exit(-1 - verdict);
}

void ranks_lead(void)
{
    int verdict = 0;
    if (!ranks.begun || ranks.led || ranks.own != 0)
        return;
    MPI_Bcast(&verdict, 1, MPI_INT, 0, MPI_COMM_WORLD);
    ranks.led = true;
}

void ranks_end(void)
{
    if (!ranks.begun || ranks.ending)
        return;
    ranks_lead();
    ranks.ending = true;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}

/* Ranks with overlapping affinity masks divide the processors among themselves. */
size_t ranks_threads(void)
{
    if (ranks.count == 1)
        return team_processors();
    MPI_Comm here;
    int neighbours, own = (int)team_processors(), sum;
    cpu_set_t mine, all;
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &neighbours);
    MPI_Allreduce(&mine, &all, (int)sizeof mine, MPI_BYTE, MPI_BOR, here);
    MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, here);
    MPI_Comm_free(&here);
    int together = CPU_COUNT(&all);
    if (sum <= together)
        return (size_t)own;
    return together > neighbours ? (size_t)(together / neighbours) : 1;
}

/* --- together --- */

size_t ranks_most(size_t number)
{
    unsigned long long own = number, most = number;
    if (ranks.count > 1)
        MPI_Allreduce(&own, &most, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    return (size_t)most;
}

void ranks_sleep(void)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    MPI_Request request;
    int there = ranks.count == 1;
    if (!there)
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (!there) {
        MPI_Test(&request, &there, MPI_STATUS_IGNORE);
        nanosleep(&nap, NULL);
    }
}

void ranks_share(void *bytes, size_t size, size_t from)
{
    for (size_t at = 0; at < size && ranks.count > 1; at += PIECE)
        MPI_Bcast((char *)bytes + at, (int)(size - at < PIECE ? size - at : PIECE), MPI_BYTE,
                  (int)from, MPI_COMM_WORLD);
}

bool ranks_agree(bool good, Error *error)
{
    if (ranks.count == 1)
        return good;
    size_t count = ranks_count(), worst = ranks_most(good ? 0 : count - ranks_own());
    if (worst == 0)
        return true;
    size_t first = count - worst;
    Error why = {""};
    if (!good && ranks_own() == first) {
        char host[MPI_MAX_PROCESSOR_NAME] = "";
        int length;
        MPI_Get_processor_name(host, &length);
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
        error_set(error, "%s: not the same as on rank 0 (checksums %08llx and %08llx)", what,
                  (unsigned long long)number, (unsigned long long)first);
    return ranks_agree(same, error);
}

/* --- arrays --- */

static void start(bool send, char *bytes, size_t size, size_t other, int number)
{
    for (size_t at = 0; at < size; at += PIECE) {
        int piece = (int)(size - at < PIECE ? size - at : PIECE);
        MPI_Request request;
        if (send)
            MPI_Isend(bytes + at, piece, MPI_BYTE, (int)other, number, MPI_COMM_WORLD,
                      &request);
        else
            MPI_Irecv(bytes + at, piece, MPI_BYTE, (int)other, number, MPI_COMM_WORLD,
                      &request);
        arrput(ranks.under_way, request);
    }
}

void ranks_send(const real *values, size_t count, size_t to, int number)
{
    start(true, (char *)values, count * sizeof *values, to, number);
}

void ranks_receive(real *values, size_t count, size_t from, int number)
{
    start(false, (char *)values, count * sizeof *values, from, number);
}

void ranks_arrive(void)
{
    arrsetlen(ranks.arrived, arrlenu(ranks.under_way));
    if (arrlenu(ranks.under_way) > 0)
        MPI_Waitall((int)arrlenu(ranks.under_way), ranks.under_way, ranks.arrived);
    arrsetlen(ranks.under_way, 0);
}

void ranks_collect(void *array, size_t element, const size_t *bounds)
{
    enum { COLLECT = 32767 }; /* a tag that no caller uses */
    char *bytes = array;
    size_t own = ranks_own();
    for (size_t other = 0; other < ranks_count(); other++) {
        if (other == own)
            continue;
        start(true, bytes + bounds[own] * element, (bounds[own + 1] - bounds[own]) * element,
              other, COLLECT);
        start(false, bytes + bounds[other] * element,
              (bounds[other + 1] - bounds[other]) * element, other, COLLECT);
    }
    ranks_arrive();
}

void ranks_collect_shares(void *array, size_t element, size_t count)
{
    size_t *bounds = NULL;
    for (size_t rank = 0; rank <= ranks_count(); rank++)
        arrput(bounds, share_start(count, ranks_count(), rank));
    ranks_collect(array, element, bounds);
    arrfree(bounds);
}

void ranks_sum_anyhow(real *values, size_t count)
{
#ifdef LINNET_DOUBLE
    MPI_Datatype type = MPI_DOUBLE;
#else
    MPI_Datatype type = MPI_FLOAT;
#endif
    for (size_t at = 0; at < count && ranks.count > 1; at += PIECE)
        MPI_Allreduce(MPI_IN_PLACE, values + at, (int)(count - at < PIECE ? count - at : PIECE),
                      type, MPI_SUM, MPI_COMM_WORLD);
}

#else

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

size_t ranks_count(void)
{
    return 1;
}

size_t ranks_own(void)
{
    return 0;
}

size_t ranks_threads(void)
{
    return team_processors();
}

bool ranks_agree(bool good, Error *error)
{
    (void)error;
    return good;
}

bool ranks_same(const char *what, uint64_t number, Error *error)
{
    (void)what, (void)number, (void)error;
    return true;
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

void ranks_collect(void *array, size_t element, const size_t *bounds)
{
    (void)array, (void)element, (void)bounds;
}

void ranks_collect_shares(void *array, size_t element, size_t count)
{
    (void)array, (void)element, (void)count;
}

void ranks_send(const real *values, size_t count, size_t to, int number)
{
    (void)values, (void)count, (void)to, (void)number;
}

void ranks_receive(real *values, size_t count, size_t from, int number)
{
    (void)values, (void)count, (void)from, (void)number;
}

void ranks_arrive(void)
{
}

void ranks_sum_anyhow(real *values, size_t count)
{
    (void)values, (void)count;
}

#endif
