#!/bin/bash
# Runs every command of README.md and CONTRIBUTING.md, each as the first command in a fresh Debian 12.
#
#   tools/fresh.sh [--only TEXT]... [--user root|user] [--load N] [--work DIR] [--list]
#
#   --only TEXT    the command TEXT; without one, all that contain it; and those that they follow on the page
#   --user NAME    root alone, or the user with sudo alone; otherwise both
#   --load N       busy processes next to each command (4)
#   --work DIR     base root, package cache, logs (/var/tmp/plumb-fresh); the base root is kept
#   --list         prints the commands, what takes their place, and ends
#
# The commands come from the pages (tools/page_commands.py). Each unit of them gets a root of its own: a
# copy of a base root that debootstrap made once, with nothing but `make` and, for the user, `sudo`; a clone
# of this checkout's HEAD in a path of 100 characters; a clock that shows ten minutes after boot. Namespaces
# hold its mounts and processes, so that none outlives the command, however this script ends.
# The end is a table: command, user, status, seconds. The status is 1 when a command failed.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
work=/var/tmp/plumb-fresh
load=4
users='root user'
only=()
list=0
suite=bookworm
path_length=100
uptime_s=600

say() {
    printf 'fresh: %s\n' "$*" >&2
}

refuse() {
    say "$*"
    exit 2
}

usage() {
    sed -n '2,17s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

# ---- Inside the namespaces -------------------------------------------------------------------------

# enter FOLDER USER: makes the root of FOLDER from its parts and runs the commands of FOLDER/commands.
enter() {
    local folder=$1 user=$2 root=$1/root home path i
    mount -t overlay overlay "$root" \
        -o "lowerdir=$work/base,upperdir=$folder/upper,workdir=$folder/overlay" || return 1
    mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev" &&
        mount -t tmpfs tmpfs "$root/dev/shm" && mount --bind "$work/archives" "$root/var/cache/apt/archives" ||
        return 1
    home=/root
    path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    if [ "$user" = user ]; then
        home=/home/user
        path=/usr/local/bin:/usr/bin:/bin
    else
        rm -f "$root/usr/bin/sudo"
    fi
    place=$home/$(long_name $((path_length - ${#home} - 1)))
    mkdir -p "$root$(dirname "$place")"
    git -c advice.detachedHead=false clone -q --no-hardlinks "$top" "$root$place" || return 1
    # Continuous integration and strangers have no remote of ours.
    git -C "$root$place" remote remove origin
    [ "$user" = root ] || chroot "$root" chown -R user:user "$home"
    for ((i = 0; i < load; i++)); do
        (while :; do :; done) &
    done
    echo "$path" "$home" "$place" >"$folder/place"
    run_commands "$folder" "$user" "$root" "$path" "$home"
}

# A path below a home folder of exactly so many characters, which ends with /plumb.
long_name() {
    local filler
    filler=$(printf '%*s' "$(($1 - 6))" '' | tr ' ' x)
    # No name of a folder is unusual: long-path-xxx.
    echo "long-path-${filler:10}/plumb"
}

run_commands() {
    local folder=$1 user=$2 root=$3 path=$4 home=$5 limit page command run status began as=() left=0
    [ "$user" = root ] || as=(setpriv --reuid=1000 --regid=1000 --init-groups)
    while IFS=$'\t' read -r limit page command run <&3; do
        status=0
        began=$(date +%s)
        if [ "$left" = 1 ]; then
            status='not run'
        else
            # Root of a fresh Debian has no sudo, and needs none.
            [ "$user" != root ] || run=${run//sudo /}
            printf '\n$ cd %s\n$ %s\n' "$place" "$run"
            timeout --kill-after=30 "$limit" chroot "$root" "${as[@]}" env -i "${passed[@]}" HOME="$home" \
                USER="$user" LOGNAME="$user" PATH="$path" TERM=dumb SHELL=/bin/bash \
                bash -c "cd '$place' && $run" </dev/null || status=$?
        fi
        printf '%s\t%s\t%s\t%s\n' "$command" "$user" "$status" $(($(date +%s) - began)) >>"$folder/results"
        [ "$status" = 0 ] || left=1
    done 3<"$folder/commands"
}

passed=()
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    [ -z "${!name:-}" ] || passed+=("$name=${!name}")
done

if [ "${1:-}" = --inside ]; then
    work=$2 load=$3
    enter "$4" "$5"
    exit
fi

# ---- Outside ---------------------------------------------------------------------------------------

while [ $# -gt 0 ]; do
    case $1 in
    --list)
        list=1
        shift
        continue
        ;;
    --only | --user | --load | --work) [ $# -ge 2 ] || usage ;;
    *) usage ;;
    esac
    case $1 in
    --only) only+=("$2") ;;
    --user) users=$2 ;;
    --load) load=$2 ;;
    --work) work=$2 ;;
    esac
    shift 2
done
case $users in root | user | 'root user') ;; *) usage ;; esac
case $load in '' | *[!0-9]*) usage ;; esac

commands=$("$top/tools/page_commands.py" "$top") || exit 1
if [ "$list" = 1 ]; then
    echo "$commands" | awk -F'\t' '{ print $4 } $4 != $5 { print "    runs as: " $5 }'
    exit 0
fi

[ "$(id -u)" = 0 ] || refuse 'this needs root: it makes and enters roots (sudo tools/fresh.sh)'
command -v debootstrap >/dev/null || refuse 'no debootstrap: apt-get install debootstrap'
command -v git >/dev/null || refuse 'no git: apt-get install git'
unshare --time --boottime 0 --monotonic 0 true 2>/dev/null ||
    refuse 'no time namespaces here: they take Linux 5.6 and unshare of util-linux 2.36'

