"""Tokens per second at which llama.cpp decodes: peer_llama.py FILE BATCH POSITION. The state is in
single precision, as linnet's."""
import os
import statistics
import sys
import time

import llama_cpp as llama

AT_ONCE, REPEATS, WARM, SINGLE = 512, 60, 5, 0


def decode(context, batch, sequences, first, count):
    """The same tokens for each sequence, from a position on."""
    batch.n_tokens = 0
    for sequence in sequences:
        for i in range(count):
            at = batch.n_tokens
            batch.token[at], batch.pos[at], batch.logits[at] = 1, first + i, i + 1 == count
            batch.n_seq_id[at], batch.seq_id[at][0] = 1, sequence
            batch.n_tokens += 1
    if llama.llama_decode(context, batch) != 0:
        sys.exit("llama.cpp cannot decode this")


def main(file, sequences, position):
    llama.llama_backend_init()
    model = llama.llama_model_load_from_file(file.encode(), llama.llama_model_default_params())
    options = llama.llama_context_default_params()
    options.n_seq_max = sequences
    options.n_ctx = sequences * (position // 256 + 1) * 256
    options.n_threads = options.n_threads_batch = os.cpu_count()
    options.type_k = options.type_v = SINGLE
    context = llama.llama_init_from_model(model, options)
    if not context:
        sys.exit("llama.cpp has no room for these positions")
    batch = llama.llama_batch_init(max(AT_ONCE, sequences), 0, 1)
    for sequence in range(sequences):
        for first in range(0, position, AT_ONCE):
            decode(context, batch, [sequence], first, min(AT_ONCE, position - first))
    times = []
    for _ in range(REPEATS + WARM):
        start = time.perf_counter()
        decode(context, batch, range(sequences), position, 1)
        times.append(time.perf_counter() - start)
        llama.llama_memory_seq_rm(llama.llama_get_memory(context), -1, position, -1)
    print(f"{sequences / statistics.median(times[WARM:]):.1f}")


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
