/* Runs every suite. The tests are built with float and with double reals; with double, only
 * those that need the precision run. */
#include "src/base/error.h"
#include "src/math/gemm.h"
#include "tests/tests.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
    (void)argc;
    program_name_set(argv[0]);
    /* Seconds per test; the default of 4 is too short on a busy machine and for sanitizers. */
    setenv("CK_DEFAULT_TIMEOUT", "60", 0);
    SRunner *runner = srunner_create(attention_suite());
    srunner_add_suite(runner, decay_suite());
    srunner_add_suite(runner, mixer_layers_suite());
    srunner_add_suite(runner, model_suite());
    srunner_add_suite(runner, tricks_suite());
    srunner_add_suite(runner, carry_suite());
    srunner_add_suite(runner, inspect_suite());
    srunner_add_suite(runner, numbers_suite());
    srunner_add_suite(runner, learning_suite());
    srunner_add_suite(runner, step_suite());
    srunner_add_suite(runner, adopt_suite());
    srunner_add_suite(runner, golden_suite());
    srunner_add_suite(runner, kernel_suite());
    srunner_add_suite(runner, team_suite());
    srunner_add_suite(runner, scoring_suite());
    srunner_add_suite(runner, import_suite());
    srunner_add_suite(runner, tasks_suite());
#ifdef LINNET_DOUBLE
    srunner_add_suite(runner, attention_gradients_suite());
#else
    srunner_add_suite(runner, core_suite());
    srunner_add_suite(runner, file_suite());
    srunner_add_suite(runner, options_suite());
    srunner_add_suite(runner, reader_suite());
    srunner_add_suite(runner, tokenizers_suite());
    srunner_add_suite(runner, tokens_suite());
    srunner_add_suite(runner, token_files_suite());
    srunner_add_suite(runner, vocabulary_suite());
    srunner_add_suite(runner, bpe_suite());
    srunner_add_suite(runner, corpus_files_suite());
    srunner_add_suite(runner, corpus_suite());
    srunner_add_suite(runner, batches_suite());
    srunner_add_suite(runner, toy_grammar_suite());
    srunner_add_suite(runner, toy_suite());
    srunner_add_suite(runner, safetensors_write_suite());
    srunner_add_suite(runner, safetensors_read_suite());
    srunner_add_suite(runner, safetensors_hostile_suite());
    srunner_add_suite(runner, runlog_suite());
    srunner_add_suite(runner, rundata_suite());
    srunner_add_suite(runner, scores_suite());
    srunner_add_suite(runner, baseline_suite());
    srunner_add_suite(runner, groups_suite());
    srunner_add_suite(runner, chart_suite());
    srunner_add_suite(runner, svg_suite());
    srunner_add_suite(runner, table_suite());
    srunner_add_suite(runner, report_suite());
    srunner_add_suite(runner, terminal_suite());
    srunner_add_suite(runner, checkpoint_suite());
    srunner_add_suite(runner, forgeries_suite());
    srunner_add_suite(runner, hints_suite());
    srunner_add_suite(runner, training_suite());
    srunner_add_suite(runner, extension_suite());
    srunner_add_suite(runner, saving_suite());
    srunner_add_suite(runner, observers_suite());
    srunner_add_suite(runner, events_suite());
    srunner_add_suite(runner, fullscreen_suite());
    srunner_add_suite(runner, library_suite());
    srunner_add_suite(runner, use_suite());
    srunner_add_suite(runner, writer_suite());
    srunner_add_suite(runner, writing_suite());
    srunner_add_suite(runner, export_suite());
    srunner_add_suite(runner, gguf_suite());
#endif
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
