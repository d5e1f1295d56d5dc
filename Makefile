# linnet: builds bin/train, bin/sample, bin/eval, bin/compare, bin/export, bin/bench,
# bin/inspect and bin/toy.
#
#   make            build                          make demo     train two models, look at both
#   make test       every test                     make install  PREFIX=/usr/local DESTDIR=
#   make deps       install what building needs    make clean    remove what building made
#   make asan       tests under sanitizers         make lint     warnings, clang-tidy, format
#   make format     lay the sources out            make interop  files against other programs

PREFIX     ?= /usr/local
DESTDIR    ?=
CC         ?= cc
PKG_CONFIG ?= pkg-config
VERSION     = 0.1.0

# The processor to build for; "make ARCH=" builds for any of its family.
ARCH     ?= -march=native
# Flags that not every compiler has. Jump threading would compute, in every vector, also what a
# clamped argument gives: ten times the time for GELU, whose clamped end is a denormal number.
# And compilers think that processors with long vectors would rather use half of them.
if_known  = $(shell $(CC) -Werror $(1) -x c -fsyntax-only /dev/null 2>/dev/null && echo $(1))
KNOWN    := $(call if_known,-fno-thread-jumps) $(call if_known,-mprefer-vector-width=512)
OPTIMISE ?= -O3 -g $(ARCH) -fno-math-errno -fno-trapping-math $(KNOWN)
# Where a build goes; the sanitizers have one of their own.
BUILD    ?= build
BIN      ?= bin

WARNINGS  = -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
ifdef WERROR
WARNINGS += -Werror
endif
PACKAGES  = openblas zlib jansson libedit
CPPFLAGS_ = -I. -D_GNU_SOURCE -DLINNET_VERSION='"$(VERSION)"' \
            $$($(PKG_CONFIG) --cflags $(PACKAGES)) $(CPPFLAGS)
CFLAGS_   = -std=c11 -pthread -fopenmp-simd -ffp-contract=fast $(WARNINGS) $(OPTIMISE) $(CFLAGS)
LIBS      = $$($(PKG_CONFIG) --libs $(PACKAGES)) -lm -pthread $(LDLIBS)

# --- what is built from what ---

PROGRAMS = train sample eval compare export bench inspect toy
main_of_train   = train/train
main_of_sample  = eval/write/sample
main_of_eval    = eval/eval
main_of_compare = eval/compare/compare
main_of_export  = eval/export/export
main_of_bench   = eval/bench/bench
main_of_inspect = eval/inspect/inspect
main_of_toy     = data/toy_main
MAINS    = $(foreach program,$(PROGRAMS),$(main_of_$(program)).c)
SOURCES  = $(filter-out $(MAINS),$(wildcard src/*.c src/*/*.c data/*.c models/*.c eval/*.c eval/*/*.c train/*.c train/*/*.c))
TESTS    = $(wildcard tests/*.c)
SHEETS   = $(wildcard $(foreach floor,src src/* data models eval eval/* train train/* tests,$(floor)/*.[ch]))

# Short lines; "make V=1" shows the commands.
Q = $(if $(V),,@)
say = $(if $(V),,@echo "  $(1) $@")

all: $(PROGRAMS:%=$(BIN)/%) manual

# Everything but the mains is one library, built twice: with real as float for use, and as
# double for the checks of the gradients.
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
	$$(Q)$$(CC) $$(CFLAGS_) $$(LDFLAGS) $$^ -o $$@ $$(LIBS) $$$$($$(PKG_CONFIG) --libs check)
endef
$(eval $(call library_rules,float,))
$(eval $(call library_rules,double,-DLINNET_DOUBLE))

# The page of "compare --html": its script, its style and its fixed markup are files of their
# own here, and strings in the program.
PAGE = html css js
$(BUILD)/page.c: $(PAGE:%=eval/page/report.%)
	@mkdir -p $(@D)
	$(call say,PAGE)
	$(Q)for part in $(PAGE); do \
	  echo "extern const char report_$$part[]; const char report_$$part[] =" && \
	  sed 's/[\\"?]/\\&/g; s/.*/"&\\n"/' eval/page/report.$$part && echo ';' || exit 1; \
	done > $@.new && mv $@.new $@

$(BUILD)/page.o: $(BUILD)/page.c $(BUILD)/flags
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS_) -c $< -o $@

# Other flags, other objects.
FLAGS = $(CC) $(CPPFLAGS_) $(CFLAGS_)
$(BUILD)/flags: always
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(FLAGS))' | cmp -s - $@ || echo '$(subst ','\'',$(FLAGS))' > $@
always:

define program_rule
$(BIN)/$(1): $(BUILD)/float/$(main_of_$(1)).o $(BUILD)/float/liblinnet.a
	@mkdir -p $$(@D)
	$$(call say,LD)
	$$(Q)$$(CC) $$(CFLAGS_) $$(LDFLAGS) $$^ -o $$@ $$(LIBS)
