# How linnet is built: the compiler and its flags, and the rules for libraries and programs.

CC         ?= cc
HOSTCC     ?= cc
PKG_CONFIG ?= pkg-config

# once(NAME,VALUE): the value of a variable, computed when it is first used; most goals use few of
# those that ask the compiler.
once = $(eval $(1) := $(2))$($(1))

# Whether the compiler makes programs for other processors than this one.
machine_of = $(firstword $(subst -, ,$(shell $(1) -dumpmachine 2>/dev/null)))
CROSS      = $(call once,CROSS,$(if $(filter $(call machine_of,$(HOSTCC)),$(call machine_of,$(CC))),,yes))

# Build for this processor. "make ARCH=" builds for any processor of its family, without the faster
# instructions of newer ones; "make PORTABLE=1" for any x86-64, with them.
ifdef PORTABLE
LEVELS    = x86-64 x86-64-v3 x86-64-v4
ARCH      = -march=x86-64
else
ARCH     ?= $(if $(CROSS),,-march=native)
endif
# Flags that not every compiler has. With jump threading, vectorised code also evaluates the
# clamped branch of GELU, whose result is denormal: ten times slower. And compilers prefer
# 256-bit vectors by default where 512 bits are faster.
if_known  = $(shell $(CC) -Werror $(1) -x c -fsyntax-only /dev/null 2>/dev/null && echo $(1))
KNOWN     = $(call once,KNOWN,$(call if_known,-fno-thread-jumps) $(call if_known,-mprefer-vector-width=512))
OPTIMISE ?= -O3 -g $(ARCH) -fno-math-errno -fno-trapping-math $(KNOWN)
# Hardening, at no measurable cost. Sanitizer builds turn PROTECT off: they find more themselves.
FORTIFY   = $(if $(call if_known,-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -include features.h),3,2)
PROTECT   = $(call once,PROTECT,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(FORTIFY) \
              $(call if_known,-fstack-protector-strong))
if_links  = $(shell echo 'int main(void) { return 0; }' | \
              $(CC) -fPIE $(1) -x c - -o /dev/null 2>/dev/null && echo '$(1)')
READ_ONLY = -Wl,-z,relro,-z,now
NO_CODE   = -Wl,-z,noexecstack
HARDEN    = $(call once,HARDEN,$(call if_links,-pie) $(call if_links,$(READ_ONLY)) $(call if_links,$(NO_CODE)))

# MPI=1: data-parallel training across processes and machines (src/ranks/ranks.h).
ifdef MPI
CC           = mpicc
CPPFLAGS_MPI = -DLINNET_MPI
endif

WARNINGS  = -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
ifdef WERROR
WARNINGS += -Werror
endif
CPPFLAGS_ = -I. -D_GNU_SOURCE -DLINNET_VERSION='"$(VERSION)"' \
            $(CPPFLAGS_MPI) $(HEADERS) $(CPPFLAGS)
# Position-independent, as a shared library must be. Where nothing but the functions of linnet.h can
# be seen from outside, that is as fast as code for programs alone.
POSITION  = -fPIC -fvisibility=hidden
# A product and the sum after it become one instruction that rounds once. clang's "fast" misses
# those that branches separate, and bits would depend on it; its "on" joins all of an expression.
# gcc's "on" joins none.
CLANG     = $(call once,CLANG,$(call if_known,-Wpass-failed))
JOIN      = -ffp-contract=$(if $(CLANG),on,fast)
CFLAGS_   = -std=c11 -pthread $(POSITION) -fopenmp-simd $(JOIN) $(WARNINGS) \
            $(FAST) $(PROTECT) $(CFLAGS)
FAST      = $(OPTIMISE)
LDFLAGS_  = $(HARDEN) $(LDFLAGS)
LIBS      = $(LINKED) -lm -pthread $(LDLIBS)

MAINS    = $(foreach program,$(PROGRAMS),$(main_of_$(program)).c)
FOLDERS  = src/* data/* models models/* eval/* eval/*/* train train/*
EXAMPLE  = models/library/example.c
SOURCES  = $(filter-out $(MAINS) $(EXAMPLE),$(wildcard $(FOLDERS:%=%/*.c)))

# Short lines; "make V=1" shows the commands.
Q = $(if $(V),,@)
say = $(if $(V),,@echo "  $(1) $@")

# Everything except the main files is one library, built twice: with real as float for the
# programs, and as double for the gradient checks.
define library_rules
$(BUILD)/$(1)/%.o: %.c $(BUILD)/flags | libraries
	@mkdir -p $$(@D)
	$$(call say,CC)
	$$(Q)$$(CC) $$(CPPFLAGS_) $(2) $$(CFLAGS_) -MMD -MP -c $$< -o $$@

$(BUILD)/$(1)/liblinnet.a: $(SOURCES:%.c=$(BUILD)/$(1)/%.o) $(BUILD)/texts.o
	$$(call say,AR)
	$$(Q)rm -f $$@ && ar rcs $$@ $$^
endef
# clang warns of loops that it was asked to vectorise and cannot: in double, all that call exp.
CALM      = $(CLANG:%=-Wno-pass-failed)
$(eval $(call library_rules,float,))
$(eval $(call library_rules,double,-DLINNET_DOUBLE $$(CALM)))

# What checks the processor must run on every one (src/base/processor.h).
$(BUILD)/float/src/base/processor.o $(BUILD)/double/src/base/processor.o: \
  FAST = $(filter-out -march=% -mtune=% -mprefer-%,$(OPTIMISE))

# Files that become strings in the programs: those of the page of "compare --html", and the Python
# module of exports. report.html is text_report_html.
TEXTS = $(patsubst %,eval/compare/page/%,report.html report.css curves.js charts.js figures.js controls.js) \
        models/exchange/modeling_linnet.py
$(BUILD)/texts.c: $(TEXTS) src/build.mk
	@mkdir -p $(@D)
	$(call say,TEXTS)
	$(Q)for text in $(TEXTS); do \
	  name=text_$$(basename "$$text" | tr . _) && \
	  echo "extern const char $$name[]; const char $$name[] =" && \
	  sed 's/[\\"?]/\\&/g; s/.*/"&\\n"/' $$text && echo ';' || exit 1; \
	done > $@.new && mv $@.new $@

