# linnet: builds bin/train, bin/sample, bin/eval, bin/compare, bin/export, bin/bench,
# bin/inspect and bin/toy.
#
#   make            build everything               make demo     train two models and compare them
#   make test       run the tests                  make install  PREFIX=/usr/local DESTDIR=
#   make deps       install missing packages       make clean    remove everything built
#   make MPI=1      build for several machines, with mpicc (train/README.md)
#   make experiment train and evaluate everything in eval/RESULTS.md (PARTS=kinds; takes hours)
#   make format     run clang-format               make help     print this text
#   make DEPS=no    with demo, test and so on: install no packages
#
# More tests and measurements (tests/README.md says what each one finds and how long it takes):
#
#   make asan       tests under sanitizers         make lint      warnings, clang-tidy, format
#   make tsan       data races                     make analyze   gcc's static analyzer
#   make valgrind   tests under valgrind           make cppcheck  cppcheck
#   make faults     fault injection                make coverage  test coverage by lines
#   make fuzz       fuzzing of everything parsed   make building  builds in unusual places
#   make determinism runs stay bit-identical       make soak      kill and resume for hours
#   make ranks      training with MPI              make interop   exports read by other programs
#   make scale      speed of MPI on slow networks  make test-long nearly all of these
#   make peers      training speed beside PyTorch

PREFIX     ?= /usr/local
DESTDIR    ?=
CC         ?= cc
PKG_CONFIG ?= pkg-config
VERSION     = 0.1.0

# Build for this processor; "make ARCH=" builds for any processor of its family.
ARCH     ?= -march=native
# Flags that not every compiler has. With jump threading, vectorised code also evaluates the
# clamped branch of GELU, whose result is denormal: ten times slower. And compilers prefer
# 256-bit vectors by default where 512 bits are faster.
if_known  = $(shell $(CC) -Werror $(1) -x c -fsyntax-only /dev/null 2>/dev/null && echo $(1))
KNOWN    := $(call if_known,-fno-thread-jumps) $(call if_known,-mprefer-vector-width=512)
OPTIMISE ?= -O3 -g $(ARCH) -fno-math-errno -fno-trapping-math $(KNOWN)
# Hardening, at no measurable cost. Sanitizer builds turn PROTECT off: they find more themselves.
FORTIFY  := $(if $(call if_known,-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -include features.h),3,2)
PROTECT  := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(FORTIFY) $(call if_known,-fstack-protector-strong)
if_links  = $(shell echo 'int main(void) { return 0; }' | \
              $(CC) -fPIE $(1) -x c - -o /dev/null 2>/dev/null && echo '$(1)')
READ_ONLY = -Wl,-z,relro,-z,now
NO_CODE   = -Wl,-z,noexecstack
HARDEN   := $(call if_links,-pie) $(call if_links,$(READ_ONLY)) $(call if_links,$(NO_CODE))
# MPI=1: data-parallel training across processes and machines (src/ranks.h).
ifdef MPI
CC        = mpicc
CPPFLAGS_MPI = -DLINNET_MPI
DEBIAN_MPI = libopenmpi-dev openmpi-bin
endif
# Where a build goes; every sanitizer has a directory of its own.
BUILD    ?= build
BIN      ?= bin

WARNINGS  = -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
ifdef WERROR
WARNINGS += -Werror
endif
PACKAGES  = openblas zlib jansson libedit
CPPFLAGS_ = -I. -D_GNU_SOURCE -DLINNET_VERSION='"$(VERSION)"' \
            $(CPPFLAGS_MPI) $$($(PKG_CONFIG) --cflags $(PACKAGES)) $(CPPFLAGS)
CFLAGS_   = -std=c11 -pthread -fPIE -fopenmp-simd -ffp-contract=fast $(WARNINGS) \
            $(OPTIMISE) $(PROTECT) $(CFLAGS)
LDFLAGS_  = $(HARDEN) $(LDFLAGS)
LIBS      = $$($(PKG_CONFIG) --libs $(PACKAGES)) -lm -pthread $(LDLIBS)

# --- build rules ---

