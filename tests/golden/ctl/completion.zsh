autoload -U +X compinit && compinit
autoload -U +X bashcompinit && bashcompinit
_cagectl() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command ${COMP_WORDS[i]}" in
      " status"|" ready"|" modules"|" module"|"module quiesce"|"module resume"|"module restart"|"module new"|"module check"|"module admission"|" devices"|" device"|"device cordon"|"device uncordon"|"device clear"|"device reset"|" health"|"health rules"|" catalogue"|" claims"|"claims forget"|" history"|" reload"|" prepare"|" unprepare"|" watch-health"|" import"|"import nvidia"|"import sriov"|" completion") command="${command:+$command }${COMP_WORDS[i]}" ;;
    esac
  done
  case "$command $before" in
    *" "--cdi-dir|*" "--claim|*" "--config|*" "--device|*" "--driver-socket|*" "--file|*" "--folder|*" "--kubelet-root|*" "--language|*" "--limit|*" "--messages|*" "--option|*" "--output|*" "--program|*" "--reason|*" "--rule|*" "--since|*" "--socket|*" "--templates|*" "--timeout|*" "--write) COMPREPLY=(); return ;;
    "modules --options") words=$(cagectl names modules 2>/dev/null) ;;
    "module admission --driver") words=$(cagectl names drivers 2>/dev/null) ;;
    "devices --module") words=$(cagectl names modules 2>/dev/null) ;;
    "devices --driver") words=$(cagectl names drivers 2>/dev/null) ;;
    "device cordon --module") words=$(cagectl names modules 2>/dev/null) ;;
    "device uncordon --module") words=$(cagectl names modules 2>/dev/null) ;;
    "device clear --module") words=$(cagectl names modules 2>/dev/null) ;;
    "device reset --module") words=$(cagectl names modules 2>/dev/null) ;;
    "health --module") words=$(cagectl names modules 2>/dev/null) ;;
    "history --driver") words=$(cagectl names drivers 2>/dev/null) ;;
    "history --device") words=$(cagectl names devices 2>/dev/null) ;;
    "prepare --driver") words=$(cagectl names drivers 2>/dev/null) ;;
    "unprepare --driver") words=$(cagectl names drivers 2>/dev/null) ;;
    "watch-health --driver") words=$(cagectl names drivers 2>/dev/null) ;;
    *) case $command in
      "") words="status ready modules module devices device health catalogue claims history reload prepare unprepare watch-health import completion --help --socket --json --version" ;;
      "status") words="--help --socket --json --version" ;;
      "ready") words="--help --socket --json --version" ;;
      "modules") words="--help --options --socket --json --version $(cagectl names modules 2>/dev/null)" ;;
      "module") words="--help --socket --json --version quiesce resume restart new check admission" ;;
      "module quiesce") words="--help --reason --timeout --socket --json --version $(cagectl names modules 2>/dev/null) $(cagectl names devices 2>/dev/null)" ;;
      "module resume") words="--help --reason --timeout --socket --json --version $(cagectl names modules 2>/dev/null) $(cagectl names devices 2>/dev/null)" ;;
      "module restart") words="--help --reason --timeout --socket --json --version $(cagectl names modules 2>/dev/null)" ;;
      "module new") words="--help --language --folder --templates --socket --json --version" ;;
      "module check") words="--help --option --program --write --device --no-prepare --rule --only-failed --timeout --socket --json --version" ;;
      "module admission") words="--help --driver --file --option --socket --json --version $(cagectl names modules 2>/dev/null)" ;;
      "devices") words="--help --module --driver --not-offered --socket --json --version $(cagectl names devices 2>/dev/null)" ;;
      "device") words="--help --socket --json --version cordon uncordon clear reset" ;;
      "device cordon") words="--help --module --reason --socket --json --version $(cagectl names devices 2>/dev/null)" ;;
      "device uncordon") words="--help --module --reason --socket --json --version $(cagectl names devices 2>/dev/null)" ;;
      "device clear") words="--help --module --reason --socket --json --version $(cagectl names devices 2>/dev/null) $(cagectl names causes 2>/dev/null)" ;;
      "device reset") words="--help --module --reason --force --timeout --socket --json --version $(cagectl names devices 2>/dev/null)" ;;
      "health") words="--help --module --since --limit --socket --json --version rules $(cagectl names devices 2>/dev/null)" ;;
      "health rules") words="--help --socket --json --version $(cagectl names modules 2>/dev/null)" ;;
      "catalogue") words="--help --socket --json --version $(cagectl names modules 2>/dev/null)" ;;
      "claims") words="--help --socket --json --version forget" ;;
      "claims forget") words="--help --force --socket --json --version" ;;
      "history") words="--help --claim --driver --device --since --limit --socket --json --version" ;;
      "reload") words="--help --dry-run --socket --json --version" ;;
      "prepare") words="--help --driver --kubelet-root --driver-socket --cdi-dir --socket --json --version" ;;
      "unprepare") words="--help --driver --kubelet-root --driver-socket --socket --json --version" ;;
      "watch-health") words="--help --driver --messages --kubelet-root --driver-socket --socket --json --version" ;;
      "import") words="--help --socket --json --version nvidia sriov" ;;
      "import nvidia") words="--help --config --output --socket --json --version" ;;
      "import sriov") words="--help --config --output --socket --json --version" ;;
      "completion") words="--help --socket --json --version bash zsh fish" ;;
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _cagectl cagectl
