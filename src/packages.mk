# The libraries that linnet uses, and the packages that they come in.

PACKAGES = zlib jansson libedit

# A missing library is an error that names it; nothing is built without it.
libraries:
	@$(PKG_CONFIG) --exists $(PACKAGES) && \
	 echo '#include <stb/stb_ds.h>' | $(CC) $(CPPFLAGS) -E - >/dev/null 2>&1 || \
	 { echo "A library is missing: linnet needs OpenBLAS, zlib, jansson, libedit and stb_ds." \
	        "'make deps' installs them on Debian and Ubuntu, and names the packages elsewhere." >&2; exit 1; }

DEBIAN = gcc libc6-dev pkg-config libopenblas-dev zlib1g-dev libstb-dev libjansson-dev libedit-dev check \
         $(if $(MPI),libopenmpi-dev openmpi-bin)
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
	     echo "To install nothing, press Ctrl-C, and add DEPS=no to the command."; \
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

.PHONY: libraries deps
