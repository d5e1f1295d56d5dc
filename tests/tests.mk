# Everything that tests or measures linnet; README.md says what each target finds and how long it
# takes.

# --- the test programs ---

TESTS    = $(wildcard tests/*.c)
# With double reals, only what needs the precision: gradients and formulas.
PRECISE  = adopt attention attention_gradients carry decay golden learning mixer_layers model numbers subwords tricks
HELPERS  = $(filter-out tests/test_%,$(TESTS))
tests_float  = $(filter-out %_gradients.c,$(TESTS))
tests_double = $(HELPERS) $(PRECISE:%=tests/test_%.c)
SHEETS   = $(wildcard $(patsubst %,%/*.[ch],$(FOLDERS) tests tests/*))

define tests_rule
$(tests_$(1):%.c=$(BUILD)/$(1)/%.o): | test-libraries
$(BUILD)/tests-$(1): $(tests_$(1):%.c=$(BUILD)/$(1)/%.o) $(BUILD)/$(1)/liblinnet.a
	$$(call say,LD)
	$$(Q)$$(CC) $$(CFLAGS_) $$(LDFLAGS_) $$^ -o $$@ $$(LIBS) $$(shell $$(PKG_CONFIG) --libs check)
endef
$(foreach real,float double,$(eval $(call tests_rule,$(real))))

# The fuzz targets, with clang's libFuzzer and as a plain replay of stored inputs.
FUZZ      = $(wildcard tests/fuzz/*.c)
fuzz_with = $(patsubst %.c,$(BUILD)/float/%.o,$(filter-out tests/fuzz/$(1).c,$(FUZZ)))

$(BUILD)/fuzz-replay: $(call fuzz_with,libfuzzer) $(BUILD)/float/liblinnet.a
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS_) $(LDFLAGS_) $^ -o $@ $(LIBS)

$(BUILD)/fuzz: $(call fuzz_with,replay) $(BUILD)/float/liblinnet.a
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS_) -fsanitize=fuzzer $(LDFLAGS_) $^ -o $@ $(LIBS)

# Programs whose system calls fail on demand, and the driver that makes them fail.
FAULTY    = train sample eval compare export import inspect
FALLIBLE  = malloc calloc realloc aligned_alloc open_memstream pthread_create open close read \
            pread write pwrite ftruncate fallocate fsync fdatasync rename link unlink mkdir \
            fopen fdopen fclose fflush tmpfile opendir readdir access stat fstat lseek readlink \
            realpath flock inflateInit2_ inflate clock_gettime time
INJECT    = tests/faults/inject
FAULTS    = $(filter-out $(INJECT).c,$(wildcard tests/faults/*.c))

define faulty_rule
$(BUILD)/faulty/$(1): $(BUILD)/float/$(main_of_$(1)).o $(BUILD)/float/$(INJECT).o $(BUILD)/float/liblinnet.a
	@mkdir -p $$(@D)
	$$(call say,LD)
	$$(Q)$$(CC) $$(CFLAGS_) $$(LDFLAGS_) $$(FALLIBLE:%=-Wl,--wrap=%) $$^ -o $$@ $$(LIBS)
endef
$(foreach program,$(FAULTY),$(eval $(call faulty_rule,$(program))))

$(BUILD)/faults: $(FAULTS:%.c=$(BUILD)/float/%.o) $(BUILD)/float/liblinnet.a
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS_) $(LDFLAGS_) $^ -o $@ $(LIBS)

# The public library, used by a program; and all that it contains, without memory.
$(BUILD)/library-client: $(BUILD)/float/tests/library/client.o $(BIN)/lib/$(PUBLIC)
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS_) $(LDFLAGS_) $^ -o $@ -lm -pthread

WITHOUT_MEMORY = malloc calloc realloc aligned_alloc
$(BUILD)/library-memory: $(BUILD)/float/tests/library/memory.o $(BUILD)/float/liblinnet.a
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS_) $(LDFLAGS_) $(WITHOUT_MEMORY:%=-Wl,--wrap=%) $^ -o $@ $(LIBS)

# Matrix products against OpenBLAS, which the programs do without.
define blas_rule
$(BUILD)/$(1)/tests/blas/blas.o: CPPFLAGS_ += $$(shell $$(PKG_CONFIG) --cflags openblas)
$(BUILD)/$(1)/tests/blas/blas.o: | openblas
$(BUILD)/blas-$(1): $(BUILD)/$(1)/tests/blas/blas.o $(BUILD)/$(1)/liblinnet.a
	$$(call say,LD)
	$$(Q)$$(CC) $$(CFLAGS_) $$(LDFLAGS_) $$^ -o $$@ $$(LIBS) $$(shell $$(PKG_CONFIG) --libs openblas)
endef
$(foreach real,float double,$(eval $(call blas_rule,$(real))))

# Inputs and outputs of the attention kinds, for check_kinds.py and check_layers.py.
CASES = interop/cases attention_case rig support
$(BUILD)/interop-cases: $(CASES:%=$(BUILD)/double/tests/%.o) $(BUILD)/double/liblinnet.a
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS_) $(LDFLAGS_) $^ -o $@ $(LIBS) $(shell $(PKG_CONFIG) --libs check)

# --- make test ---

# Every part is a target, so that all cores work at once: "make check-programs" runs one.
CHECKS = includes pages double float blas replay get programs manual library report experiment faults
check: $(CHECKS:%=check-%)

check-includes check-pages check-get: check-%:
	sh tests/$*.sh
check-double check-float: check-%: $(BUILD)/tests-%
	$<
check-blas: $(BUILD)/blas-float $(BUILD)/blas-double
	$(BUILD)/blas-float
	$(BUILD)/blas-double
check-replay: $(BUILD)/fuzz-replay
	$< tests/fuzz/seeds tests/fuzz/regressions
check-programs check-report check-experiment: check-%: all
	sh tests/$*.sh $(BIN)
check-manual: all
	MAKE='$(MAKE)' sh tests/manual.sh $(BIN) $(BUILD)
check-library: all $(BUILD)/library-client $(BUILD)/library-memory
	CC='$(CC)' MAKE='$(MAKE)' sh tests/library.sh $(BIN) $(BUILD)
check-faults: $(BUILD)/faults $(FAULTY:%=$(BUILD)/faulty/%)
	$< quick $(BUILD)/faulty

# --- more tests ---

# variant(NAME,TARGET,SETTINGS): makes a target with other flags, in a directory of its own,
# with longer timeouts.
variant  = +@CK_TIMEOUT_MULTIPLIER=20 $(MAKE) --no-print-directory $(2) \
             BUILD=$(BUILD)/$(1) BIN=$(BUILD)/$(1)/bin $(3)
SANITIZE = -O1 -g $(ARCH) -fno-sanitize-recover=all -fno-omit-frame-pointer

asan:
	$(call variant,asan,sanitized,PROTECT= \
	  OPTIMISE="$(SANITIZE) -fsanitize=address -fsanitize=undefined -fsanitize=float-cast-overflow")

# .ci/run leaves double out: it is the code of float with another type of numbers, and takes long.
SANITIZED = double float replay programs report experiment faults
sanitized: $(SANITIZED:%=check-%)

# The commands of README and tutorial, as printed, in a fresh clone.
check-documents:
	sh tests/documents.sh

# A run that is killed and resumed for two hours.
MINUTES ?= 120
soak: all
	sh tests/soak.sh $(BIN) $(MINUTES)

# Data-parallel training with several processes, and with several machines.
mpi_programs = $(MAKE) --no-print-directory all MPI=1 BUILD=$(BUILD)/mpi BIN=$(BUILD)/mpi/bin
ranks: all
	@$(mpi_programs)
	sh tests/ranks.sh $(BUILD)/mpi/bin $(BIN)
	sh tests/network.sh $(BUILD)/mpi/bin $(BIN)

# Measures data-parallel training on networks of several speeds; SCALE has options for bench.
SCALE ?= --preset article --layers 4 --dim 256 --ffn 0
scale:
	@$(mpi_programs)
	sh tests/scale.sh $(BUILD)/mpi/bin $(SCALE)

# Failing system calls, kill -9, power failures and full disks; "make test" runs a part of it.
faults: $(BUILD)/faults $(FAULTY:%=$(BUILD)/faulty/%)
	$< whole $(BUILD)/faulty

# Data races in the thread team and in everything that runs on it.
tsan:
	$(call variant,tsan,threads,PROTECT= OPTIMISE="$(SANITIZE) -fsanitize=thread")

threads: all $(BUILD)/tests-float $(BUILD)/library-client $(BUILD)/library-memory
	for suite in team 'mixer layers' carry step; do \
	  CK_RUN_SUITE="$$suite" $(BUILD)/tests-float || exit 1; \
	done
	sh tests/smoke.sh $(BIN)
	CC='$(CC)' EXAMPLE_CC='$(CC) -fsanitize=thread' MAKE='$(MAKE)' sh tests/library.sh $(BIN) $(BUILD)

# valgrind does not know AVX-512, nor other instructions that are newer than Haswell.
VALGRIND = valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite
valgrind:
	$(call variant,valgrind,observed,ARCH=$(call if_known,-march=haswell) \
	  OPTIMISE="-O1 -g $(call if_known,-march=haswell)")

observed: all $(BUILD)/tests-float $(BUILD)/library-client $(BUILD)/library-memory
	for suite in core file options tokenizers vocabulary corpus 'safetensors: reading' \
	    checkpoint runlog learning; do \
	  CK_RUN_SUITE="$$suite" $(VALGRIND) $(BUILD)/tests-float || exit 1; \
	done
	sh tests/smoke.sh $(BIN) $(VALGRIND)
	CC='$(CC)' MAKE='$(MAKE)' sh tests/library.sh $(BIN) $(BUILD) $(VALGRIND)

# Runs every target of tests/fuzz for SECONDS with clang's libFuzzer; TARGETS="corpus detok"
# runs only those two. clang's warnings are off: builds with gcc check them.
SECONDS ?= 20
fuzzer:
	@echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | \
	 clang -x c -fsanitize=fuzzer - -o /dev/null 2>/dev/null || \
	 { echo "make fuzz needs clang and its libFuzzer (Debian: clang, libclang-rt-*-dev)." >&2; exit 1; }
fuzz: fuzzer
	$(call variant,fuzz,fuzzed,CC=clang PROTECT= WARNINGS=-w SECONDS=$(SECONDS) \
	  OPTIMISE="$(SANITIZE) -fsanitize=address -fsanitize=undefined -fsanitize=fuzzer-no-link")

fuzzed: $(BUILD)/fuzz
	sh tests/fuzz/run.sh $(BUILD)/fuzz $(SECONDS) $(TARGETS)

# Two checks are off because of false positives: one thinks that memcpy initialises nothing
# (valgrind finds uninitialised memory), the other that an empty array has elements (clang-tidy
# finds null dereferences).
ANALYZE = -fanalyzer -Wno-analyzer-use-of-uninitialized-value -Wno-analyzer-null-dereference
analyze:
	$(call variant,analyze,all,WERROR=1 PROTECT= OPTIMISE=-O0 CFLAGS="$(ANALYZE)")

# Two checks are off: they lose track of values in loops and calls, and report false positives.
cppcheck:
	$(Q)cppcheck --quiet --std=c11 --enable=warning,performance,portability --error-exitcode=1 \
	  --library=tests/cppcheck.cfg \
	  --suppress=ctuuninitvar --suppress=invalidFunctionArg --suppress=toomanyconfigs -I . $(SOURCES) $(MAINS)

# Line coverage of src, data, models and train. gcov follows a program through exec only when it
# is compiled as GNU C.
coverage:
	$(call variant,coverage,covered,PROTECT= OPTIMISE="-O1 -g $(ARCH) --coverage" CFLAGS=-std=gnu11)

covered: $(patsubst %,check-%,float programs manual report)
	sh tests/coverage.sh $(BUILD)

# Runs are bit-identical whatever their surroundings.
determinism: all
	sh tests/determinism.sh $(BIN)

# One build for every x86-64 processor.
portable:
	$(call variant,portable,all,PORTABLE=1)
	sh tests/portable.sh $(BUILD)/portable/bin
	sh tests/determinism.sh $(BUILD)/portable/bin

# The archive for other machines, in bare systems of several ages.
check-dist:
	+@[ "$$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null || \
	  $(MAKE) --no-print-directory dist SUITE=bullseye
	CC='$(CC)' sh tests/dist.sh $(BUILD)/linnet-$(VERSION)-linux-x86_64.tar.gz $(BUILD)/systems

# Another C library: everything compiles with musl. Its compiler must not see glibc's headers, so
# those of the libraries are linked into a folder of their own.
LIBRARY_HEADERS = zlib.h zconf.h jansson.h jansson_config.h histedit.h check.h check_stdint.h stb/stb_ds.h
path_of_header  = echo '\#include <'$(1)'>' | \
                  $(CC) $(HEADERS) $$($(PKG_CONFIG) --cflags check) $(CPPFLAGS) -M -x c - | \
                  tr -s ' ' '\n' | grep '/'$(1)'$$'
musl:
	@command -v musl-gcc >/dev/null || { echo "make musl needs musl-gcc (Debian: musl-tools)." >&2; exit 1; }
	$(Q)for header in $(LIBRARY_HEADERS); do \
	  mkdir -p "$$(dirname $(BUILD)/musl/include/$$header)" && \
	  ln -sf "$$($(call path_of_header,$$header))" $(BUILD)/musl/include/$$header || exit 1; \
	done
	$(call variant,musl,compiled,CC=musl-gcc WERROR=1 CPPFLAGS="-isystem $(BUILD)/musl/include")

compiled: $(BUILD)/float/liblinnet.a $(BUILD)/double/liblinnet.a \
  $(patsubst %.c,$(BUILD)/float/%.o,$(MAINS) $(TESTS) $(FUZZ) $(wildcard tests/faults/*.c))

# 64-bit ARM: a cross-compiled build, emulated.
ARM_PACKAGES = gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user \
               zlib1g-dev:arm64 libjansson-dev:arm64 libedit-dev:arm64 check:arm64
ARM_LIBRARIES = PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig
arm-deps:
	@if ! { command -v aarch64-linux-gnu-gcc && command -v qemu-aarch64 && \
	        env $(ARM_LIBRARIES) $(PKG_CONFIG) --exists $(PACKAGES) check; } >/dev/null; then \
	   $(SUDO) dpkg --add-architecture arm64 && \
	   $(SUDO) apt-get update -q && \
	   DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -q --no-install-recommends $(ARM_PACKAGES); \
	 fi
arm:
	$(call variant,arm,emulated,CC=aarch64-linux-gnu-gcc HOSTCC='$(CC)' HOST_BUILD=$(BUILD) HOST_BIN=$(BIN) \
	  PKG_CONFIG="env $(ARM_LIBRARIES) pkg-config")

# Some test cases, where all of them would take too long; "every kind" of attention takes most of
# the time.
CASES ?= kernel team core ends decay carry golden formula "every kind"
check-cases: $(BUILD)/tests-float
	for case in $(CASES); do \
	  CK_RUN_CASE="$$case" $(EMULATOR) $(BUILD)/tests-float || exit 1; \
	done
emulated: EMULATOR = qemu-aarch64
emulated: check-cases all
	sh tests/smoke.sh $(BIN) $(EMULATOR)

# Builds in unusual places.
building:
	MAKE='$(MAKE)' sh tests/building.sh

# Nearly everything; half an hour.
test-long: test determinism building portable musl ranks asan tsan valgrind faults fuzz analyze cppcheck lint

# linnet's files, read by the Python programs they are made for, in a virtual environment. The
# light part does without torch.
interop: all $(BUILD)/interop-cases
	sh tests/interop/run.sh $(BIN) $(BUILD)/interop
interop-light: all
	sh tests/interop/run.sh $(BIN) $(BUILD)/interop light

# Speed in turns with other programs, in a Python environment of its own: PyTorch, and llama.cpp,
# which takes ten minutes to build. make peers TABLES=decode
peers: all
	@mkdir -p $(BUILD)/peers
	@$(BUILD)/peers/environment/bin/python3 -c 'import torch' 2>/dev/null || { \
	  "$${PYTHON:-python3}" -m venv $(BUILD)/peers/environment && \
	  $(BUILD)/peers/environment/bin/python3 -m pip install --quiet \
	    --disable-pip-version-check torch numpy; }
	@$(BUILD)/peers/environment/bin/python3 -c 'import llama_cpp' 2>/dev/null || \
	  $(BUILD)/peers/environment/bin/python3 -m pip install --quiet \
	    --disable-pip-version-check llama-cpp-python || \
	  echo "make peers: llama-cpp-python cannot be installed; its column stays empty" >&2
	@$(BUILD)/peers/environment/bin/python3 train/bench/peers.py $(BIN) $(BUILD)/peers $(TABLES)

# Byte-pair encoding in turns with Python's tokenizers: make peer-tokens TEXT=book.txt
peer-tokens: all
	@[ -f "$(TEXT)" ] || { echo "make peer-tokens needs a text: TEXT=FILE." >&2; exit 2; }
	@mkdir -p $(BUILD)/peer-tokens
	@$(BUILD)/peer-tokens/environment/bin/python3 -c 'import tokenizers' 2>/dev/null || { \
	  "$${PYTHON:-python3}" -m venv $(BUILD)/peer-tokens/environment && \
	  $(BUILD)/peer-tokens/environment/bin/python3 -m pip install --quiet \
	    --disable-pip-version-check tokenizers; }
	@$(BUILD)/peer-tokens/environment/bin/python3 train/bench/peer_tokens.py $(BIN) \
	  $(BUILD)/peer-tokens "$(TEXT)"

# Two checks are off: one asks for the functions of C11's Annex K, which glibc does not have, and
# one does not understand va_start.
TIDY = -clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling,-clang-analyzer-valist.Uninitialized

lint:
	clang-format --dry-run -Werror $(SHEETS)
	sh tests/vectors.sh $(CC) $(CPPFLAGS_) $(CFLAGS_)
	printf '%s\n' $(SOURCES) $(MAINS) | xargs -P2 -I FILE \
	  clang-tidy --quiet --checks='$(TIDY)' FILE -- -std=c11 $(CPPFLAGS_)

.PHONY: check $(CHECKS:%=check-%) check-cases check-documents check-dist asan sanitized soak ranks scale faults tsan threads \
        valgrind observed fuzzer fuzz fuzzed analyze cppcheck coverage covered determinism \
        building portable musl compiled arm-deps arm emulated test-long interop interop-light peers peer-tokens lint
