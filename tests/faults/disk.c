#include "tests/faults/disk.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "tests/faults/session.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_FILES = 4096, LONGEST_NAME = 4096 };

/* A file, independent of its names. */
typedef struct Bytes {
    char *now, *sure; /* stb_ds arrays */
    size_t openings;
    bool written; /* since it was last opened or synced */
} Bytes;

typedef struct Name {
    char *name;
    size_t file;
} Name;

typedef struct Opening {
    bool is_open, is_folder, appends;
    size_t file, at;
} Opening;

struct Disk {
    char *folder;
    Bytes *files;
    Name *now, *sure;
    bool renamed; /* and the directory not synced since */
    Opening openings[MOST_FILES];
};

Disk *disk_make(const char *folder)
{
    Disk *disk = memory_new(1, sizeof *disk, "a disk");
    disk->folder = memory_copy_text(folder);
    return disk;
}

static void free_names(Name *names)
{
    for (size_t i = 0; i < arrlenu(names); i++)
        free(names[i].name);
    arrfree(names);
}

void disk_free(Disk *disk)
{
    for (size_t i = 0; i < arrlenu(disk->files); i++) {
        arrfree(disk->files[i].now);
        arrfree(disk->files[i].sure);
    }
    arrfree(disk->files);
    free_names(disk->now);
    free_names(disk->sure);
    free(disk->folder);
    free(disk);
}

/* --- names --- */

/* The name of a path in the directory; NULL for a path elsewhere. */
static const char *name_in(const Disk *disk, const char *path)
{
    size_t length = strlen(disk->folder);
    bool inside = strncmp(path, disk->folder, length) == 0 && path[length] == '/';
    return inside ? path + length + 1 : NULL;
}

static Name *find(Name *names, const char *name)
{
    for (size_t i = 0; i < arrlenu(names); i++)
        if (strcmp(names[i].name, name) == 0)
            return &names[i];
    return NULL;
}

static void give_name(Disk *disk, const char *name, size_t file)
{
    Name *found = find(disk->now, name);
    Name added = {found ? NULL : memory_copy_text(name), file};
    if (found)
        found->file = file;
    else
        arrput(disk->now, added);
}

static void take_name(Disk *disk, const char *name)
{
    Name *found = find(disk->now, name);
    if (!found)
        return;
    free(found->name);
    arrdelswap(disk->now, found - disk->now);
}

static void make_names_sure(Disk *disk)
{
    free_names(disk->sure);
    disk->sure = NULL;
    disk->renamed = false;
    for (size_t i = 0; i < arrlenu(disk->now); i++) {
        Name name = {memory_copy_text(disk->now[i].name), disk->now[i].file};
        arrput(disk->sure, name);
    }
}

bool disk_owes_sync(const Disk *disk)
{
    return disk->renamed;
}

/* --- calls --- */

static Bytes *file_of(Disk *disk, int fd)
{
    Opening *opening = &disk->openings[fd];
    return opening->is_open && !opening->is_folder ? &disk->files[opening->file] : NULL;
}

static void play_open(Disk *disk, int fd, int flags, const char *path, const char **fault)
{
    Opening *opening = &disk->openings[fd];
    const char *name = name_in(disk, path);
    *opening = (Opening){.is_open = name || strcmp(path, disk->folder) == 0,
                         .is_folder = !name,
                         .appends = flags & O_APPEND};
    if (!name)
        return;
    const Name *found = find(disk->now, name);
    opening->file = found ? found->file : arrlenu(disk->files);
    if (!found) {
        Bytes none = {0};
        if (disk->renamed)
            *fault = "another file is begun before the directory is synced";
        arrput(disk->files, none);
        give_name(disk, name, opening->file);
    }
    Bytes *file = &disk->files[opening->file];
    file->openings++;
    if (flags & O_TRUNC)
        arrsetlen(file->now, 0);
}

static void play_write(Disk *disk, int fd, const char *bytes, size_t size)
{
    Bytes *file = file_of(disk, fd);
    Opening *opening = &disk->openings[fd];
    if (!file)
        return;
    size_t at = opening->appends ? arrlenu(file->now) : opening->at, end = at + size;
    if (end > arrlenu(file->now))
        arrsetlen(file->now, end);
    memcpy(file->now + at, bytes, size);
    opening->at = end;
    file->written = true;
}

