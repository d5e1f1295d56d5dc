/* What every test file has: a suite, and lists to go through. */
#ifndef LINNET_TESTS_H
#define LINNET_TESTS_H

#include <check.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

Suite *attention_suite(void);
Suite *attention_gradients_suite(void);
Suite *decay_suite(void);
Suite *mixer_layers_suite(void);
Suite *model_suite(void);
Suite *tricks_suite(void);
Suite *carry_suite(void);
Suite *inspect_suite(void);
Suite *core_suite(void);
Suite *file_suite(void);
Suite *options_suite(void);
Suite *numbers_suite(void);
Suite *learning_suite(void);
Suite *step_suite(void);
Suite *golden_suite(void);
Suite *kernel_suite(void);
Suite *team_suite(void);
Suite *adopt_suite(void);
Suite *checkpoint_suite(void);
Suite *forgeries_suite(void);
Suite *training_suite(void);
Suite *extension_suite(void);
Suite *saving_suite(void);
Suite *observers_suite(void);
Suite *events_suite(void);
Suite *fullscreen_suite(void);
Suite *library_suite(void);
Suite *use_suite(void);
Suite *writer_suite(void);
Suite *writing_suite(void);
Suite *reader_suite(void);
Suite *tokenizers_suite(void);
Suite *tokens_suite(void);
Suite *token_files_suite(void);
Suite *vocabulary_suite(void);
Suite *bpe_suite(void);
Suite *corpus_files_suite(void);
Suite *corpus_suite(void);
Suite *batches_suite(void);
Suite *toy_grammar_suite(void);
Suite *toy_suite(void);
Suite *tasks_suite(void);
Suite *safetensors_write_suite(void);
Suite *safetensors_read_suite(void);
Suite *safetensors_hostile_suite(void);
Suite *runlog_suite(void);
Suite *rundata_suite(void);
Suite *scores_suite(void);
Suite *scoring_suite(void);
Suite *baseline_suite(void);
Suite *groups_suite(void);
Suite *hints_suite(void);
Suite *chart_suite(void);
Suite *svg_suite(void);
Suite *table_suite(void);
Suite *report_suite(void);
Suite *terminal_suite(void);
Suite *export_suite(void);
Suite *gguf_suite(void);
Suite *import_suite(void);

#endif
