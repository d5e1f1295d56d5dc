#!/bin/sh
# Tests export: for transformers, with code or as a GPT-2, --plain, and --gguf.
. "$(dirname -- "$0")/../commands.sh"

explains_itself export
train linear --attn linear text.txt
train byte --tokens byte text.txt
train bpe --tokens bpe --vocab-size 300 text.txt

train gpt2 --act gelu --no-qk-norm --head-bias no text.txt
works 'export works' "$bin/export" --example text.txt gpt2 exported
for file in config generation_config tokenizer tokenizer_config example; do
    run cat "exported/$file.json"
    check "export writes valid JSON: $file.json" eval 'exits 0 && is_json'
done
check 'export writes the weights' [ -s exported/model.safetensors ]
check 'export leaves no other files' [ "$(ls -d exported*)" = exported ]
refused 'export refuses a directory that is not empty' 1 'something in it' \
    "$bin/export" gpt2 exported
run "$bin/export" gpt2 "$rude"
check 'export prints no control characters of a name' \
    eval 'exits 0 && prints "^rude.x1b.31m:$" && is_plain'
run "$bin/export" --plain gpt2 "$rude-plain"
check 'nor does export --plain' eval 'exits 0 && is_plain'
mkdir empty
ln -s empty link
works 'export writes to the empty directory of a link' "$bin/export" gpt2 link
check 'that directory has the model' [ -s empty/config.json ]
works 'export takes a model that GPT-2 cannot represent' "$bin/export" --example text.txt linear \
    python
check 'export says what transformers lacks' prints 'transformers has no linear attention: .*modeling_linnet.py'
check 'export says how to open it' prints '"python", trust_remote_code=True)'
check 'export writes the code of the model' same python/modeling_linnet.py \
    "$top/models/exchange/modeling_linnet.py"
run cat python/config.json
check 'export writes which code it is' prints '"AutoModelForCausalLM": "modeling_linnet.Linnet'
run cat exported/tokenizer_config.json
check 'export names a token for padding: of words, the unknown one' prints '"pad_token": "<unk>"'
run "$bin/export" byte bytes
run cat bytes/tokenizer_config.json
check 'of bytes, one that is not in UTF-8' eval 'prints "\"pad_token\": \"ÿ\"" && is_json'
run cat python/config.json
check 'export writes the settings' prints '"attn": "linear"'
check 'export writes no code for a GPT-2' [ ! -e exported/modeling_linnet.py ]
printf '\377' >broken.txt
refused 'export refuses an example that is not UTF-8' 1 'invalid UTF-8 at byte 0' "$bin/export" \
    --example broken.txt gpt2 none
refused 'export refuses to start without a directory' 2 'a new directory are needed' \
    "$bin/export" gpt2
(trap '' XFSZ && ulimit -f 4 && exec "$bin/export" gpt2 none) >out 2>err </dev/null
status=$?
check 'a full disk ends an export' eval "exits 1 && says 'safetensors: cannot write'"
check 'an export that fails leaves nothing' eval '! ls | grep -q none'
works 'export --plain takes any model' "$bin/export" --plain linear plain
run cat plain/settings.json
check 'export --plain writes settings as JSON' eval 'exits 0 && is_json'
for kind in linear byte bpe; do
    rm -rf plain
    run "$bin/export" --plain $kind plain
    works "the plain export of $kind is a tokenizer" \
        "$bin/tokens" count --tokenizer-file plain text.txt
done
run "$bin/export" --plain bpe merges
check 'export of a BPE model writes GPT-2'"'"'s files' lines merges/merges.txt 45
run cat merges/tokenizer.json merges/vocab.json
check 'export of a BPE model writes its tokenizer' prints '"add_prefix_space": false'

# --- llama.cpp ---

train llama --rms-norm --act swiglu --pos rotary --no-qk-norm --head-bias no --tokens bpe \
    --vocab-size 300 text.txt
works 'export --gguf works' "$bin/export" --gguf llama llama.gguf
check 'export --gguf names the architecture' prints '^  llama  *[0-9.]* kB'
check 'export --gguf writes a file that begins as GGUF files do' \
    [ "$(od -An -c -N 8 llama.gguf | tr -d ' ')" = 'GGUF003\0\0\0' ]
check 'export --gguf writes single precision' \
    eval '[ "$(wc -c <llama.gguf)" -gt "$((4 * 300 * 16))" ]'
check 'export --gguf writes whole blocks of 32 bytes' eval '[ "$(($(wc -c <llama.gguf) % 32))" = 0 ]'
check 'export --gguf writes the settings' grep -aq 'rms-norm = yes' llama.gguf
check 'export --gguf leaves no other files' [ "$(ls -d llama.gguf*)" = llama.gguf ]
run "$bin/export" --gguf llama "$rude.gguf"
check 'export --gguf prints no control characters of a name' eval 'exits 0 && is_plain'
refused 'export --gguf does not replace a file' 1 'llama.gguf: there is a file already' \
    "$bin/export" --gguf llama llama.gguf
refused 'export --gguf refuses a model that llama.cpp does not compute' 1 \
    'llama.cpp has no linear attention' "$bin/export" --gguf linear none
refused 'export --gguf refuses to write a directory as well' 2 'without --plain' \
    "$bin/export" --gguf --plain llama none
works 'export --gguf takes a model of words' "$bin/export" --gguf gpt2 words.gguf
check 'export --gguf says that words are not in the file' \
    prints 'no word tokenizer, so the file contains none'
(trap '' XFSZ && ulimit -f 4 && exec "$bin/export" --gguf llama none) >out 2>err </dev/null
status=$?
check 'a full disk ends an export to GGUF' eval "exits 1 && says 'none: cannot'"
check 'an export to GGUF that fails leaves nothing' eval '! ls | grep -q none'

count_cases
