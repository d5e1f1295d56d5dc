# linnet: builds bin/train, bin/sample, bin/eval, bin/compare, bin/export, bin/import, bin/bench,
# bin/inspect, bin/tokens and bin/toy.
#
#   make              build everything              make demo      train two models, compare them
#   make test         run the tests                 make deps      install missing packages
#   make install      PREFIX=/usr/local DESTDIR=    make uninstall take it away again
#   make dist         archive for other machines    make deb       package for Debian and Ubuntu
#   make experiment   train and evaluate everything in eval/RESULTS.md (PARTS=kinds; takes hours)
#   make clean        remove everything built       make help      print this text
#   make format       run clang-format
#
# Settings, to be added to any of these:
#
#   MPI=1             for several machines, with mpicc (train/README.md)
#   ARCH=             for any processor of the family
#   PORTABLE=1        for any x86-64: takes the fastest instructions of the machine it runs on
#   BUILD=, BIN=      folders for objects and programs: build, bin
#   CC=clang          another compiler              WERROR=1       warnings are errors
#   V=1               print the commands            CFLAGS=, CPPFLAGS=, LDFLAGS=, LDLIBS=
#
# More tests and measurements (tests/README.md says what each finds and how long it takes):
#
#   make check        make test on one core; make check-NAME for one part of it:
#                     includes pages double float blas replay get programs manual library report
#                     experiment faults
#   make asan         tests under sanitizers        make lint      warnings, clang-tidy, format
#   make tsan         data races                    make analyze   gcc's static analyzer
#   make valgrind     tests under valgrind          make cppcheck  cppcheck
#   make faults       fault injection               make coverage  test coverage by lines
#   make fuzz         fuzzing of everything parsed  (SECONDS=20 for each of TARGETS="corpus detok")
#   make check-documents  every command of README and tutorial, in a fresh clone (an hour)
#   make soak         kill and resume a run for hours (MINUTES=120)
#   make determinism  runs stay bit-identical       make building  builds in unusual places
#   make check-dist   the archive of make dist, in bare systems of several ages
#   make portable     one build, many x86-64        make arm       64-bit ARM, emulated (arm-deps)
#   make musl         compiles with musl, another C library (Debian: musl-tools)
#   make ranks        training with MPI             make scale     speed of MPI on slow networks
#   make interop      exports read by other programs (make interop-light: those without torch)
#   make peers        training speed beside PyTorch
#   make peer-tokens  byte-pair encoding beside Python's tokenizers (TEXT=book.txt)
#   make test-long    nearly all of these

PREFIX     ?= /usr/local
DESTDIR    ?=
VERSION    := $(shell sed -n 's/^\#define LINNET_VERSION  *"\(.*\)"/\1/p' models/library/linnet.h)
# Where a build goes; every sanitizer has a directory of its own.
BUILD      ?= build
BIN        ?= bin

PROGRAMS = train sample eval compare export import bench inspect tokens toy
main_of_train   = train/train
main_of_sample  = eval/sample/sample
main_of_eval    = eval/score/eval
main_of_compare = eval/compare/compare
main_of_export  = models/exchange/export
main_of_import  = models/exchange/import
main_of_bench   = train/bench/bench
main_of_inspect = eval/inspect/inspect
main_of_tokens  = data/tokens/tokens
main_of_toy     = data/corpora/toy_main

all: $(PROGRAMS:%=$(BIN)/%) manual

# What stands where: compiler, flags and rules; libraries and their packages; manual pages,
# completions, installation; everything that tests and measures.
include src/build.mk src/packages.mk src/install.mk tests/tests.mk

# All cores work, unless the user chose a number with -j.
JOBS = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 1))

demo:
	@$(MAKE) --no-print-directory $(JOBS) all
	@sh train/demo.sh

# Resumes where it was stopped. PRECISION=bf16 is for processors with bf16 instructions.
experiment:
	@$(MAKE) --no-print-directory $(JOBS) all
	sh eval/experiment.sh $(PARTS)

test: libraries test-libraries
	@$(MAKE) --no-print-directory $(JOBS) --output-sync=target check

# The text at the head of this file.
help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

format:
	clang-format -i $(SHEETS)

# People train in bin/, so only the programs are removed there.
clean:
	rm -rf $(BUILD)
	rm -f $(PROGRAMS:%=$(BIN)/%)
	rm -rf $(BIN)/lib

.PHONY: all demo experiment test help format clean