static void play_sync(Disk *disk, int fd)
{
    Bytes *file = file_of(disk, fd);
    if (disk->openings[fd].is_open && disk->openings[fd].is_folder)
        make_names_sure(disk);
    if (!file)
        return;
    arrsetlen(file->sure, arrlenu(file->now));
    if (arrlenu(file->now) > 0)
        memcpy(file->sure, file->now, arrlenu(file->now));
    file->written = false;
}

static void play_close(Disk *disk, int fd)
{
    if (file_of(disk, fd))
        file_of(disk, fd)->openings--;
    disk->openings[fd].is_open = false;
}

/* A file must be synced before it is renamed. */
static void play_rename(Disk *disk, const char *from, const char *to, const char **fault)
{
    from = name_in(disk, from);
    to = name_in(disk, to);
    if (!from || !to || !find(disk->now, from))
        return;
    size_t number = find(disk->now, from)->file;
    if (disk->files[number].written)
        *fault = "a file is renamed before it is synced";
    if (disk->files[number].openings > 0)
        *fault = "a file is renamed before it is closed";
    give_name(disk, to, number);
    take_name(disk, from);
    disk->renamed = true;
}

static void play_link(Disk *disk, const char *from, const char *to)
{
    from = name_in(disk, from);
    to = name_in(disk, to);
    if (from && to && find(disk->now, from))
        give_name(disk, to, find(disk->now, from)->file);
}

static void play_unlink(Disk *disk, const char *path)
{
    if (name_in(disk, path))
        take_name(disk, name_in(disk, path));
}

/* Calls with a file number, and calls with file names. */
static bool play_line(Disk *disk, const char *line, const char **fault)
{
    int fd, flags, start = 0;
    long long size;
    char path[LONGEST_NAME], to[LONGEST_NAME];
    if (sscanf(line, "open %d %d %n", &fd, &flags, &start) == 2 && start)
        play_open(disk, fd, flags, line + start, fault);
    else if (sscanf(line, "fsync %d", &fd) == 1)
        play_sync(disk, fd);
    else if (sscanf(line, "close %d", &fd) == 1)
        play_close(disk, fd);
    else if (sscanf(line, "ftruncate %d %lld", &fd, &size) == 2 && file_of(disk, fd))
        arrsetlen(file_of(disk, fd)->now, (size_t)size);
    else if (sscanf(line, "rename %4095[^\t]\t%4095[^\n]", path, to) == 2)
        play_rename(disk, path, to, fault);
    else if (sscanf(line, "link %4095[^\t]\t%4095[^\n]", path, to) == 2)
        play_link(disk, path, to);
    else if (sscanf(line, "unlink %4095[^\n]", path) == 1)
        play_unlink(disk, path);
    return strncmp(line, "close", strlen("close")) != 0;
}

const char *disk_play(Disk *disk, const char *record, bool *changed, const char **fault)
{
    size_t length = strcspn(record, "\n");
    char *line = text_format("%.*s", (int)length, record);
    const char *next = record + length + 1;
    int fd;
    size_t size;
    *changed = true;
    if (sscanf(line, "write %d %zu", &fd, &size) == 2) {
        play_write(disk, fd, next, size);
        next += size;
    } else {
        *changed = play_line(disk, line, fault);
    }
    free(line);
    return next;
}

/* --- possible states after a failure --- */

/* The bytes of a file; the caller frees with arrfree. */
static char *bytes_left(const Bytes *file, Kept kept)
{
    char *left = NULL;
    size_t now = arrlenu(file->now), sure = arrlenu(file->sure);
    size_t size = kept == KEPT_NONE || !file->written ? sure
                  : kept == KEPT_HALF                 ? (sure + now) / 2
                                                      : now;
    const char *from = kept == KEPT_NONE || kept == KEPT_LENGTH ? file->sure : file->now;
    size_t whole = from == file->sure && sure < size ? sure : size;
    arrsetlen(left, size);
    if (size > 0)
        memset(left, 0, size);
    if (whole > 0)
        memcpy(left, from, whole);
    return left;
}

void disk_write(const Disk *disk, Kept bytes, Kept names)
{
    Name *list = names == KEPT_ALL ? disk->now : disk->sure;
    remove_folder(disk->folder);
    if (mkdir(disk->folder, 0700) != 0)
        die("%s: cannot make this folder", disk->folder);
    for (size_t i = 0; i < arrlenu(list); i++) {
        char *left = bytes_left(&disk->files[list[i].file], bytes);
        char *path = file_join(disk->folder, list[i].name);
        put_file(path, left ? left : "", arrlenu(left));
        free(path);
        arrfree(left);
    }
}
