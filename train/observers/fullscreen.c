#include "train/observers/fullscreen.h"
#include "eval/show/terminal.h"
#include "src/base/containers.h"
#include "src/base/text.h"
#include "train/loop/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* Switches to the alternate screen without cursor and wrapping, and back, inside a frame or
 * not. */
static const char show_page[] = "\033[?1049h\033[?25l\033[?7l\033[2J";
static const char hide_page[] = "\033[?2026l\033[0m\033[?7h\033[?25h\033[?1049l";

static struct {
    volatile sig_atomic_t taken; /* this program must restore the terminal */
    volatile sig_atomic_t shown; /* the page is on the screen */
    volatile sig_atomic_t stale;
    int terminal; /* the original standard error */
    FILE *kept;   /* messages written to standard error meanwhile */
    struct termios modes;
    bool has_modes;
    struct sigaction before_stop, before_resize;
    char **drawn; /* an array of stb_ds: the lines on the screen */
    FullscreenLook look;
} page;

/* --- async-signal-safe functions --- */

static void write_all(int to, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t done = write(to, bytes, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return; /* the terminal is gone or blocked */
        bytes += done;
        size -= (size_t)done;
    }
}

/* A background program must not draw over those in the foreground. */
static bool in_foreground(void)
{
    pid_t group = tcgetpgrp(page.terminal);
    return group < 0 || group == getpgrp();
}

/* Turns the echo of keys on or off. */
static void set_modes(bool echo)
{
    if (!page.has_modes || !in_foreground())
        return;
    struct termios modes = page.modes;
    if (!echo)
        modes.c_lflag &= ~(tcflag_t)ECHO;
    tcsetattr(page.terminal, TCSANOW, &modes);
}

static void show(void)
{
    if (page.shown || !in_foreground())
        return;
    page.shown = page.stale = 1;
    set_modes(false);
    write_all(page.terminal, show_page, sizeof show_page - 1);
}

static void hide(void)
{
    if (!page.shown)
        return;
    page.shown = 0;
    write_all(page.terminal, hide_page, sizeof hide_page - 1);
    set_modes(true);
}

/* Restores standard error and prints what was kept. */
static void give_back(void)
{
    if (!page.taken)
        return;
    page.taken = 0;
    hide();
    int kept = fileno(page.kept);
    dup2(page.terminal, STDERR_FILENO);
    lseek(kept, 0, SEEK_SET);
    char bytes[512];
    for (ssize_t got; (got = read(kept, bytes, sizeof bytes)) > 0;)
        write_all(STDERR_FILENO, bytes, (size_t)got);
}

static void on_resize(int number)
{
    (void)number;
    page.stale = 1;
}

static void catch_stop(void);

/* Ctrl-Z: leaves the page and stops until "fg". */
static void on_stop(int number)
{
    int reason = errno;
    hide();
    sigaction(number, &page.before_stop, NULL);
    raise(number);
    catch_stop();
    show();
    errno = reason;
}

static void catch_stop(void)
{
    /* SA_NODEFER: the signal that on_stop raises must arrive while it runs. */
    struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESTART | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTSTP, &action, NULL);
}

/* --- taking and restoring the terminal --- */

bool fullscreen_is_possible(void)
{
    return terminal_can_redraw(STDERR_FILENO);
}

static void catch_signals(void)
{
    struct sigaction resize = {.sa_handler = on_resize, .sa_flags = SA_RESTART};
    sigemptyset(&resize.sa_mask);
    sigaction(SIGWINCH, &resize, &page.before_resize);
    sigaction(SIGTSTP, NULL, &page.before_stop);
    if (page.before_stop.sa_handler != SIG_IGN) /* there is no shell to continue it */
        catch_stop();
    signals_set_last_act(give_back);
}

bool fullscreen_enter(Error *error)
{
    static bool at_exit;
    page.kept = tmpfile();
    page.terminal = page.kept ? dup(STDERR_FILENO) : -1;
    if (page.terminal < 0) {
        error_set(error, "--watch: no file for messages: %s", strerror(errno));
        if (page.kept)
            fclose(page.kept);
        return false;
    }
    fflush(stdout);
    page.has_modes = tcgetattr(page.terminal, &page.modes) == 0;
    dup2(fileno(page.kept), STDERR_FILENO);
    page.taken = 1;
    catch_signals();
    if (!at_exit)
        atexit(fullscreen_leave);
    at_exit = true;
    show();
    return true;
}

static void forget_lines(void)
{
    for (size_t i = 0; i < arrlenu(page.drawn); i++)
        free(page.drawn[i]);
    arrfree(page.drawn);
}

void fullscreen_leave(void)
{
    if (!page.taken)
        return;
    signals_set_last_act(NULL);
    give_back();
    sigaction(SIGTSTP, &page.before_stop, NULL);
    sigaction(SIGWINCH, &page.before_resize, NULL);
    close(page.terminal);
    fclose(page.kept);
    forget_lines();
}

/* --- drawing --- */

/* Terminals may report any size, and a page takes memory for each of its cells. */
static size_t within_reason(size_t size)
{
    enum { MOST = 1000 };
    return size < MOST ? size : MOST;
}

FullscreenLook fullscreen_look(void)
{
    /* The last column stays free: erasing to the end of a line starts after its text. */
    size_t width = within_reason(terminal_width(page.terminal));
    return (FullscreenLook){.columns = width > 1 ? width - 1 : 1,
                            .rows = within_reason(terminal_height(page.terminal)),
                            .utf8 = terminal_is_utf8(),
                            .colour = terminal_has_colour(page.terminal)};
}

bool fullscreen_is_stale(void)
{
    return page.stale;
}

/* The escape sequences that turn the lines drawn last into these, which it remembers. */
static char *changes(char *const *lines, bool all)
{
    char *text = all ? text_format("\033[2J") : NULL;
    for (size_t i = 0; i < arrlenu(lines) || i < arrlenu(page.drawn); i++) {
        const char *line = i < arrlenu(lines) ? lines[i] : "";
        if (i >= arrlenu(page.drawn))
            arrput(page.drawn, memory_copy_text(""));
        if (!all && strcmp(line, page.drawn[i]) == 0)
            continue;
        text_append(&text, "\033[%zu;1H%s\033[0m\033[K", i + 1, line);
        free(page.drawn[i]);
        page.drawn[i] = memory_copy_text(line);
    }
    return text;
}

void fullscreen_draw(char *const *lines)
{
    show(); /* if it is not shown */
    if (!page.shown || !in_foreground())
        return;
    FullscreenLook look = fullscreen_look();
    bool all = page.stale || look.columns != page.look.columns || look.rows != page.look.rows;
    page.stale = 0;
    page.look = look;
    if (all)
        forget_lines();
    char *update = changes(lines, all);
    if (update) {
        char *frame = text_format("\033[?2026h%s\033[?2026l", update);
        write_all(page.terminal, frame, strlen(frame));
        free(frame);
    }
    free(update);
}
