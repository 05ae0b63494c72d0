#!/bin/sh
# Start a program, such as a hub's server, in a copy of the lab that outlives the container:
#
#     sh tools/on_volume.sh jupyterhub-singleuser
#
# The copy lies in $LAB_VOLUME (/work), is made once and then left alone; the record of what is done
# lies beside it. Packages stay in the image: python finds them, and takes the lab from the copy.
set -eu

lab=$(cd "$(dirname "$0")/.." && pwd)
volume=${LAB_VOLUME:-/work}
copy=$volume/distributed-ml-lab

if ! [ -d "$volume" ] || ! [ -w "$volume" ]; then
    echo "error: $volume is no folder that can be written to: mount the student's volume there, or name it in LAB_VOLUME" >&2
    exit 1
fi
if ! [ -d "$copy" ]; then
    rm -rf "$copy.new"  # of a start that was interrupted
    mkdir "$copy.new"
    (cd "$lab" && tar --exclude=./.venv --exclude=./build -cf - .) | tar -C "$copy.new" -xf -
    mv "$copy.new" "$copy"
fi
cd "$copy"
export PYTHONPATH="$copy" XDG_DATA_HOME="$volume/.local/share"
exec "$@"