PROGRAMS = train sample eval compare export bench inspect toy
main_of_train   = train/train
main_of_sample  = eval/write/sample
main_of_eval    = eval/score/eval
main_of_compare = eval/compare/compare
main_of_export  = eval/export/export
main_of_bench   = eval/bench/bench
main_of_inspect = eval/inspect/inspect
main_of_toy     = data/toy_main
MAINS    = $(foreach program,$(PROGRAMS),$(main_of_$(program)).c)
SOURCES  = $(filter-out $(MAINS),$(wildcard src/*.c src/*/*.c data/*.c models/*.c eval/*.c eval/*/*.c train/*.c train/*/*.c))
TESTS    = $(wildcard tests/*.c)
SHEETS   = $(wildcard $(foreach floor,src src/* data models eval eval/* train train/* tests tests/fuzz tests/faults,$(floor)/*.[ch]))

# Short lines; "make V=1" shows the commands.
Q = $(if $(V),,@)
say = $(if $(V),,@echo "  $(1) $@")

all: $(PROGRAMS:%=$(BIN)/%) manual

# Everything except the main files is one library, built twice: with real as float for the
# programs, and as double for the gradient checks.
define library_rules
$(BUILD)/$(1)/%.o: %.c $(BUILD)/flags | libraries
	@mkdir -p $$(@D)
	$$(call say,CC)
	$$(Q)$$(CC) $$(CPPFLAGS_) $(2) $$(CFLAGS_) -MMD -MP -c $$< -o $$@

$(BUILD)/$(1)/liblinnet.a: $(SOURCES:%.c=$(BUILD)/$(1)/%.o) $(BUILD)/page.o
	$$(call say,AR)
	$$(Q)rm -f $$@ && ar rcs $$@ $$^

$(BUILD)/tests-$(1): $(TESTS:%.c=$(BUILD)/$(1)/%.o) $(BUILD)/$(1)/liblinnet.a
	$$(call say,LD)
	$$(Q)$$(CC) $$(CFLAGS_) $$(LDFLAGS_) $$^ -o $$@ $$(LIBS) $$$$($$(PKG_CONFIG) --libs check)
endef
$(eval $(call library_rules,float,))
$(eval $(call library_rules,double,-DLINNET_DOUBLE))

# What checks the processor must run on every one (src/processor.h).
$(BUILD)/float/src/processor.o $(BUILD)/double/src/processor.o: \
  override OPTIMISE := $(filter-out -march=% -mtune=% -mprefer-%,$(OPTIMISE))

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
FAULTY    = train sample eval compare export inspect
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

# The page of "compare --html": its scripts, style and markup become strings in the program.
PAGE = report.html report.css curves.js charts.js controls.js
$(BUILD)/page.c: $(PAGE:%=eval/page/%) Makefile
	@mkdir -p $(@D)
	$(call say,PAGE)
	$(Q)for part in $(PAGE); do \
	  name=page_$$(echo $$part | tr . _) && \
	  echo "extern const char $$name[]; const char $$name[] =" && \
	  sed 's/[\\"?]/\\&/g; s/.*/"&\\n"/' eval/page/$$part && echo ';' || exit 1; \
	done > $@.new && mv $@.new $@

$(BUILD)/page.o: $(BUILD)/page.c $(BUILD)/flags
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS_) -c $< -o $@

# Objects are rebuilt when the flags change.
FLAGS = $(CC) $(CPPFLAGS_) $(CFLAGS_)
$(BUILD)/flags: always
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(FLAGS))' | cmp -s - $@ || echo '$(subst ','\'',$(FLAGS))' > $@
always:

define program_rule
$(BIN)/$(1): $(BUILD)/float/$(main_of_$(1)).o $(BUILD)/float/liblinnet.a
	@mkdir -p $$(@D)
	$$(call say,LD)
	$$(Q)$$(CC) $$(CFLAGS_) $$(LDFLAGS_) $$^ -o $$@ $$(LIBS)
endef
$(foreach program,$(PROGRAMS),$(eval $(call program_rule,$(program))))

