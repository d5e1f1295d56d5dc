/* Where runs come from, as sentences below a table. */
#include "eval/runs/results.h"
#include "src/base/containers.h"
#include "src/base/text.h"

static void append(char **text, const RunGroup *group, const char *key, const char *what)
{
    for (size_t r = 0; r < arrlenu(group->runs); r++) {
        const char *value = rundata_setting(group->runs[r], key);
        if (value)
            text_append(text, "%s%s %s %s.", *text ? " " : "", group->runs[r]->name, what,
                        value);
    }
}

static void append_matching(char **text, const RunGroup *group)
{
    for (size_t r = 0; r < arrlenu(group->runs); r++) {
        const RunLogRow *last = rundata_last_match(group->runs[r]);
        if (last)
            text_append(text, "%s%s: attention transfer up to step %zu, epoch %.4g.",
                        *text ? " " : "", group->runs[r]->name, last->step, last->epoch);
    }
}

char *results_history_text(const RunGroup *groups)
{
    char *text = NULL;
    for (size_t g = 0; g < arrlenu(groups); g++) {
        append(&text, &groups[g], RUN_ORIGIN, "started from");
        append(&text, &groups[g], RUN_TEACHER, "was distilled from");
        append_matching(&text, &groups[g]);
        append(&text, &groups[g], RUN_EXTENDED, "was extended after");
    }
    return text;
}
