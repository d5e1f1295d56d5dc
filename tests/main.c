/* Runs every suite that is linked in. */
#include "src/base/containers.h"
#include "src/base/error.h"
#include "tests/scratch.h"
#include "tests/tests.h"

#include <stdlib.h>

static TestPart **parts; /* a list of stb_ds */

void test_part_add(TestPart *part)
{
    arrput(parts, part);
}

/* In the order of the files, and of the lines in each. */
static int compare_places(const void *a, const void *b)
{
    const TTest *first = &(*(TestPart *const *)a)->test,
                *second = &(*(TestPart *const *)b)->test;
    int order = strcmp(first->file, second->file);
    return order ? order : first->line - second->line;
}

static TCase *make_case(const TestPart *part)
{
    TCase *made = tcase_create(part->test.name);
    if (part->folder) {
        tcase_add_unchecked_fixture(made, scratch_make, scratch_remove);
        tcase_add_checked_fixture(made, scratch_empty, NULL);
    }
    tcase_add_checked_fixture(made, part->set_up, part->tear_down);
    return made;
}

static void add_test(TCase *tests, const TestPart *part)
{
    if (part->status)
        tcase_add_exit_test(tests, &part->test, part->status);
    else
        tcase_add_loop_test(tests, &part->test, part->from, part->to);
}

int main(int argc, char **argv)
{
    (void)argc;
    program_name_set(argv[0]);
    /* Seconds per test; the default of 4 is too short on a busy machine and for sanitizers. */
    setenv("CK_DEFAULT_TIMEOUT", "300", 0);
    SRunner *runner = srunner_create(NULL);
    Suite *suite = NULL;
    TCase *tests = NULL;
    qsort(parts, arrlenu(parts), sizeof *parts, compare_places);
    for (size_t i = 0; i < arrlenu(parts); i++) {
        if (parts[i]->is_suite)
            srunner_add_suite(runner, suite = suite_create(parts[i]->test.name));
        if (parts[i]->test.fn)
            add_test(tests, parts[i]);
        else
            suite_add_tcase(suite, tests = make_case(parts[i]));
    }
    arrfree(parts);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
