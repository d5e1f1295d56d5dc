# How words are completed in zsh, for any of linnet's programs: behind two tables that the program
# prints, linnet_options and linnet_operands (src/base/about.c).

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

# What _arguments is to know.
local -a linnet_words
local name argument offer help
for name argument offer help in "${linnet_options[@]}"; do
    help=${${${${help//\\/\\\\}//:/\\:}//\[/\\[}//\]/\\]}
    case $offer in
    flag)
        linnet_words+=("(--no-$name)--${name}[$help]" "(--$name)--no-${name}[not\\: $help]")
        ;;
    '')
        linnet_words+=("--${name}[$help]")
        ;;
    *)
        linnet_words+=("--$name=[$help]:$argument: _linnet_offer $offer")
        ;;
    esac
done
# Of RUN... CORPUS, after a first RUN each further word is completed as CORPUS.
local place=0 last=$(( ${#linnet_operands} / 2 )) repeated=
for name offer in "${linnet_operands[@]}"; do
    (( ++place ))
    [[ $name != *... ]] || repeated=yes
    [[ $repeated && $place == $last ]] && place='*'
    linnet_words+=("$place:${name%...}: _linnet_offer $offer")
done

_arguments -S : $linnet_words
