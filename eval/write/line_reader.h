/* Lines that a person types, with editing and a history.
 *
 * Both come from libedit, whose licence is BSD's: readline, which can more, is under the GPL
 * and would put the program under it as well. Where nobody is at a terminal, lines are simply
 * read. The history of earlier sessions is in linnet/history in the user's state folder. */
#ifndef LINNET_LINE_READER_H
#define LINNET_LINE_READER_H

/* libedit's own names, without its header, which calls a tokenizer something else. */
struct editline;
struct history;

typedef struct LineReader {
    struct editline *editor;
    struct history *history;
    char *path; /* of the history; NULL: none is kept */
} LineReader;

/* The prompt is what stands before each line; it must outlive the reader. */
void line_reader_open(LineReader *reader, const char *prompt);
/* Saves the history. */
void line_reader_close(LineReader *reader);

/* The next line without its end, for the caller to free; NULL after the last. */
char *line_reader_next(LineReader *reader);

#endif
