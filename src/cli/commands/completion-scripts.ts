/** The shells that have a completion script. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

// Each script calls `heddle __complete` with the words before the cursor. It prints one candidate per line, or `:files`.
// The command is started as it was typed, so that the candidates come from the same installation.
// bash replaces only the part behind the last of COMP_WORDBREAKS, which has `=`, `:` and `@`: the part before is cut off.
const BASH = `# heddle completion for bash: source <(heddle completion bash)
_heddle() {
  local IFS=$' \\t\\n' line="\${COMP_LINE:0:COMP_POINT}" words cur tail prefix candidate
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  cur="\${words[\${#words[@]}-1]}"
  tail="\${cur##*[$COMP_WORDBREAKS]}"
  prefix="\${cur%"$tail"}"
  COMPREPLY=()
  while IFS= read -r candidate; do
    if [[ "$candidate" == ":files" ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen -f -- "$tail")
    elif [[ "$candidate" == "$cur"* ]]; then
      COMPREPLY+=("\${candidate#"$prefix"}")
    fi
  done < <("\${words[0]/#\\~/$HOME}" __complete "\${words[@]:1}" 2>/dev/null </dev/null)
  [[ "\${#COMPREPLY[@]}" == 1 && "\${COMPREPLY[0]}" == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -F _heddle heddle
`;

const ZSH = `#compdef heddle
# heddle completion for zsh: source <(heddle completion zsh)
_heddle() {
  local -a candidates
  candidates=("\${(@f)$("\${words[1]/#\\~/$HOME}" __complete "\${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null </dev/null)}")
  if [[ "\${candidates[1]}" == ":files" ]]; then
    compset -P '*@'
    _files
    return
  fi
  compadd -S '' -- \${(M)candidates:#*=}
  compadd -- \${candidates:#*=}
}
if [[ "\${funcstack[1]}" == "_heddle" ]]; then _heddle "$@"; else compdef _heddle heddle; fi
`;

const FISH = `# heddle completion for fish: heddle completion fish | source
function __heddle_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for candidate in ($words[1] __complete $words[2..-1] "$current" 2>/dev/null </dev/null)
        if test "$candidate" = ":files"
            set -l before (string match -r '^.*@' -- "$current")
            for path in (__fish_complete_path (string replace -r '^.*@' '' -- "$current"))
                echo "$before$path"
            end
        else
            echo $candidate
        end
    end
end
complete -c heddle -f -a '(__heddle_complete)'
`;

/** The script of each shell. */
export const COMPLETION_SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH };
