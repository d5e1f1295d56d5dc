/* Flips every bit of a checkpoint, one at a time: the file is refused, or gives exactly the
 * saved values. */
#include "src/base/file.h"
#include "tests/faults/checks.h"
#include "tests/faults/session.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20, QUICK_STRIDE = 61 };

static void put_byte(int fd, size_t at, char byte)
{
    if (pwrite(fd, &byte, 1, (off_t)at) != 1)
        die("cannot change a file");
}

void check_flips(bool quick)
{
    const char *path = "flipped.safetensors";
    char *bytes;
    size_t size, count = 0, other = 0, accepted = 0;
    Error error;
    make_runs();
    if (!file_read("base/last.safetensors", MOST_BYTES, &bytes, &size, &error))
        die("%s", error.text);
    put_file(path, bytes, size);
    real *saved = checkpoint_numbers(path, &count);
    expect(saved != NULL, "a whole checkpoint is refused");
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    for (size_t bit = 0; bit < 8 * size; bit += quick ? QUICK_STRIDE : 1) {
        put_byte(fd, bit / 8, (char)(bytes[bit / 8] ^ 1 << bit % 8));
        real *read = checkpoint_numbers(path, &other);
        accepted += read != NULL;
        expect(!read || (other == count && memcmp(read, saved, count * sizeof *read) == 0),
               "bit %zu flipped: other values are read", bit);
        free(read);
        put_byte(fd, bit / 8, bytes[bit / 8]);
    }
    expect(accepted == 0, "%zu flipped bits go unnoticed", accepted);
    close(fd);
    free(saved);
    free(bytes);
}
