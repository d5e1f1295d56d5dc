# The libraries that linnet uses, and the packages that they come in.

PACKAGES = zlib jansson libedit

HEADERS  = $(call once,HEADERS,$(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null))
LINKED   = $(call once,LINKED,$(shell $(PKG_CONFIG) --libs $(PACKAGES) 2>/dev/null))

# missing(LIBRARIES): sets $missing to those that are not here. stb_ds is a header alone.
missing = missing=; for library in $(1); do \
	  if [ $$library = stb_ds ]; then \
	    echo '\#include <stb/stb_ds.h>' | $(CC) $(CPPFLAGS) -E - >/dev/null 2>&1; \
	  else \
	    $(PKG_CONFIG) --exists $$library 2>/dev/null; \
	  fi || missing="$$missing $$library"; \
	done
# present(LIBRARIES): fails in one line that names those which are missing.
present = @$(call missing,$(1)); \
	[ -z "$$missing" ] || { echo "linnet needs what is missing here:$$missing." \
	  "'make deps$(MPI:%= MPI=%)' installs it on Debian and Ubuntu, and names the packages elsewhere." >&2; exit 1; }

# Nothing is built without a library, and nothing is installed but by "make deps".
libraries:
	$(call present,$(PACKAGES) stb_ds)
test-libraries:
	$(call present,check)
openblas:
	$(call present,openblas)

DEBIAN = gcc libc6-dev pkg-config zlib1g-dev libstb-dev libjansson-dev libedit-dev check libopenblas-dev \
         $(if $(MPI),libopenmpi-dev openmpi-bin)
SUDO   = $(if $(filter 0,$(shell id -u)),,sudo)

# Installs missing packages where there is apt, and names them elsewhere.
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
	     $(SUDO) apt-get update -q && \
	     DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -q $$missing || \
	     { echo "Not installed:$$missing" >&2; exit 1; }; \
	   fi; \
	 elif $(call missing,$(PACKAGES) stb_ds check openblas); [ -n "$$missing" ]; then \
	   echo "linnet runs on Linux and needs these packages; please install them:"; \
	   echo "  Debian, Ubuntu: $(DEBIAN)"; \
	   echo "  dnf:            gcc pkgconf zlib-devel stb_ds-devel jansson-devel libedit-devel check-devel openblas-devel"; \
	   echo "  pacman:         gcc pkgconf zlib stb jansson libedit check openblas"; \
	   exit 1; \
	 fi >&2

.PHONY: libraries test-libraries openblas deps
