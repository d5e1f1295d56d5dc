#include "eval/sample/line_reader.h"
#include "eval/show/terminal.h"
#include "src/base/file.h"
#include "src/base/program.h"
#include "src/base/text.h"

#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HISTORY_MOST 1000

/* --- where the history is --- */

/* NULL if there is no place for it. Missing directories are made for the user only. */
static char *history_path(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool has_state = state && *state == '/';
    if (!has_state && (!home || *home != '/'))
        return NULL;
    char *path = has_state ? file_join(state, "linnet/history")
                           : file_join(home, ".local/state/linnet/history");
    Error error;
    mode_t before = umask(S_IRWXG | S_IRWXO);
    bool good = file_make_parents(path, &error);
    umask(before);
    if (good)
        return path;
    free(path);
    return NULL;
}

static void open_history(LineReader *reader)
{
    HistEvent event;
    reader->path = history_path();
    history(reader->history, &event, H_SETSIZE, HISTORY_MOST);
    history(reader->history, &event, H_SETUNIQUE, 1);
    if (reader->path)
        history(reader->history, &event, H_LOAD, reader->path);
    el_set(reader->editor, EL_HIST, history, reader->history);
}

/* libedit needs a file that it can mark close-on-exec. */
static bool write_history(const LineReader *reader, int fd)
{
    HistEvent event;
    int copy = dup(fd);
    FILE *stream = copy < 0 ? NULL : fdopen(copy, "w");
    if (!stream) {
        if (copy >= 0)
            close(copy);
        return false;
    }
    bool good = history(reader->history, &event, H_SAVE_FP, stream) >= 0;
    return fclose(stream) == 0 && good;
}

static void save_history(const LineReader *reader)
{
    FileReplacement file;
    Error error;
    bool good = file_replace_begin(&file, reader->path, &error);
    if (good && !write_history(reader, file.fd)) {
        good = error_set(&error, "%s: cannot write: %s", reader->path, strerror(errno));
        file_replace_abort(&file);
    }
    if (!good || !file_replace_commit(&file, &error))
        print_warning("%s", error.text);
}

/* --- lines --- */

static const char *prompt_text;

static char *prompt_of(EditLine *editor)
{
    (void)editor;
    return (char *)prompt_text;
}

/* The default action of Ctrl-Z; libedit restores the terminal before and takes it after. */
static unsigned char suspend(EditLine *editor, int key)
{
    (void)editor, (void)key;
    raise(SIGTSTP);
    return CC_REFRESH;
}

void line_reader_open(LineReader *reader, const char *prompt)
{
    *reader = (LineReader){0};
    if (!terminal_is_interactive(STDIN_FILENO))
        return;
    /* The editor needs the character set; it drops bytes that are not ASCII without one. The
     * rest of the locale stays: it would change how numbers are read and written. */
    const char *locale = setlocale(LC_CTYPE, "");
    if (!locale || strcmp(locale, "C") == 0 || strcmp(locale, "POSIX") == 0)
        setlocale(LC_CTYPE, "C.UTF-8");
    prompt_text = prompt;
    *reader = (LineReader){.editor = el_init(program_name, stdin, stdout, stderr),
                           .history = history_init()};
    if (!reader->editor || !reader->history)
        die("the line editor cannot begin: not enough memory");
    el_set(reader->editor, EL_PROMPT, prompt_of);
    el_set(reader->editor, EL_EDITOR, "emacs");
    el_set(reader->editor, EL_SIGNAL, 1);
    /* While editing, Ctrl-C is a key that discards the line. */
    el_set(reader->editor, EL_SETTY, "-d", "-isig", NULL);
    el_set(reader->editor, EL_BIND, "^C", "em-kill-line", NULL);
    el_wset(reader->editor, EL_ADDFN, L"suspend", L"stop the program", suspend);
    el_set(reader->editor, EL_BIND, "^Z", "suspend", NULL);
    el_source(reader->editor, NULL); /* the user's ~/.editrc */
    open_history(reader);
}

void line_reader_close(LineReader *reader)
{
    if (reader->path)
        save_history(reader);
    free(reader->path);
    if (reader->editor) {
        el_end(reader->editor);
        history_end(reader->history);
    }
}

static char *next_plain(void)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size = getline(&line, &room, stdin);
    if (size < 0) {
        free(line);
        return NULL;
    }
    if (size > 0 && line[size - 1] == '\n')
        line[--size] = '\0';
    if (size > 0 && line[size - 1] == '\r')
        line[--size] = '\0';
    return line;
}

char *line_reader_next(LineReader *reader)
{
    int size;
    HistEvent event;
    if (!reader->editor)
        return next_plain();
    const char *line = el_gets(reader->editor, &size);
    if (!line || size <= 0)
        return NULL;
    if (reader->path && line[strspn(line, " \t\n")])
        history(reader->history, &event, H_ENTER, line);
    return text_format("%.*s", (int)strcspn(line, "\n"), line);
}
