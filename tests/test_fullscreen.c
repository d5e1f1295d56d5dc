/* The full-screen view on a pseudo-terminal: its drawing, and that the terminal is restored
 * however the program ends. */
#include "src/base/containers.h"
#include "src/base/text.h"
#include "tests/tests.h"
#include "train/observers/fullscreen.h"
#include "train/loop/signals.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

SUITE("fullscreen");

static const char shows_page[] = "\033[?1049h", hides_page[] = "\033[?1049l",
                  shows_cursor[] = "\033[?25h", wraps[] = "\033[?7h";

/* In the child process: a program on the terminal that ends in one of several ways. */
static _Noreturn void run_on(const char *terminal, void (*act)(void))
{
    setsid();
    int fd = open(terminal, O_RDWR);
    struct winsize size = {.ws_row = 10, .ws_col = 40};
    ioctl(fd, TIOCSCTTY, 0);
    ioctl(fd, TIOCSWINSZ, &size);
    dup2(fd, STDERR_FILENO);
    setenv("TERM", "xterm", 1);
    act();
    exit(0);
}

/* The output to the terminal during the act; *echo: whether the terminal echoes afterwards. The
 * caller frees the text. */
static char *perform(void (*act)(void), int *status, bool *echo)
{
    int host = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert(host >= 0 && grantpt(host) == 0 && unlockpt(host) == 0);
    char *name = memory_copy_text(ptsname(host));
    int guest = open(name, O_RDWR | O_NOCTTY); /* so that reading ends when the child ends */
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        run_on(name, act);
    ck_assert_int_eq(waitpid(child, status, 0), child);
    struct termios modes;
    ck_assert_int_eq(tcgetattr(guest, &modes), 0);
    *echo = modes.c_lflag & ECHO;
    close(guest);
    char *text = memory_copy_text(""), bytes[513];
    for (ssize_t got; (got = read(host, bytes, sizeof bytes - 1)) > 0;) {
        bytes[got] = '\0';
        text_append(&text, "%s", bytes);
    }
    close(host);
    free(name);
    return text;
}

/* The last occurrence of a part in a text. */
static const char *last_of(const char *text, const char *part)
{
    const char *last = NULL;
    for (const char *at = text; (at = strstr(at, part)); at++)
        last = at;
    return last;
}

/* Checks that the page was shown and the terminal restored. Returns the output after the page.
 */
static const char *check_given_back(const char *text, bool echo)
{
    const char *shown = last_of(text, shows_page), *hidden = last_of(text, hides_page);
    ck_assert_ptr_nonnull(shown);
    ck_assert_ptr_nonnull(hidden);
    ck_assert(hidden > shown);
    ck_assert(last_of(text, shows_cursor) > last_of(text, "\033[?25l"));
    ck_assert(last_of(text, wraps) > last_of(text, "\033[?7l"));
    ck_assert(echo);
    return hidden + strlen(hides_page);
}

/* --- ends --- */

static void enter(void)
{
    Error error;
    if (!fullscreen_is_possible() || !fullscreen_enter(&error))
        _exit(99);
    fprintf(stderr, "a message\n");
}

static void end_well(void)
{
    enter();
    fullscreen_leave();
    fprintf(stderr, "the end\n");
}

static void exit_inside(void)
{
    enter();
    die("no more memory");
}

static void crash(void)
{
    enter();
    raise(SIGSEGV);
}

static void abort_inside(void)
{
    enter();
    abort();
}

static void interrupt_twice(void)
{
    signals_catch();
    enter();
    raise(SIGINT);
    if (signals_caught() == SIGINT)
        raise(SIGINT);
}

