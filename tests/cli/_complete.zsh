# _complete.zsh FOLDER LINE: what zsh completes at the end of LINE with the functions of FOLDER, a word a
# line. Completion runs in an interactive shell alone, so there is one on a pseudo terminal.
zmodload zsh/zpty
out=$PWD/words.$$
: >$out
cat >setup.$$ <<SETUP
PROMPT=
fpath=($1 \$fpath)
autoload -Uz compinit
compinit -u -D
bindkey '^I' complete-word
zstyle ':completion:*' insert-tab false
# Each list of candidates passes through compadd; calls that only sort words (-O, -A, -D) go on as they are.
compadd() {
    local -a hits
    if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
        builtin compadd "\$@"
        return
    fi
    builtin compadd -A hits "\$@"
    (( \$#hits )) && print -rl -- \$hits >>$out
    builtin compadd "\$@"
}
over() { exit; }
comppostfuncs=(over)
SETUP
zpty z zsh -f -i
zpty -w z "source $PWD/setup.$$; : >ready.$$"
until [[ -e ready.$$ ]]; do sleep 0.02; done
zpty -w -n z "$2"$'\t'
while zpty -r z chunk; do :; done
sort -u $out
rm -f $out setup.$$ ready.$$
