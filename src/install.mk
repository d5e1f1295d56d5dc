# Manual pages and shell completions, which the programs print themselves, and installation.

MANUALS = $(PROGRAMS:%=$(BUILD)/man/linnet-%.1)
BASHES  = $(PROGRAMS:%=$(BUILD)/completion/bash/linnet-%)
ZSHES   = $(PROGRAMS:%=$(BUILD)/completion/zsh/_linnet-%)
LIBRARY_MANUAL = $(BUILD)/man/linnet.3
PYTHON_MODULE  = eval/library/linnet.py
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
PYTHONDIR        ?= $(PREFIX)/share/linnet
BASH_COMPLETIONS ?= $(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS  ?= $(PREFIX)/share/zsh/site-functions

# The library for other programs: a file with its version, and the names by which the loader and
# the linker look for it. Of those for newer processors only the loader needs to know.
HERE      = $(DESTDIR)$(LIBDIR)
WITH_VERSION = liblinnet.so.$(VERSION)
BETTER    = $(filter-out x86-64,$(LEVELS))

# install_levels(LEVELS,FILE,MODE,DIRECTORY): the library FILE of each level of x86-64.
install_levels = $(foreach level,$(1),install -D -m $(3) "$(call folder_of,$(level))/$(2)" \
  "$(subst $(BIN)/lib,$(4),$(call folder_of,$(level)))/$(2)" &&) true

# remove(DIRECTORY,FILES): deletes files of these names in a directory.
remove = if cd "$(1)" 2>/dev/null; then rm -f $(notdir $(2)); fi

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

# Libraries of a portable build that was installed before would be loaded in place of a plain one.
install-library: all
	install -d "$(HERE)/pkgconfig" "$(DESTDIR)$(INCLUDEDIR)" "$(DESTDIR)$(MANDIR)/man3" \
	  "$(DESTDIR)$(PYTHONDIR)"
	install -m 755 $(BIN)/lib/$(PUBLIC) "$(HERE)/$(WITH_VERSION)"
	ln -sf $(WITH_VERSION) "$(HERE)/$(PUBLIC)"
	ln -sf $(PUBLIC) "$(HERE)/liblinnet.so"
	rm -f "$(HERE)"/glibc-hwcaps/*/$(PUBLIC)
	$(if $(PORTABLE),$(call install_levels,$(BETTER),$(PUBLIC),755,$(HERE)))
	install -m 644 eval/library/linnet.h "$(DESTDIR)$(INCLUDEDIR)"
	install -m 644 $(PYTHON_MODULE) "$(DESTDIR)$(PYTHONDIR)"
	install -m 644 $(LIBRARY_MANUAL) "$(DESTDIR)$(MANDIR)/man3"
	printf '%s\n' "$$pkg_config" >"$(HERE)/pkgconfig/linnet.pc"

install: all install-library
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(SHARE)/models" "$(SHARE)/data" \
	  "$(DESTDIR)$(MANDIR)/man1" "$(DESTDIR)$(BASH_COMPLETIONS)" "$(DESTDIR)$(ZSH_COMPLETIONS)"
	for program in $(PROGRAMS); do \
	  install -m 755 $(BIN)/$$program "$(DESTDIR)$(PREFIX)/bin/linnet-$$program" || exit 1; \
	done
	$(if $(PORTABLE),$(call install_levels,$(LEVELS),$(INTERNAL),644,$(LIBRARIES)))
	install -m 644 models/*.conf "$(SHARE)/models"
	install -m 755 data/get "$(SHARE)/data"
	install -m 644 $(MANUALS) "$(DESTDIR)$(MANDIR)/man1"
	install -m 644 $(BASHES) "$(DESTDIR)$(BASH_COMPLETIONS)"
	install -m 644 $(ZSHES) "$(DESTDIR)$(ZSH_COMPLETIONS)"

# Files that users have put beside the installed ones stay.
uninstall:
	$(call remove,$(DESTDIR)$(PREFIX)/bin,$(PROGRAMS:%=linnet-%))
	$(call remove,$(DESTDIR)$(MANDIR)/man1,$(MANUALS))
	$(call remove,$(DESTDIR)$(BASH_COMPLETIONS),$(BASHES))
	$(call remove,$(DESTDIR)$(ZSH_COMPLETIONS),$(ZSHES))
	$(call remove,$(DESTDIR)$(MANDIR)/man3,$(LIBRARY_MANUAL))
	$(call remove,$(DESTDIR)$(INCLUDEDIR),linnet.h)
	$(call remove,$(DESTDIR)$(PYTHONDIR),$(PYTHON_MODULE))
	rm -f "$(DESTDIR)$(PYTHONDIR)"/__pycache__/linnet.*.pyc # which Python has put there
	$(call remove,$(HERE)/pkgconfig,linnet.pc)
	$(call remove,$(HERE),$(WITH_VERSION) $(PUBLIC) liblinnet.so)
	$(call remove,$(SHARE)/models,$(wildcard models/*.conf))
	$(call remove,$(SHARE)/data,get)
	rm -f "$(HERE)"/glibc-hwcaps/*/$(PUBLIC) "$(LIBRARIES)"/$(INTERNAL) \
	  "$(LIBRARIES)"/glibc-hwcaps/*/$(INTERNAL)
	for folder in "$(SHARE)" "$(LIBRARIES)"; do \
	  [ ! -d "$$folder" ] || find "$$folder" -depth -type d -empty -delete || exit 1; \
	done

.PHONY: manual install install-library uninstall
