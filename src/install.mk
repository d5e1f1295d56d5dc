# Manual pages and shell completions, which the programs print themselves, and installation.

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

SHARE            = $(DESTDIR)$(PREFIX)/share/linnet
LIBRARIES        = $(DESTDIR)$(PREFIX)/lib/linnet
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
	$(if $(PORTABLE),$(foreach level,$(LEVELS),install -D -m 644 $(call folder_of,$(level))/liblinnet.so \
	  $(subst $(BIN)/lib,$(LIBRARIES),$(call folder_of,$(level)))/liblinnet.so;))
	install -m 644 models/*.conf $(SHARE)/models
	install -m 755 data/get $(SHARE)/data
	install -m 644 $(MANUALS) $(DESTDIR)$(MANDIR)/man1
	install -m 644 $(BASHES) $(DESTDIR)$(BASH_COMPLETIONS)
	install -m 644 $(ZSHES) $(DESTDIR)$(ZSH_COMPLETIONS)

uninstall:
	rm -f $(PROGRAMS:%=$(DESTDIR)$(PREFIX)/bin/linnet-%) $(call installed,$(MANDIR)/man1,$(MANUALS)) \
	  $(call installed,$(BASH_COMPLETIONS),$(BASHES)) $(call installed,$(ZSH_COMPLETIONS),$(ZSHES))
	rm -rf $(SHARE) $(LIBRARIES)

.PHONY: manual install uninstall
