/* Reads lines that a person types, with editing and history.
 *
 * libedit does both. Its licence is BSD; readline's is the GPL, which would apply to the
 * program. Without a terminal, lines are read as they are. The history is kept in
 * linnet/history in the user's state directory. */
#ifndef LINNET_LINE_READER_H
#define LINNET_LINE_READER_H

/* libedit's types, declared here because its header defines another Tokenizer. */
struct editline;
struct history;

typedef struct LineReader {
    struct editline *editor; /* NULL: no terminal */
    struct history *history;
    char *path; /* of the history; NULL: none */
} LineReader;

/* The prompt is shown on a terminal before each line; it must outlive the reader. */
void line_reader_open(LineReader *reader, const char *prompt);
/* Saves the history. */
void line_reader_close(LineReader *reader);

/* The next line without its line end, LF or CR LF; NULL after the last. The caller frees. */
char *line_reader_next(LineReader *reader);

#endif
