# Manual pages and shell completions, which the programs print themselves, and installation.

MANUALS = $(PROGRAMS:%=$(BUILD)/man/linnet-%.1)
BASHES  = $(PROGRAMS:%=$(BUILD)/completion/bash/linnet-%)
ZSHES   = $(PROGRAMS:%=$(BUILD)/completion/zsh/_linnet-%)
LIBRARY_MANUAL = $(BUILD)/man/linnet.3
manual: $(MANUALS) $(BASHES) $(ZSHES) $(LIBRARY_MANUAL)

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

# The page of the library is its header, and the example.
$(LIBRARY_MANUAL): eval/library/manual.awk eval/library/linnet.h $(EXAMPLE)
	$(call say,MAN)
	$(call printed,awk -v version=$(VERSION) -f $^)

SHARE            = $(DESTDIR)$(PREFIX)/share/linnet
LIBRARIES        = $(DESTDIR)$(PREFIX)/lib/linnet
LIBDIR           ?= $(PREFIX)/lib
INCLUDEDIR       ?= $(PREFIX)/include
MANDIR           ?= $(PREFIX)/share/man
BASH_COMPLETIONS ?= $(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS  ?= $(PREFIX)/share/zsh/site-functions

# installed(DIRECTORY,FILES): the paths of these files once installed, to uninstall them.
installed = $(addprefix $(DESTDIR)$(1)/,$(notdir $(2)))

# The library for other programs: a file with its version, and the names by which the loader and
# the linker look for it. Of those for newer processors only the loader needs to know.
HERE      = $(DESTDIR)$(LIBDIR)
WITH_VERSION = liblinnet.so.$(VERSION)
BETTER    = $(if $(PORTABLE),$(filter-out x86-64,$(LEVELS)))

define pkg_config
prefix=$(PREFIX)
libdir=$(LIBDIR)
includedir=$(INCLUDEDIR)

Name: linnet
Description: Trained language models in your own program
Version: $(VERSION)
Libs: -L$${libdir} -llinnet
Cflags: -I$${includedir}
endef
export pkg_config

install-library: all
	install -d $(HERE)/pkgconfig $(DESTDIR)$(INCLUDEDIR) $(DESTDIR)$(MANDIR)/man3
	install -m 755 $(BIN)/lib/$(PUBLIC) $(HERE)/$(WITH_VERSION)
	ln -sf $(WITH_VERSION) $(HERE)/$(PUBLIC)
	ln -sf $(PUBLIC) $(HERE)/liblinnet.so
	$(foreach level,$(BETTER),install -D -m 755 $(call folder_of,$(level))/$(PUBLIC) \
	  $(HERE)/glibc-hwcaps/$(level)/$(PUBLIC);)
	install -m 644 eval/library/linnet.h $(DESTDIR)$(INCLUDEDIR)
	install -m 644 $(LIBRARY_MANUAL) $(DESTDIR)$(MANDIR)/man3
	printf '%s\n' "$$pkg_config" >$(HERE)/pkgconfig/linnet.pc

install: all install-library
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)/models $(SHARE)/data $(DESTDIR)$(MANDIR)/man1 \
	  $(DESTDIR)$(BASH_COMPLETIONS) $(DESTDIR)$(ZSH_COMPLETIONS)
	for program in $(PROGRAMS); do \
	  install -m 755 $(BIN)/$$program $(DESTDIR)$(PREFIX)/bin/linnet-$$program || exit 1; \
	done
	$(if $(PORTABLE),$(foreach level,$(LEVELS),install -D -m 644 $(call folder_of,$(level))/$(INTERNAL) \
	  $(subst $(BIN)/lib,$(LIBRARIES),$(call folder_of,$(level)))/$(INTERNAL);))
	install -m 644 models/*.conf $(SHARE)/models
	install -m 755 data/get $(SHARE)/data
	install -m 644 $(MANUALS) $(DESTDIR)$(MANDIR)/man1
	install -m 644 $(BASHES) $(DESTDIR)$(BASH_COMPLETIONS)
	install -m 644 $(ZSHES) $(DESTDIR)$(ZSH_COMPLETIONS)

uninstall:
	rm -f $(PROGRAMS:%=$(DESTDIR)$(PREFIX)/bin/linnet-%) $(call installed,$(MANDIR)/man1,$(MANUALS)) \
	  $(call installed,$(BASH_COMPLETIONS),$(BASHES)) $(call installed,$(ZSH_COMPLETIONS),$(ZSHES))
	rm -f $(HERE)/$(WITH_VERSION) $(HERE)/$(PUBLIC) $(HERE)/liblinnet.so \
	  $(HERE)/glibc-hwcaps/*/$(PUBLIC) $(HERE)/pkgconfig/linnet.pc \
	  $(DESTDIR)$(INCLUDEDIR)/linnet.h $(DESTDIR)$(MANDIR)/man3/linnet.3
	rm -rf $(SHARE) $(LIBRARIES)

.PHONY: manual install install-library uninstall