endef
$(foreach program,$(PROGRAMS),$(eval $(call program_rule,$(program))))

# What the programs say of themselves, for man, bash and zsh.
MANUALS = $(PROGRAMS:%=$(BUILD)/man/linnet-%.1)
BASHES  = $(PROGRAMS:%=$(BUILD)/completion/bash/linnet-%)
ZSHES   = $(PROGRAMS:%=$(BUILD)/completion/zsh/_linnet-%)
manual: $(MANUALS) $(BASHES) $(ZSHES)

# Whole or not at all.
told = $(Q)mkdir -p $(@D) && { $(1); } >$@.part && mv $@.part $@

$(MANUALS): $(BUILD)/man/linnet-%.1: $(BIN)/% Makefile
	$(call say,MAN)
	$(call told,$< --help=man $(PROGRAMS))

$(BASHES): $(BUILD)/completion/bash/linnet-%: $(BIN)/% src/completion.bash
	$(call say,BASH)
	$(call told,$< --help=bash && cat src/completion.bash)

$(ZSHES): $(BUILD)/completion/zsh/_linnet-%: $(BIN)/% src/completion.zsh
	$(call say,ZSH)
	$(call told,$< --help=zsh && cat src/completion.zsh)

-include $(shell find $(BUILD)/float $(BUILD)/double -name '*.d' 2>/dev/null)

# A missing library is an error that names it, never a silent change of behaviour.
libraries:
	@$(PKG_CONFIG) --exists $(PACKAGES) && \
	 echo '#include <stb/stb_ds.h>' | $(CC) $(CPPFLAGS) -E - >/dev/null 2>&1 || \
	 { echo "A library is missing: linnet needs OpenBLAS, zlib, jansson, libedit and stb_ds." \
	        "'make deps' installs them." >&2; exit 1; }

# --- what it needs ---

DEBIAN = gcc libc6-dev pkg-config libopenblas-dev zlib1g-dev libstb-dev libjansson-dev libedit-dev check
SUDO   = $(if $(filter 0,$(shell id -u)),,sudo)

deps:
	@if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then \
	   missing=; \
	   for package in $(DEBIAN); do \
	     dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -q 'ok installed' || \
	       missing="$$missing $$package"; \
	   done; \
	   if [ -n "$$missing" ]; then \
	     echo "Installing$$missing"; \
	     $(SUDO) apt-get update -q && \
	     DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -q $$missing; \
	   fi; \
	 elif ! { command -v $(PKG_CONFIG) && $(PKG_CONFIG) --exists $(PACKAGES) check; } >/dev/null; then \
	   echo "linnet needs these packages; please install them:"; \
	   echo "  Debian, Ubuntu: $(DEBIAN)"; \
	   echo "  dnf:            gcc pkgconf openblas-devel zlib-devel stb_ds-devel jansson-devel libedit-devel check-devel"; \
	   echo "  pacman:         gcc pkgconf openblas zlib stb jansson libedit check"; \
	   echo "  Homebrew:       pkg-config openblas zlib jansson libedit check, and stb_ds.h as stb/stb_ds.h"; \
	   exit 1; \
	 fi >&2

# --- what people ask for ---

demo: deps
	@$(MAKE) --no-print-directory all
	@sh train/demo.sh

test: deps
	@$(MAKE) --no-print-directory check

# The tests, for whoever has the packages already.
check: all $(BUILD)/tests-float $(BUILD)/tests-double
	$(BUILD)/tests-double
	$(BUILD)/tests-float
	sh tests/get-ptb.sh
	sh tests/programs.sh $(BIN)
	MAKE='$(MAKE)' sh tests/manual.sh $(BIN) $(BUILD)
	sh tests/report.sh $(BIN)

asan: deps
	@$(MAKE) --no-print-directory sanitized BUILD=build/asan BIN=build/asan/bin \
	  OPTIMISE="-O1 -g $(ARCH) -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"

sanitized: all $(BUILD)/tests-float $(BUILD)/tests-double
	$(BUILD)/tests-double
	$(BUILD)/tests-float
	sh tests/programs.sh $(BIN)
	sh tests/report.sh $(BIN)

# linnet's files against the programs that are meant to read them, in a Python environment of
# its own; the light part needs no torch.
interop: all
	sh tests/interop/run.sh $(BIN) $(BUILD)/interop
interop-light: all
	sh tests/interop/run.sh $(BIN) $(BUILD)/interop light

# Two checks are off: one wants Annex K's functions, which no C library here has, and one does
# not know va_start.
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

# installed(FOLDER,FILES): where these files go, in a folder that others use too.
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

# bin/ may hold runs of people who train there; only what was built goes.
clean:
	rm -rf $(BUILD)
	rm -f $(PROGRAMS:%=$(BIN)/%)

.PHONY: all manual always libraries deps demo test check asan sanitized interop interop-light format lint install uninstall clean
