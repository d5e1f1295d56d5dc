#!/bin/sh
# Completes what "make dist" and "make deb" have installed: dist.sh DIRECTORY. Adds the licences of
# the libraries that are part of the programs, and the names by which the loader of glibc 2.32 and
# older looks for libraries for newer processors. Fails if a program needs a newer glibc than 2.31,
# or a library that is not glibc's.
set -eu
cd -- "$1"

find bin lib -type f \( -perm /100 -o -name '*.so*' \) | while read -r file; do
    strip --strip-unneeded "$file"
    objdump -p "$file" | awk -v file="$file" '
        $1 == "NEEDED" && $2 !~ /^(lib(c|m|pthread)\.so\.|ld-linux|liblinnet)/ { wrong = $2 }
        match($4, /^GLIBC_2\./) && substr($4, RLENGTH + 1) + 0 > 31 { wrong = $4 }
        END { if (wrong) { print file " needs " wrong ", which not every system has" >"/dev/stderr"; exit 1 } }'
done

for library in zlib1g libjansson4 libedit2 libtinfo6 libbsd0 libmd0; do
    install -D -m 644 "/usr/share/doc/$library/copyright" "share/doc/linnet/licences/$library"
done

for folder in lib lib/linnet; do
    mkdir -p "$folder/haswell/avx512_1"
    for library in "$folder"/glibc-hwcaps/x86-64-v3/*; do
        name=${library##*/}
        ln -s "../glibc-hwcaps/x86-64-v3/$name" "$folder/haswell/$name"
        ln -s "../../glibc-hwcaps/x86-64-v4/$name" "$folder/haswell/avx512_1/$name"
    done
done