# Manual pages and shell completions, printed by the programs themselves.
MANUALS = $(PROGRAMS:%=$(BUILD)/man/linnet-%.1)
BASHES  = $(PROGRAMS:%=$(BUILD)/completion/bash/linnet-%)
ZSHES   = $(PROGRAMS:%=$(BUILD)/completion/zsh/_linnet-%)
manual: $(MANUALS) $(BASHES) $(ZSHES)

# Writes the output of a command to the target, completely or not at all.
printed = $(Q)mkdir -p $(@D) && { $(1); } >$@.part && mv $@.part $@

$(MANUALS): $(BUILD)/man/linnet-%.1: $(BIN)/% Makefile
	$(call say,MAN)
	$(call printed,$< --help=man $(PROGRAMS))

$(BASHES): $(BUILD)/completion/bash/linnet-%: $(BIN)/% src/completion.bash
	$(call say,BASH)
	$(call printed,$< --help=bash && cat src/completion.bash)

$(ZSHES): $(BUILD)/completion/zsh/_linnet-%: $(BIN)/% src/completion.zsh
	$(call say,ZSH)
	$(call printed,$< --help=zsh && cat src/completion.zsh)

-include $(shell find $(BUILD)/float $(BUILD)/double -name '*.d' 2>/dev/null)

# A missing library is an error that names it; nothing is built without it.
libraries:
	@$(PKG_CONFIG) --exists $(PACKAGES) && \
	 echo '#include <stb/stb_ds.h>' | $(CC) $(CPPFLAGS) -E - >/dev/null 2>&1 || \
	 { echo "A library is missing: linnet needs OpenBLAS, zlib, jansson, libedit and stb_ds." \
	        "'make deps' installs them on Debian and Ubuntu, and names the packages elsewhere." >&2; exit 1; }

# --- packages ---

DEBIAN = gcc libc6-dev pkg-config libopenblas-dev zlib1g-dev libstb-dev libjansson-dev libedit-dev check $(DEBIAN_MPI)
SUDO   = $(if $(filter 0,$(shell id -u)),,sudo)

# Installs missing packages where there is apt, and names them elsewhere. "DEPS=no" skips this.
ifeq ($(DEPS),no)
deps: ;
else
deps:
	@if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then \
	   missing=; \
	   for package in $(DEBIAN); do \
	     dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -q 'ok installed' || \
	       missing="$$missing $$package"; \
	   done; \
	   if [ -n "$$missing" ]; then \
	     echo "linnet needs these packages, which are missing:$$missing"; \
	     echo "Installing them now: $(strip $(SUDO) apt-get install)$$missing"; \
	     echo "To install nothing, press Ctrl-C and add DEPS=no: make $(MAKECMDGOALS) DEPS=no"; \
	     $(SUDO) apt-get update -q && \
	     DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -q $$missing || \
	     { echo "Not installed:$$missing" >&2; exit 1; }; \
	   fi; \
	 elif ! { command -v $(PKG_CONFIG) && $(PKG_CONFIG) --exists $(PACKAGES) check; } >/dev/null; then \
	   echo "linnet runs on Linux and needs these packages; please install them:"; \
	   echo "  Debian, Ubuntu: $(DEBIAN)"; \
	   echo "  dnf:            gcc pkgconf openblas-devel zlib-devel stb_ds-devel jansson-devel libedit-devel check-devel"; \
	   echo "  pacman:         gcc pkgconf openblas zlib stb jansson libedit check"; \
	   exit 1; \
	 fi >&2
endif

# --- everyday targets ---

# All cores compile, unless the user chose a number with -j.
JOBS = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 1))

demo: deps
	@$(MAKE) --no-print-directory $(JOBS) all
	@sh train/demo.sh

# Resumes where it was stopped. PRECISION=bf16 is for processors with bf16 instructions.
experiment: deps
	@$(MAKE) --no-print-directory $(JOBS) all
	sh eval/experiment.sh $(PARTS)

test: deps
	@$(MAKE) --no-print-directory $(JOBS) check

