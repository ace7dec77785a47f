#!/bin/sh
# Stands in for systemctl: starts and stops a process by the ExecStart= of a unit in packaging/.
set -eu
verb=$1
shift
[ "$1" = --now ] && shift
unit=${1%.service}
instance=${unit#*@}
case $unit in
*@*) file=${unit%%@*}@.service ;;
*) file=$unit.service ;;
esac
folders=$(sed -n 's/^\(State\|Runtime\)Directory=//p' "$UNITS/$file" | sed "s/%i/$instance/g")
line=$(sed -n 's/^ExecStart=//p' "$UNITS/$file" | sed "s|%i|$instance|g; s|%S|$ROOT/var/lib|g
    s|%t|$ROOT/run|g; s|/usr/bin/||g; s|/etc/|$ROOT/etc/|g")
start() {
    for folder in $folders; do
        mkdir -p -m 700 "$ROOT/var/lib/$folder" "$ROOT/run/$folder"
    done
    # shellcheck disable=SC2086
    setsid $line >>"$ROOT/journal" 2>&1 &
    echo $! >"$ROOT/$unit.pid"
}
stop() {
    pid=$(cat "$ROOT/$unit.pid")
    kill -TERM "$pid"
    while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
}
case $verb in
enable | start) start ;;
stop) stop ;;
restart) stop && start ;;
*) echo "no stand-in for systemctl $verb" >&2 && exit 1 ;;
esac
