#include "eval/show/markup.h"
#include "eval/show/terminal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* U+FFFE and U+FFFF are well-formed UTF-8 and no characters; XML refuses them. */
static bool is_no_character(const char *c)
{
    return strncmp(c, "\xef\xbf\xbe", 3) == 0 || strncmp(c, "\xef\xbf\xbf", 3) == 0;
}

static const char *escape_of(char c)
{
    static const char special[] = "&<>\"'";
    static const char *const escapes[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    const char *found = strchr(special, c);
    return found ? escapes[found - special] : NULL;
}

void markup_print(FILE *out, const char *text)
{
    char *safe = terminal_safe_name(text, SIZE_MAX, true);
    for (const char *c = safe; *c; c++) {
        const char *escape = escape_of(*c);
        if (is_no_character(c)) {
            fputs("\xef\xbf\xbd", out);
            c += 2;
        } else if (escape) {
            fputs(escape, out);
        } else {
            fputc(*c, out);
        }
    }
    free(safe);
}

json_t *markup_json(const char *text)
{
    char *safe = text ? terminal_safe_name(text, SIZE_MAX, true) : NULL;
    json_t *value = safe ? json_string(safe) : json_null();
    free(safe);
    return value;
}

void markup_print_json(FILE *out, json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(9));
    for (const char *c = text; *c; c++)
        if (*c == '<')
            fputs("\\u003c", out);
        else
            fputc(*c, out);
    free(text);
    json_decref(value);
}