# The tests, without a look at the packages.
check: all $(BUILD)/tests-float $(BUILD)/tests-double $(BUILD)/fuzz-replay
	sh tests/includes.sh
	sh tests/documents.sh
	$(BUILD)/tests-double
	$(BUILD)/tests-float
	$(BUILD)/fuzz-replay tests/fuzz/seeds tests/fuzz/regressions
	sh tests/get-ptb.sh
	sh tests/programs.sh $(BIN)
	MAKE='$(MAKE)' sh tests/manual.sh $(BIN) $(BUILD)
	sh tests/report.sh $(BIN)
	sh tests/experiment.sh $(BIN)
	@$(MAKE) --no-print-directory faulted EXTENT=quick

# The text at the head of this file.
help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

# --- more tests ---

# variant(NAME,TARGET,SETTINGS): makes a target with other flags, in a directory of its own,
# with longer timeouts.
variant  = +@CK_TIMEOUT_MULTIPLIER=20 $(MAKE) --no-print-directory $(2) \
             BUILD=$(BUILD)/$(1) BIN=$(BUILD)/$(1)/bin $(3)
SANITIZE = -O1 -g $(ARCH) -fno-sanitize-recover=all -fno-omit-frame-pointer

asan: deps
	$(call variant,asan,sanitized,PROTECT= \
	  OPTIMISE="$(SANITIZE) -fsanitize=address -fsanitize=undefined -fsanitize=float-cast-overflow")

sanitized: all $(BUILD)/tests-float $(BUILD)/tests-double $(BUILD)/fuzz-replay
	$(BUILD)/tests-double
	$(BUILD)/tests-float
	$(BUILD)/fuzz-replay tests/fuzz/seeds tests/fuzz/regressions
	sh tests/programs.sh $(BIN)
	sh tests/report.sh $(BIN)
	sh tests/experiment.sh $(BIN)
	@$(MAKE) --no-print-directory faulted EXTENT=quick

# A run that is killed and resumed for two hours.
MINUTES ?= 120
soak: deps
	@$(MAKE) --no-print-directory all
	sh tests/soak.sh $(BIN) $(MINUTES)

# Data-parallel training with several processes, and with several machines.
mpi_programs = $(MAKE) --no-print-directory all MPI=1 BUILD=$(BUILD)/mpi BIN=$(BUILD)/mpi/bin
ranks:
	@$(MAKE) --no-print-directory deps MPI=1
	@$(MAKE) --no-print-directory all
	@$(mpi_programs)
	sh tests/ranks.sh $(BUILD)/mpi/bin $(BIN)
	sh tests/network.sh $(BUILD)/mpi/bin $(BIN)

# Measures data-parallel training on networks of several speeds; SCALE has options for bench.
SCALE ?= --preset article --layers 4 --dim 256 --ffn 0
scale:
	@$(MAKE) --no-print-directory deps MPI=1
	@$(mpi_programs)
	sh tests/scale.sh $(BUILD)/mpi/bin $(SCALE)

# Failing system calls, kill -9, power failures and full disks; "make test" runs a part of it.
faults: deps
	@$(MAKE) --no-print-directory faulted EXTENT=whole
faulted: $(BUILD)/faults $(FAULTY:%=$(BUILD)/faulty/%)
	$(BUILD)/faults $(EXTENT) $(BUILD)/faulty

# Data races in the thread team and in everything that runs on it.
tsan: deps
	$(call variant,tsan,threads,PROTECT= OPTIMISE="$(SANITIZE) -fsanitize=thread")

threads: all $(BUILD)/tests-float
	for suite in team 'mixer layers' carry step; do \
	  CK_RUN_SUITE="$$suite" $(BUILD)/tests-float || exit 1; \
	done
	sh tests/smoke.sh $(BIN)

# valgrind does not know AVX-512, nor other instructions that are newer than Haswell.
VALGRIND = valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite
valgrind: deps
	$(call variant,valgrind,observed,ARCH=$(call if_known,-march=haswell) \
	  OPTIMISE="-O1 -g $(call if_known,-march=haswell)")

observed: all $(BUILD)/tests-float
	for suite in core file options tokenizers vocabulary corpus 'safetensors: reading' \
	    checkpoint runlog learning; do \
	  OPENBLAS_CORETYPE=Haswell CK_RUN_SUITE="$$suite" $(VALGRIND) $(BUILD)/tests-float || exit 1; \
	done
	OPENBLAS_CORETYPE=Haswell sh tests/smoke.sh $(BIN) $(VALGRIND)

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
coverage: deps
	$(call variant,coverage,covered,PROTECT= OPTIMISE="-O1 -g $(ARCH) --coverage" CFLAGS=-std=gnu11)

