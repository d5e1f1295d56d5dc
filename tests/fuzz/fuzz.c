/* The table of targets, and what they share. */
#include "tests/fuzz/fuzz.h"
#include "data/tokenizers/utf8.h"
#include "src/base/file.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const FuzzTarget targets[] = {
    {"header", fuzz_header},
    {"safetensors", fuzz_safetensors},
    {"checkpoint", fuzz_checkpoint},
    {"import", fuzz_import},
    {"settings", fuzz_settings},
    {"command-line", fuzz_command_line},
    {"reader", fuzz_reader},
    {"corpus", fuzz_corpus},
    {"token-file", fuzz_token_file},
    {"vocabulary", fuzz_vocabulary},
    {"bpe", fuzz_bpe},
    {"run-log", fuzz_run_log},
    {"scores", fuzz_scores},
    {"run-folder", fuzz_run_folder},
    {"escaping", fuzz_escaping},
    {"picture", fuzz_picture},
    {"detok", fuzz_detok},
};

const FuzzTarget *fuzz_target(size_t index)
{
    return index < sizeof targets / sizeof *targets ? &targets[index] : NULL;
}

const FuzzTarget *fuzz_find(const char *name)
{
    for (size_t i = 0; fuzz_target(i); i++)
        if (strcmp(fuzz_target(i)->name, name) == 0)
            return fuzz_target(i);
    return NULL;
}

void fuzz_broken(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: failed: %s\n", file, line, condition);
    abort();
}

void fuzz_check_reason(const Error *error)
{
    FUZZ_HOLDS(error->text[0] != '\0');
    FUZZ_HOLDS(memchr(error->text, '\0', sizeof error->text));
}

/* --- files --- */

static void put(int fd, const void *bytes, size_t size)
{
    FUZZ_HOLDS(pwrite(fd, bytes, size, 0) == (ssize_t)size);
    FUZZ_HOLDS(ftruncate(fd, (off_t)size) == 0);
}

const char *fuzz_file(const void *bytes, size_t size)
{
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        FUZZ_HOLDS(fd >= 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    put(fd, bytes, size);
    return path;
}

static char folder[64];

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static void remove_folder(void)
{
    enum { OPEN_FOLDERS = 8 };
    nftw(folder, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

/* In memory if possible, because files are synced after every write. */
const char *fuzz_scratch_folder(void)
{
    if (!folder[0]) {
        strcpy(folder, "/dev/shm/linnet-fuzz-XXXXXX");
        if (!mkdtemp(folder)) {
            strcpy(folder, "/tmp/linnet-fuzz-XXXXXX");
            FUZZ_HOLDS(mkdtemp(folder));
        }
        atexit(remove_folder);
    }
    return folder;
}

char *fuzz_scratch(const char *name)
{
    return file_join(fuzz_scratch_folder(), name);
}

void fuzz_scratch_put(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    FUZZ_HOLDS(fd >= 0);
    put(fd, bytes, size);
    close(fd);
}

/* --- texts --- */

char *fuzz_next_text(const uint8_t **data, size_t *size)
{
    const uint8_t *end = *size ? memchr(*data, '\0', *size) : NULL;
    size_t length = end ? (size_t)(end - *data) : *size, step = length + (end != NULL);
    char *text = memory_new(length + 1, 1, "an input");
    if (length)
        memcpy(text, *data, length);
    *data += step;
    *size -= step;
    return text;
}

char *fuzz_frame(const uint8_t *data, size_t size, size_t *framed)
{
    char *header = fuzz_next_text(&data, &size);
    uint64_t length = strlen(header);
    *framed = sizeof length + length + size;
    char *file = memory_new(*framed, 1, "an input");
    memcpy(file, &length, sizeof length);
    memcpy(file + sizeof length, header, length);
    if (size)
        memcpy(file + sizeof length + length, data, size);
    free(header);
    return file;
}

void fuzz_check_shown(const char *text, bool lines)
{
    size_t size = strlen(text), length;
    for (size_t at = 0; at < size; at += length) {
        const unsigned char *c = (const unsigned char *)text + at;
        length = utf8_length(text + at, size - at);
        FUZZ_HOLDS(length > 0);
        FUZZ_HOLDS((c[0] >= 0x20 && c[0] != 0x7f) || (lines && c[0] == '\n'));
        FUZZ_HOLDS(!(c[0] == 0xc2 && c[1] < 0xa0)); /* the control characters of Latin-1 */
        bool turns = c[0] == 0xe2 && ((c[1] == 0x80 && c[2] >= 0xaa && c[2] <= 0xae) ||
                                      (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9));
        FUZZ_HOLDS(!turns); /* changes the writing direction */
    }
}
