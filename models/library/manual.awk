# Writes linnet(3) from linnet.h and the example: awk -v version=V -f manual.awk linnet.h example.c
# A comment of the header describes what follows it, up to the next blank line; the first one is the
# description. An indented line is shown as it is.

function roff(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    sub(/^[.']/, "\\\\\\&&", text)
    return text
}

function shown(text) {
    if (text != "" && !is_code)
        print ".PP\n.nf"
    if (text == "" && is_code)
        print ".fi\n.PP"
    is_code = text != ""
    if (is_code)
        print "    " roff(text)
}

# A paragraph that begins with a word and a full stop, such as "Threads.", is one with a heading.
function prose(text) {
    if (text == "") {
        shown("")
        print ".PP"
    } else if (text ~ /^    /) {
        shown(substr(text, 5))
    } else {
        shown("")
        if (match(text, /^[A-Z][a-z]+\. /) && before == "")
            print "\\fB" substr(text, 1, RLENGTH - 1) "\\fR"
        print roff(substr(text, before == "" && RLENGTH > 0 ? RLENGTH + 1 : 1))
    }
    before = text
}

function end_entry(    i) {
    if (code != "")
        print ".PP\n.nf\n" code ".fi\n.RS 4"
    for (i = 1; i <= lines; i++)
        prose(comment[i])
    shown("")
    if (code != "")
        print ".RE"
    code = ""
    lines = 0
}

FNR == 1 && NR == 1 {
    print ".TH LINNET 3 \"\" \"linnet " version "\" \"Library Functions\""
    print ".SH NAME\nlinnet \\- trained language models in your own program"
    print ".SH SYNOPSIS\n.nf\n#include <linnet.h>\n\ncc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs linnet)\n.fi"
    print ".SH DESCRIPTION"
}
FNR == 1 && NR > 1 { print ".SH EXAMPLE\n.nf"; is_example = 1 }
is_example { print roff($0); next }

/^#define LINNET_API/ { next }
/^#(ifndef|ifdef|endif|include|define LINNET_H$)/ || /^extern "C"|^}$/ { next }
/^\/\*/ { in_comment = 1 }
in_comment {
    text = $0
    sub(/^(\/\*| \*) ?/, "", text)
    in_comment = !sub(/ ?\*\/$/, "", text)
    if (text == "/")
        text = ""
    comment[++lines] = text
    next
}
/^$/ {
    if (lines)
        end_entry()
    if (!has_functions) {
        print ".SH FUNCTIONS AND TYPES"
        has_functions = 1
    }
    next
}
{
    # The lines of a declaration stay below one another.
    is_api = $0 ~ /^LINNET_API / || is_api && code != ""
    sub(is_api ? "^(LINNET_API |           )" : "^$", "")
    code = code roff($0) "\n"
}

END { print ".fi\n.SH SEE ALSO\n.BR linnet\\-train (1),\n.BR linnet\\-eval (1),\n.BR linnet\\-sample (1)" }