covered: all $(BUILD)/tests-float
	$(BUILD)/tests-float
	OPENBLAS_CORETYPE=Haswell CK_RUN_SUITE=team $(BUILD)/tests-float
	sh tests/programs.sh $(BIN)
	MAKE='$(MAKE)' sh tests/manual.sh $(BIN) $(BUILD)
	sh tests/report.sh $(BIN)
	sh tests/coverage.sh $(BUILD)

# Runs are bit-identical whatever their surroundings.
determinism: all
	sh tests/determinism.sh $(BIN)

# Builds in unusual places.
building:
	MAKE='$(MAKE)' sh tests/building.sh

# Nearly everything; half an hour.
test-long: test determinism building ranks asan tsan valgrind faults fuzz analyze cppcheck lint

# linnet's files, read by the Python programs they are made for, in a virtual environment. The
# light part does without torch.
interop: all
	sh tests/interop/run.sh $(BIN) $(BUILD)/interop
interop-light: all
	sh tests/interop/run.sh $(BIN) $(BUILD)/interop light

# Training speed, in turns with PyTorch in a Python environment of its own.
peers: all
	sh eval/bench/peers.sh $(BIN) $(BUILD)/peers

# Two checks are off: one asks for the functions of C11's Annex K, which glibc does not have, and
# one does not understand va_start.
TIDY = -clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling,-clang-analyzer-valist.Uninitialized

format:
	clang-format -i $(SHEETS)

lint:
	@$(MAKE) --no-print-directory all WERROR=1 BUILD=build/lint BIN=build/lint/bin
	clang-format --dry-run -Werror $(SHEETS)
	clang-tidy --quiet --checks='$(TIDY)' $(SOURCES) $(MAINS) -- -std=c11 $(CPPFLAGS_)

SHARE            = $(DESTDIR)$(PREFIX)/share/linnet
MANDIR           ?= $(PREFIX)/share/man
BASH_COMPLETIONS ?= $(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS  ?= $(PREFIX)/share/zsh/site-functions

# installed(DIRECTORY,FILES): the paths of these files once installed, to uninstall them.
installed = $(addprefix $(DESTDIR)$(1)/,$(notdir $(2)))

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)/models $(SHARE)/data $(DESTDIR)$(MANDIR)/man1 \
	  $(DESTDIR)$(BASH_COMPLETIONS) $(DESTDIR)$(ZSH_COMPLETIONS)
	for program in $(PROGRAMS); do \
	  install -m 755 $(BIN)/$$program $(DESTDIR)$(PREFIX)/bin/linnet-$$program || exit 1; \
	done
	install -m 644 models/*.conf $(SHARE)/models
	install -m 755 data/get-ptb $(SHARE)/data
	install -m 644 $(MANUALS) $(DESTDIR)$(MANDIR)/man1
	install -m 644 $(BASHES) $(DESTDIR)$(BASH_COMPLETIONS)
	install -m 644 $(ZSHES) $(DESTDIR)$(ZSH_COMPLETIONS)

uninstall:
	rm -f $(PROGRAMS:%=$(DESTDIR)$(PREFIX)/bin/linnet-%) $(call installed,$(MANDIR)/man1,$(MANUALS)) \
	  $(call installed,$(BASH_COMPLETIONS),$(BASHES)) $(call installed,$(ZSH_COMPLETIONS),$(ZSHES))
	rm -rf $(SHARE)

# People train in bin/, so only the programs are removed there.
clean:
	rm -rf $(BUILD)
	rm -f $(PROGRAMS:%=$(BIN)/%)

.PHONY: all manual always libraries deps demo experiment test check help asan sanitized tsan threads \
        valgrind observed analyze cppcheck coverage covered determinism building ranks scale soak test-long faults \
        faulted fuzzer fuzz fuzzed interop interop-light peers format lint install uninstall clean
