#!/bin/sh
# Run the current commit on another system, as another user: make elsewhere PLACE=trixie
#
# A place is a file in elsewhere/ that calls the functions below: a system of its own (debian) or
# this one with a user whom it doesn't know (here), a clone, and what that user types in it. All of
# it runs in namespaces that end with this script, however it ends, so nothing stays mounted or
# running. Files stay in $ELSEWHERE (/var/tmp/elsewhere), which makes a second run quick: remove the
# folder to start anew.
#
# Debian comes from this system's mirror, or $MIRROR; packages from where this system's pip takes
# them; LAB_TORCH chooses the torch, as everywhere (cuda: 6 GB for each place).
set -eu

user=student
work=${ELSEWHERE:-/var/tmp/elsewhere}
at=  # what a place puts before the user's commands: `ip netns exec HOST`
tools=$(cd "$(dirname "$0")" && pwd)
place=${1:-} folder=$work/${1:-} root= lab=

fail() {
    echo "error: $*" >&2
    exit 1
}

# Usage: debian SUITE PACKAGE... Make a minimal Debian with these packages, once, and enter it.
debian() {
    suite=$1 root=$folder/root
    shift
    if ! [ -e "$folder/complete" ]; then
        command -v debootstrap >/dev/null || fail "there is no debootstrap: apt install debootstrap"
        mirror=${MIRROR:-$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 2>/dev/null |
            awk '$1 == "Debian" { print $2; exit }')}
        echo "Debian's $suite from ${mirror:-its usual mirror} into $root"
        rm -rf "$root"
        debootstrap --variant=minbase --include="$(echo "$@" | tr ' ' ',')" "$suite" "$root" \
            $mirror >"$folder/log" 2>&1 || fail "debootstrap stopped: $folder/log says why"
        chroot "$root" useradd --create-home --uid 4242 "$user"
        touch "$folder/complete"
    fi
    cp /etc/hosts /etc/resolv.conf "$root/etc"
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    for path in /sys /dev $carried; do
        mkdir -p "$root${path%/*}"
        if [ -d "$path" ]; then mkdir -p "$root$path"; else touch "$root$path"; fi
        mount --rbind "$path" "$root$path"
    done
    mount -t tmpfs tmpfs "$root/dev/shm"
    mount --bind "$folder/tmp" "$root/tmp"
    cd "$root"
    pivot_root . .  # not chroot, where nobody may make a namespace, as the grader's sandbox does
    umount -l .
}

# Usage: here. Stay on this system, which now has the user, and a /home and a /tmp of its own.
here() {
    mkdir -p "$folder/home/$user"
    chown 4242:4242 "$folder/home/$user"
    { grep -v "^$user:" /etc/passwd; echo "$user:x:4242:4242::/home/$user:/bin/sh"; } >"$folder/passwd"
    mount --bind "$folder/passwd" /etc/passwd
    mount --bind "$folder/home" /home
    mount --bind "$folder/tmp" /tmp
}

# Usage: as_user COMMAND. Run a line of shell as that user, far from UTC, with nothing inherited.
as_user() {
    env -i HOME="/home/$user" USER="$user" LOGNAME="$user" PATH=/usr/local/bin:/usr/bin:/bin \
        TZ=America/New_York LC_ALL=C PIP_CONFIG_FILE=/tmp/pip.conf PIP_NO_CACHE_DIR=1 \
        $inherited $at setpriv --reuid 4242 --regid 4242 --clear-groups sh -c "cd; $1"
}

# Usage: clone FOLDER. Put the commit into a folder of the user's; its .venv stays from run to run.
clone() {
    lab=$1
    as_user "mkdir -p '$lab' && cd '$lab' && git init -q && git fetch -q /tmp/lab.bundle HEAD &&
        git checkout -qf FETCH_HEAD && git clean -qxfd -e .venv"
}

# Usage: in_lab COMMAND. Run a line of shell in the clone, and show it.
in_lab() {
    echo "\$ $1"
    as_user "cd '$lab' && $1"
}

summary() {
    code=$?
    said=$(as_user "cd '$lab' && .venv/bin/python -V && cat build/tests/summary.txt" 2>/dev/null) || true
    echo "elsewhere: $place at $commit ended with $code:" $(echo "$said" | tr -d =)
}

if [ "${2:-}" = inside ]; then
    commit=$3 carried=$4 inherited=$5
    trap summary EXIT
    . "$tools/elsewhere/$place.sh"
    exit
fi

[ -f "$tools/elsewhere/$place.sh" ] || fail "there is no place '$place': name one, as in" \
    "make elsewhere PLACE=trixie; there are $(cd "$tools/elsewhere" && echo *.sh | sed 's/\.sh//g')"
[ "$(id -u)" = 0 ] || fail "only root may make a root for others: sudo make elsewhere PLACE=$place"

rm -rf "$folder/tmp"
mkdir -p "$folder"
mkdir -m 1777 "$folder/tmp"
cd "$tools"
commit=$(git -c safe.directory='*' rev-parse --short HEAD)
git -c safe.directory='*' bundle create -q "$folder/tmp/lab.bundle" HEAD
# What pip is told here, in files (global.find-links='/wheels') or by variables (:env:.cert='/x').
python3 -m pip config list 2>/dev/null | sed -nE "s/^(global|:env:)\.([a-z-]+)='(.*)'$/\2 = \3/p" |
    awk 'BEGIN { print "[global]" } !seen[$1]++' >"$folder/tmp/pip.conf"
# The files and folders among that must be there, too; what an index of files names lies beside it.
carried=$(sed 's/.* = //' "$folder/tmp/pip.conf" | tr ' ' '\n' | sed -E 's#^file://(.*)/.+#\1#' |
    while read -r path; do case $path in /*) [ ! -e "$path" ] || echo "$path" ;; esac; done)
inherited=$(env | grep -E '^(LAB_TORCH|PYTHON|[a-zA-Z]+_(proxy|PROXY))=' || true)

# When this shell ends, by an interrupt or a kill, so does unshare, and with it all that it started.
setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc \
    sh "$tools/elsewhere.sh" "$place" inside "$commit" "$carried" "$inherited"