TEST(the_terminal_is_restored)
{
    const struct {
        void (*act)(void);
        int status; /* -1: any failure */
        const char *after;
    } ends[] = {{end_well, 0, "a message\r\nthe end\r\n"},
                {exit_inside, 1, "no more memory\r\n"},
                {crash, -1, "a message\r\n"},
                {abort_inside, -1, "a message\r\n"},
                {interrupt_twice, 130, "a message\r\n"}};
    for (size_t i = 0; i < COUNT(ends); i++) {
        int status;
        bool echo;
        char *text = perform(ends[i].act, &status, &echo);
        const char *after = check_given_back(text, echo);
        ck_assert_msg(strstr(after, ends[i].after), "end %zu: after the page: %s", i, after);
        ck_assert(last_of(text, "a message") > last_of(text, hides_page));
        if (ends[i].status >= 0)
            ck_assert_int_eq(WEXITSTATUS(status), ends[i].status);
        else
            ck_assert(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
        free(text);
    }
}

/* --- drawing --- */

static void free_lines(char **lines)
{
    for (size_t i = 0; i < arrlenu(lines); i++)
        free(lines[i]);
    arrfree(lines);
}

static void draw_some(void)
{
    enter();
    char **lines = NULL;
    FullscreenLook look = fullscreen_look();
    arrput(lines, text_format("%zu by %zu", look.columns, look.rows));
    arrput(lines, memory_copy_text("stays"));
    fullscreen_draw(lines);
    fullscreen_draw(lines); /* nothing changed */
    free(lines[0]);
    lines[0] = memory_copy_text("changes");
    fullscreen_draw(lines);
    free(arrpop(lines));
    fullscreen_draw(lines); /* one line fewer */
    fullscreen_leave();
    free_lines(lines);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        count++;
    return count;
}

TEST(only_changed_lines_are_redrawn)
{
    int status;
    bool echo;
    char *text = perform(draw_some, &status, &echo);
    check_given_back(text, echo);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(count_of(text, "\033[1;1H39 by 10"), 1);
    ck_assert_uint_eq(count_of(text, "\033[2;1Hstays"), 1);
    ck_assert_uint_eq(count_of(text, "\033[1;1Hchanges"), 1);
    ck_assert_uint_eq(count_of(text, "\033[2;1H\033[0m\033[K"), 1);
    ck_assert_uint_eq(count_of(text, "\033[?2026h"), 3);
    free(text);
}

static void draw_after_resizing(void)
{
    enter();
    char **lines = NULL;
    arrput(lines, memory_copy_text("line"));
    fullscreen_draw(lines);
    bool fresh = !fullscreen_is_stale();
    struct winsize size = {.ws_row = 5, .ws_col = 20};
    int terminal = open("/dev/tty", O_RDWR);
    ioctl(terminal, TIOCSWINSZ, &size);
    raise(SIGWINCH); /* the kernel sends it only to the foreground process group */
    if (!fresh || !fullscreen_is_stale() || fullscreen_look().columns != 19)
        _exit(98);
    fullscreen_draw(lines);
    fullscreen_leave();
    free_lines(lines);
}

TEST(a_resized_terminal_is_redrawn)
{
    int status;
    bool echo;
    char *text = perform(draw_after_resizing, &status, &echo);
    check_given_back(text, echo);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(count_of(text, "\033[2J\033[1;1Hline"), 2);
    free(text);
}

static void look_at_sizes(void)
{
    static const struct winsize sizes[] = {{.ws_col = 1, .ws_row = 1},
                                           {.ws_col = 65535, .ws_row = 65535}};
    enter();
    int terminal = open("/dev/tty", O_RDWR);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        ioctl(terminal, TIOCSWINSZ, &sizes[i]);
        FullscreenLook look = fullscreen_look();
        if (look.columns < 1 || look.rows < 1 || look.columns > 1000 || look.rows > 1000)
            _exit(97);
    }
    fullscreen_leave();
}

TEST(absurd_sizes_are_bounded)
{
    int status;
    bool echo;
    free(perform(look_at_sizes, &status, &echo));
    ck_assert_int_eq(status, 0);
}
