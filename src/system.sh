#!/bin/sh
# Installs a bare Debian or Ubuntu in a folder, unless it is there: system.sh SUITE FOLDER PACKAGES...
# Needs root and debootstrap. Links in its libraries become relative, so that a compiler follows
# them from outside.
set -eu
suite=$1 folder=$2
shift 2
[ ! -f "$folder/etc/made" ] || exit 0
[ "$(id -u)" -eq 0 ] && command -v debootstrap >/dev/null ||
    { echo "A system of another age needs root and debootstrap." >&2; exit 1; }
case $suite in
focal | jammy | noble) mirror=http://archive.ubuntu.com/ubuntu components=main,universe ;;
*) mirror=http://deb.debian.org/debian components=main ;;
esac
rm -rf "$folder"
mkdir -p "$(dirname "$folder")"
debootstrap --variant=minbase --components="$components" "$suite" "$folder" "$mirror"
[ $# -eq 0 ] || DEBIAN_FRONTEND=noninteractive chroot "$folder" apt-get install -y -q \
    --no-install-recommends "$@"
find "$folder"/usr/lib* -type l -lname '/*' | while read -r link; do
    ln -sfnr "$folder$(readlink "$link")" "$link"
done
touch "$folder/etc/made"
