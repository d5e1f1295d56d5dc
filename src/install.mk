# Manual pages and shell completions, which the programs print themselves, and installation.

MANUALS = $(PROGRAMS:%=$(BUILD)/man/linnet-%.1)
BASHES  = $(PROGRAMS:%=$(BUILD)/completion/bash/linnet-%)
ZSHES   = $(PROGRAMS:%=$(BUILD)/completion/zsh/_linnet-%)
LIBRARY_MANUAL = $(BUILD)/man/linnet.3
PYTHON_MODULE  = models/library/linnet.py
manual: $(MANUALS) $(BASHES) $(ZSHES) $(LIBRARY_MANUAL)

# A cross compiler's programs do not run here: those of another build print the pages.
HOST_BUILD ?= $(BUILD)/host
HOST_BIN   ?= $(HOST_BUILD)/bin
PRINTERS    = $(if $(CROSS),$(HOST_BIN),$(BIN))
HOST        = CC='$(HOSTCC)' PKG_CONFIG=pkg-config ARCH=-march=native CPPFLAGS= CFLAGS= LDFLAGS= \
              LDLIBS= MPI= PORTABLE= BUILD=$(HOST_BUILD) BIN=$(HOST_BIN)
printers:
	$(if $(CROSS),+@$(MAKE) --no-print-directory $(PROGRAMS:%=$(HOST_BIN)/%) $(HOST))

# Writes the output of a command to the target, completely or not at all.
printed = $(Q)mkdir -p $(@D) && { $(1); } >$@.part && mv $@.part $@

$(MANUALS): $(BUILD)/man/linnet-%.1: $(BIN)/% Makefile | printers
	$(call say,MAN)
	$(call printed,$(PRINTERS)/$* --help=man $(PROGRAMS))

$(BASHES): $(BUILD)/completion/bash/linnet-%: $(BIN)/% src/base/completion.bash | printers
	$(call say,BASH)
	$(call printed,$(PRINTERS)/$* --help=bash && cat src/base/completion.bash)

$(ZSHES): $(BUILD)/completion/zsh/_linnet-%: $(BIN)/% src/base/completion.zsh | printers
	$(call say,ZSH)
	$(call printed,$(PRINTERS)/$* --help=zsh && cat src/base/completion.zsh)

# The page of the library is its header, and the example.
$(LIBRARY_MANUAL): models/library/manual.awk models/library/linnet.h $(EXAMPLE)
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
	install -m 644 models/library/linnet.h "$(DESTDIR)$(INCLUDEDIR)"
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
	$(if $(DIST),,@echo "linnet needs zlib, jansson and libedit (Debian, Ubuntu: zlib1g libjansson4 libedit2).")

# make dist: an archive to unpack anywhere on x86-64, which brings all that linnet needs but glibc.
# It runs with the glibc that it was linked with, and newer ones. "make dist SUITE=bullseye" takes glibc and the
# libraries from a Debian 11, which debootstrap installs below BUILD, and the compiler from here.
# make deb: the same as a package.
dist deb: NAME = linnet-$(VERSION)-linux-x86_64
dist deb: STAGE = $(BUILD)/dist/stage
define staged
$(Q)rm -rf $(STAGE)
+@$(MAKE) --no-print-directory install PORTABLE=1 DIST=1 BUILD=$(BUILD)/dist \
  BIN=$(BUILD)/dist/bin DESTDIR=$(STAGE) PREFIX=$(1)
$(Q)sh src/dist.sh $(STAGE)$(1) $(SYSTEM)
endef
NEEDED = $$(find $(STAGE) -type f \( -name '*.so*' -o -path '*/bin/*' \) -exec objdump -p {} + | \
  sed -n 's/.* GLIBC_\(2[.0-9]*\).*/\1/p' | sort -V | tail -n 1)
ifdef SUITE
OLDER = $(abspath $(BUILD))/systems/$(SUITE)-dev
dist deb:
	sh src/system.sh $(SUITE) $(OLDER) libc6-dev zlib1g-dev libstb-dev libjansson-dev libedit-dev
	+@$(MAKE) --no-print-directory $@ SUITE= SYSTEM=$(OLDER) CC='$(CC) --sysroot=$(OLDER)' \
	  LDFLAGS='-B$(OLDER)/usr/lib/x86_64-linux-gnu $(LDFLAGS)' PKG_CONFIG='env PKG_CONFIG_SYSROOT_DIR=$(OLDER) \
	  PKG_CONFIG_LIBDIR=$(OLDER)/usr/lib/x86_64-linux-gnu/pkgconfig pkg-config'
else
dist:
	$(call staged,/$(NAME))
	$(Q)sed -i 's|^prefix=.*|prefix=$${pcfiledir}/../..|; s|=/$(NAME)/|=$${prefix}/|' \
	  $(STAGE)/$(NAME)/lib/pkgconfig/linnet.pc
	$(Q)cp LICENSE README.md CHANGELOG.md $(STAGE)/$(NAME)
	$(Q)tar -C $(STAGE) --sort=name --owner=0 --group=0 --numeric-owner -czf $(BUILD)/$(NAME).tar.gz $(NAME)
	@echo "$(BUILD)/$(NAME).tar.gz needs glibc $(NEEDED), or newer."

deb:
	$(call staged,/usr)
	$(Q)mkdir -p $(STAGE)/DEBIAN && printf '%s\n' 'Package: linnet' 'Version: $(VERSION)' \
	  'Architecture: amd64' 'Maintainer: linnet' 'Section: science' 'Priority: optional' \
	  "Depends: libc6 (>= $(NEEDED))" \
	  'Description: trains small language models on a CPU' >$(STAGE)/DEBIAN/control
	$(Q)install -D -m 644 LICENSE $(STAGE)/usr/share/doc/linnet/copyright
	dpkg-deb --root-owner-group --build $(STAGE) $(BUILD)/linnet_$(VERSION)_amd64.deb
endif

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

.PHONY: manual printers install install-library dist deb uninstall
