#!/bin/sh
# Completes what "make dist" and "make deb" have installed: dist.sh DIRECTORY [SYSTEM]. Adds the
# libraries of SYSTEM, or of this one, that linnet needs, except glibc's, with their licences; and
# the names by which the loader of glibc 2.32 and older looks for libraries for newer processors.
set -eu
cd -- "$1"
system=${2:-}

find bin lib -type f \( -perm /100 -o -name '*.so*' \) -exec strip --strip-unneeded {} +

ldd bin/* | awk '$2 == "=>" { print $3 }' | sort -u | while read -r library; do
    name=${library##*/}
    case $name in libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | liblinnet*) continue ;; esac
    cp -L "$system$library" lib/linnet/
    package=$(dpkg --admindir="$system/var/lib/dpkg" -S "*/$name" | sed -n '1s/:.*//p')
    install -D -m 644 "$system/usr/share/doc/$package/copyright" "share/doc/linnet/licences/$package"
done

for folder in lib lib/linnet; do
    mkdir -p "$folder/haswell/avx512_1"
    for library in "$folder"/glibc-hwcaps/x86-64-v3/*; do
        name=${library##*/}
        ln -s "../glibc-hwcaps/x86-64-v3/$name" "$folder/haswell/$name"
        ln -s "../../glibc-hwcaps/x86-64-v4/$name" "$folder/haswell/avx512_1/$name"
    done
done
