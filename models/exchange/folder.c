#include "models/exchange/folder.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Fails unless the directory is missing or empty. */
static bool check_room(const char *path, Error *error)
{
    if (!file_exists(path))
        return true;
    DIR *entries = opendir(path);
    if (!entries)
        return error_set(error, "%s: %s; name a folder that is not there yet", path,
                         strerror(errno));
    size_t count = 0;
    for (const struct dirent *entry; (entry = readdir(entries));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(entries);
    if (count > 0)
        return error_set(error, "%s: there is something in it; name a new or an empty folder",
                         path);
    return true;
}

/* Running out of memory exits the program, and a signal ends it; this removes the unfinished
 * directory. There is one at a time. */
static const ExportFolder *volatile unfinished;

static void remove_unfinished(void)
{
    if (!unfinished)
        return;
    for (size_t i = 0; i < arrlenu(unfinished->files); i++)
        unlink(unfinished->files[i]);
    rmdir(unfinished->temporary);
}

static void remember(const ExportFolder *folder)
{
    unfinished = folder;
    file_remove_also(remove_unfinished);
}

static void forget(ExportFolder *folder)
{
    unfinished = NULL;
    for (size_t i = 0; i < arrlenu(folder->files); i++)
        free(folder->files[i]);
    arrfree(folder->files);
    free(folder->path);
    free(folder->temporary);
    *folder = (ExportFolder){0};
}

bool export_folder_begin(ExportFolder *folder, const char *path, Error *error)
{
    if (!check_room(path, error))
        return false;
    /* The directory of a link, and a name for ".": a directory cannot be renamed to either. */
    char *real_path = file_exists(path) ? realpath(path, NULL) : NULL;
    *folder = (ExportFolder){.path = real_path ? real_path : memory_copy_text(path)};
    file_trim_slashes(folder->path);
    folder->temporary = text_format("%s.%ld.tmp", folder->path, (long)getpid());
    remember(folder);
    if (mkdir(folder->temporary, 0777) == 0)
        return true;
    error_set(error, "%s: cannot make a directory beside it: %s", path, strerror(errno));
    forget(folder);
    return false;
}

const char *export_folder_file(ExportFolder *folder, const char *name)
{
    char *path = file_join(folder->temporary, name);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* their handler reads the list */
    arrput(folder->files, path);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return path;
}

bool export_folder_text(ExportFolder *folder, const char *name, const char *text, Error *error)
{
    return file_replace_text(export_folder_file(folder, name), text, error);
}

bool export_folder_json(ExportFolder *folder, const char *name, json_t *value, Error *error)
{
    bool good = file_replace_printed(export_folder_file(folder, name), json_print_lines, value,
                                     error);
    json_decref(value);
    return good;
}

bool export_folder_list(const ExportFolder *folder, char **list, Error *error)
{
    for (size_t i = 0; i < arrlenu(folder->files); i++) {
        struct stat file;
        const char *name = file_base_name(folder->files[i]);
        if (stat(folder->files[i], &file) != 0)
            return error_set(error, "%s/%s: cannot read its size: %s", folder->path, name,
                             strerror(errno));
        text_append(list, "  %-24s %9.1f kB\n", name, (double)file.st_size / 1e3);
    }
    return true;
}

bool export_folder_commit(ExportFolder *folder, Error *error)
{
    if (rename(folder->temporary, folder->path) == 0) {
        forget(folder);
        return true;
    }
    bool late = errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR;
    if (late)
        error_set(error, "%s: another process has made it meanwhile; name a new folder",
                  folder->path);
    else
        error_set(error, "%s: cannot rename the finished directory: %s", folder->path,
                  strerror(errno));
    export_folder_abort(folder);
    return false;
}

void export_folder_abort(ExportFolder *folder)
{
    remove_unfinished();
    forget(folder);
}