# The chosen commands, as "unit<TAB>rest": the unit of a command up to the last one that was asked for.
chosen=$(
    ONLY=$(printf '%s\n' "${only[@]+"${only[@]}"}") awk -F'\t' '
    BEGIN { count = split(ENVIRON["ONLY"], only, "\n") }
    {
        line[NR] = $0; unit[NR] = $1; command[NR] = $4
        for (i = 1; i <= count; i++) exact[i] += $4 == only[i]
    }
    END {
        for (n = 1; n <= NR; n++)
            for (i = 1; i <= count; i++)
                if (only[i] == "" || (exact[i] ? command[n] == only[i] : index(command[n], only[i]))) last[unit[n]] = n
        for (n = 1; n <= NR; n++) if (n <= last[unit[n]]) print line[n]
    }' <<<"$commands"
)
[ -n "$chosen" ] || refuse "no command on the pages contains '${only[*]-}'"

mkdir -p "$work/archives/partial" "$work/logs"
work=$(cd "$work" && pwd)
running=
trap 'finish' EXIT
trap 'exit 130' HUP INT TERM

# The mounts go with their namespace; what is left are files. One file system, in case one did not.
finish() {
    trap - EXIT HUP INT TERM
    if [ -n "$running" ]; then
        kill -KILL "$running" 2>/dev/null # unshare blocks the others; --kill-child ends the rest
        wait "$running" 2>/dev/null
    fi
    rm -rf --one-file-system "$work/run-$$"
}

# Copies the settings with which apt reaches its packages here: sources, keys, proxies.
copy_apt() {
    local root=$1 part file
    grep -qs "$suite" -r /etc/apt/sources.list /etc/apt/sources.list.d || return 0
    rm -f "$root/etc/apt/sources.list"
    for part in sources.list sources.list.d preferences.d auth.conf.d keyrings trusted.gpg trusted.gpg.d; do
        [ ! -e "/etc/apt/$part" ] || cp -a "/etc/apt/$part" "$root/etc/apt/" || return 1
    done
    for file in /etc/apt/apt.conf.d/* /etc/apt/apt.conf; do
        if grep -qs '^ *Acquire' "$file"; then
            cp "$file" "$root/etc/apt/apt.conf.d/" || return 1
        fi
    done
}

make_base() {
    local base=$work/base
    [ ! -e "$base/.complete" ] || return 0
    say "making a base root in $base (log in $work/logs/base.log)"
    rm -rf --one-file-system "$base"
    # In a mount namespace of its own: what debootstrap mounts goes with it.
    unshare --mount debootstrap --variant=minbase --include=ca-certificates,make,sudo "$suite" "$base" \
        "${FRESH_MIRROR:-http://deb.debian.org/debian}" >"$work/logs/base.log" 2>&1 &&
        copy_apt "$base" &&
        cp -L /etc/resolv.conf /etc/hosts "$base/etc/" &&
        chroot "$base" useradd --create-home --shell /bin/bash --uid 1000 user &&
        echo 'user ALL=(ALL) NOPASSWD: ALL' >"$base/etc/sudoers.d/user" &&
        touch "$base/.complete" || {
        tail -n 5 "$work/logs/base.log" >&2
        refuse "no base root; set FRESH_MIRROR to a Debian mirror that can be reached"
    }
}

# How far CLOCK_MONOTONIC and CLOCK_BOOTTIME have to be moved to show ten minutes.
offset_of() {
    /usr/bin/python3 -c "import time; print($uptime_s - int(time.clock_gettime(time.$1)))"
}

row() {
    printf '%-66s  %-4s  %-10s  %7s\n' "$@"
}

# run_unit NUMBER USER: one root, all commands of the unit that were chosen.
run_unit() {
    local folder=$work/run-$$/$1-$2 log=$work/logs/$1-$2.log
    mkdir -p "$folder/upper" "$folder/overlay" "$folder/root"
    : >"$folder/results"
    awk -F'\t' -v OFS='\t' -v unit="$1" '$1 == unit { print $2, $3, $4, $5 }' <<<"$chosen" >"$folder/commands"
    unshare --mount --pid --fork --kill-child --time --boottime "$(offset_of CLOCK_BOOTTIME)" \
        --monotonic "$(offset_of CLOCK_MONOTONIC)" "$top/tools/fresh.sh" --inside "$work" "$load" "$folder" "$2" \
        >"$log" 2>&1 &
    running=$!
    wait "$running" || printf '(the root)\t%s\tnot made\t0\n' "$2" >>"$folder/results"
    running=
    while IFS=$'\t' read -r command user status seconds; do
        [ "$status" = 0 ] && status=ok || { failed=1; status="${status/#124/timed out}"; }
        row "$command" "$user" "$status" "$seconds"
        [ "$status" = ok ] || [ "$status" = 'not run' ] || echo "    see $log"
    done <"$folder/results"
    rm -rf --one-file-system "$folder"
}

make_base
[ -z "$(git -C "$top" status --porcelain 2>/dev/null)" ] || say 'the roots get HEAD: uncommitted changes are not tried'
say "commit $(git -C "$top" rev-parse --short HEAD), $load busy processes, logs in $work/logs"
failed=0
row command user status seconds
for unit in $(cut -f1 <<<"$chosen" | uniq); do
    for user in $users; do
        run_unit "$unit" "$user"
    done
done
exit "$failed"
