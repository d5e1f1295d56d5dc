# How words are completed in zsh, for any of linnet's programs: behind the list linnet_words of
# what _arguments is to know, which the program prints.

_linnet_offer() {
    local sort=$1
    shift
    case $sort in
    words)
        compadd -a -- argv
        ;;
    joined) # with commas, a program takes one after another
        compset -P '*[+,]'
        compadd -a -- argv
        ;;
    files)
        _files
        ;;
    folders)
        _files -/
        ;;
    runs)
        _linnet_offer_runs
        ;;
    esac
}

# The runs that begin so, here or in runs/; without one, folders and checkpoints.
_linnet_offer_runs() {
    local -a runs=(${~${(Q)PREFIX}}*/log.csv(N:h))
    [[ $PREFIX ]] || runs+=(runs/*/log.csv(N:h))
    compadd -a -- runs || _files -g '*.safetensors'
}

_arguments -S : $linnet_words
