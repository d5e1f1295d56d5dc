# How words are completed in bash, for any of linnet's programs: behind two tables that the
# program prints, linnet_options and linnet_operands (src/base/about.c).

# Fills COMPREPLY with what begins with $linnet_word, out of what is offered.
_linnet_offer() {
    local sort=$1 first
    shift
    case $sort in
    words)
        mapfile -t COMPREPLY < <(compgen -W "$*" -- "$linnet_word")
        ;;
    joined) # with commas, a program takes one after another
        first=${linnet_word%"${linnet_word##*[+,]}"}
        mapfile -t COMPREPLY < <(compgen -P "$first" -W "$*" -- "${linnet_word#"$first"}")
        ;;
    files)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$linnet_word")
        ;;
    folders)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -d -- "$linnet_word")
        ;;
    runs)
        compopt -o filenames 2>/dev/null
        _linnet_offer_runs
        ;;
    esac
}

# The runs that begin so, here or in runs/; without one, folders and checkpoints.
_linnet_offer_runs() {
    local folder
    while read -r folder; do
        [[ -f ${folder/#\~/$HOME}/log.csv ]] && COMPREPLY+=("$folder")
    done < <(compgen -d -- "$linnet_word"; [[ $linnet_word ]] || compgen -d -- runs/)
    [[ ${#COMPREPLY[@]} -gt 0 ]] || mapfile -t COMPREPLY < <(
        compgen -d -- "$linnet_word"
        compgen -f -X '!*.safetensors' -- "$linnet_word")
}

# How many operands stand before the word.
_linnet_count_operands() {
    local i only_operands=
    linnet_count=0
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ! $only_operands && ${COMP_WORDS[i]} == -- ]]; then
            only_operands=yes
        elif [[ ! $only_operands && ${COMP_WORDS[i]} == -?* ]]; then
            [[ ${linnet_offers[${COMP_WORDS[i]}]} ]] || continue
            [[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))
            ((i++))
        else
            ((linnet_count++))
        fi
    done
}

# Turns the tables into linnet_offers, what the value of each option may be, empty where there is
# none; and linnet_places, what each operand may be, and linnet_more after the last.
_linnet_read_tables() {
    local i
    for ((i = 0; i < ${#linnet_options[@]}; i += 4)); do
        linnet_offers[--${linnet_options[i]}]=${linnet_options[i + 2]#flag}
        [[ ${linnet_options[i + 2]} != flag ]] || linnet_offers[--no-${linnet_options[i]}]=
    done
    for ((i = 0; i < ${#linnet_operands[@]}; i += 2)); do
        linnet_places+=("${linnet_operands[i + 1]}")
        if [[ ${linnet_operands[i]} == *... || $linnet_more != nothing ]]; then
            linnet_more=${linnet_operands[i + 1]} # of RUN... CORPUS, that of CORPUS
        fi
    done
}

_linnet_complete() {
    local -A linnet_offers=()
    local -a linnet_places=()
    local linnet_more=nothing
    _linnet_read_tables
    local linnet_word=${COMP_WORDS[COMP_CWORD]} linnet_count
    local before=${COMP_WORDS[COMP_CWORD - 1]} offer=
    # bash makes three words of --name=value.
    if [[ $linnet_word == = ]]; then
        linnet_word=
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    COMPREPLY=()
    [[ $before == --?* ]] && offer=${linnet_offers[$before]}
    if [[ ! $offer && $linnet_word == -* ]]; then
        offer="words ${!linnet_offers[*]}"
    elif [[ ! $offer ]]; then
        _linnet_count_operands
        offer=${linnet_places[linnet_count]:-$linnet_more}
    fi
    # shellcheck disable=SC2086 # an offer is several words
    _linnet_offer $offer
}
