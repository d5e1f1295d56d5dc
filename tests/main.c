/* Runs every suite. The same tests are built with float and with double reals; in double only
 * those run that want the digits. */
#include "src/error.h"
#include "src/gemm.h"
#include "tests/tests.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
    (void)argc;
    gemm_choose_kernels(argv);
    program_name_set(argv[0]);
    SRunner *runner = srunner_create(attention_suite());
    srunner_add_suite(runner, model_suite());
#ifndef LINNET_DOUBLE
    srunner_add_suite(runner, core_suite());
    srunner_add_suite(runner, data_suite());
    srunner_add_suite(runner, toy_suite());
    srunner_add_suite(runner, safetensors_suite());
    srunner_add_suite(runner, chart_suite());
#endif
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