$(BUILD)/texts.o: $(BUILD)/texts.c $(BUILD)/flags
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS_) -c $< -o $@

# Objects are rebuilt when the flags change.
FLAGS = $(CC) $(CPPFLAGS_) $(CFLAGS_)
$(BUILD)/flags: always
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(FLAGS))' | cmp -s - $@ || echo '$(subst ','\'',$(FLAGS))' > $@
always:

# Copies a library to where programs may be using it, which must not see half of it.
put = cp $(1) $(2).part && mv -f $(2).part $(2)

# The library for other programs, with what the functions of linnet.h need of all the code. Their
# names are the only ones that it shows: those of the archive are hidden.
PUBLIC = liblinnet.so.0
# Where the library of "make dist" finds those that it needs, from the folder of any processor.
BESIDE = -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/linnet:$$ORIGIN/../linnet:$$ORIGIN/../../linnet'
$(BUILD)/$(PUBLIC): $(BUILD)/float/models/library/linnet.o $(BUILD)/float/liblinnet.a
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS_) $(filter-out -pie,$(LDFLAGS_)) -shared -Wl,-soname,$(PUBLIC) \
	  -Wl,--exclude-libs,ALL -Wl,--as-needed $(DIST:%=$(BESIDE)) $^ -o $@ $(LIBS)

# PORTABLE=1: all but the main files is a shared library, built for several levels of x86-64. The
# dynamic loader takes the best one that processor and system support: those for newer processors
# lie in glibc-hwcaps/. LD_PRELOAD chooses another (INSTALL.md); so does LD_LIBRARY_PATH, unless
# a better one lies below the folder that it names. It shows all names and is for linnet's programs
# only; beside it lies the library for other programs, built for the same levels.
INTERNAL = liblinnet-internal.so
ifdef PORTABLE
folder_of = $(BIN)/lib$(if $(filter x86-64,$(1)),,/glibc-hwcaps/$(1))
CODE      = $(BIN)/lib/$(INTERNAL)
FOUND_AT  = -Wl,--$(if $(DIST),disable,enable)-new-dtags,-rpath,'$$ORIGIN/lib:$$ORIGIN/../lib/linnet'

define level_rule
$(call folder_of,$(1))/$(INTERNAL): always
	@mkdir -p $$(@D)
	+@$$(MAKE) --no-print-directory $(BUILD)/$(1)/$(INTERNAL) $(BUILD)/$(1)/$(PUBLIC) PORTABLE= \
	  INTERNAL=$(INTERNAL) POSITION=-fPIC ARCH=-march=$(1) BUILD=$(BUILD)/$(1)
	$$(Q)for library in $(INTERNAL) $(PUBLIC); do \
	  cmp -s $(BUILD)/$(1)/$$$$library $$(@D)/$$$$library || \
	  { $(call put,$(BUILD)/$(1)/$$$$library,$$(@D)/$$$$library); } || exit 1; \
	done
$(call folder_of,$(1))/$(PUBLIC): $(call folder_of,$(1))/$(INTERNAL) ;
all: $(call folder_of,$(1))/$(PUBLIC)
endef
$(foreach level,$(LEVELS),$(eval $(call level_rule,$(level))))
else
CODE = $(BUILD)/float/liblinnet.a

$(BIN)/lib/$(PUBLIC): $(BUILD)/$(PUBLIC)
	@mkdir -p $(@D)
	$(Q)$(call put,$<,$@)
	$(Q)rm -rf $(@D)/glibc-hwcaps # of a portable build: the loader would prefer it
all: $(BIN)/lib/$(PUBLIC)
endif

$(BUILD)/liblinnet-internal.so: $(SOURCES:%.c=$(BUILD)/float/%.o) $(BUILD)/texts.o
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS_) $(filter-out -pie,$(LDFLAGS_)) -shared -Wl,-soname,$(@F),-Bsymbolic \
	  $^ -o $@ $(LIBS)

define program_rule
$(BIN)/$(1): $(BUILD)/float/$(main_of_$(1)).o $(CODE)
	@mkdir -p $$(@D)
	$$(call say,LD)
	$$(Q)$$(CC) $$(CFLAGS_) $$(LDFLAGS_) $$(FOUND_AT) $$^ -o $$@ $$(LIBS)
endef
$(foreach program,$(PROGRAMS),$(eval $(call program_rule,$(program))))

-include $(shell find $(BUILD)/float $(BUILD)/double -name '*.d' 2>/dev/null)

.PHONY: always
