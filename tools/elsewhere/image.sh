# What the Dockerfile makes, without Docker: its own lines on Debian 12, with Debian's Python.
debian bookworm ca-certificates git make python3-venv python-is-python3 tzdata curl iproute2
clone lab
from=/home/$user/lab
name=jovyan
home=/home/$name
image=$home/distributed-ml-lab
alone=  # or what comes before a command that has no network, and may write to /tmp only
line() { sed -n "s/^$1 //p" "$from/Dockerfile" | grep "$2"; }

# Usage: in_image UID COMMAND. Run a line of shell in the image, as a user of group 0, and show it.
in_image() {
    echo "\$ ($1) $2"
    env -i PATH="$image/.venv/bin:/usr/local/bin:/usr/bin:/bin" HOME=$home LAB_VOLUME=/tmp/$1 \
        PIP_CONFIG_FILE=/tmp/pip.conf $(line ENV LAB_TORCH= | tr ' ' '\n' | grep -v HOME=) $inherited \
        $alone setpriv --reuid "$1" --regid 0 --clear-groups sh -c "cd $image && $2"
}

userdel -r $name 2>/dev/null || true
useradd --create-home --uid 1000 --gid 0 $name
mkdir "$image"
tar -C "$from" --exclude-from="$from/.dockerignore" -cf - . | tar -C "$image" -xf -
chown -R 1000:0 "$image"
in_image 1000 "$(line RUN tools/install.py | sed "s#\${HOME}#$home#")"
echo "the lab and its environment: $(du -sh $image | cut -f 1)"

ask() { # Usage: ask PATH FLAGS... Ask the server as its browser does.
    path=$1
    shift
    curl -fsS -o /dev/null -w "%{http_code} $path\n" -H 'Authorization: token t' "$@" \
        "http://127.0.0.1:8899/api/$path"
}
serve=$(line CMD jupyter | tr -d '[],"')  # JSON's list, none of which has a space in it
server() { # Usage: server UID COMMAND. The server answers, and a file can be written through it.
    in_image "$1" "exec $2 --port=8899 --IdentityProvider.token=t" >/tmp/server.log 2>&1 &
    server=$! tries=120
    until curl -fs http://127.0.0.1:8899/api >/dev/null; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || { cat /tmp/server.log; fail "no answer from the server"; }
        sleep 1
    done
    ask contents/notebooks/mine.txt -X PUT -d '{"type": "file", "format": "text", "content": "mine"}'
    ask shutdown -X POST
    wait $server
}
# As docker run --read-only --tmpfs /tmp --network none.
echo 'mount -o remount,bind,ro / && mount -t tmpfs tmpfs /tmp && ip link set lo up && exec "$@"' >/opt/alone
cat >/opt/points.py <<'END'
import json, sys
(ada,) = json.load(sys.stdin)["submissions"]
print(f"{ada['name']}: {ada['points']} of {ada['of']} points")
sys.exit(ada["points"] != ada["of"])
END
for uid in 1000 1000650000; do
    (cd $home && rm -rf .cache .ipython .jupyter .local)  # each begins in a new container
    install -d -o $uid -g 0 /tmp/$uid
    in_image $uid "python -m helpers.doctor | head -n 1"
    in_image $uid "python -m helpers.ranks -n 2 jobs/hello.py"
    in_image $uid "python -m helpers.grade.handin DP --name ada"
    alone="unshare --mount --net sh /opt/alone"
    in_image $uid "python -m helpers.grade DP-1 --root build/handin/ada_DP.zip --json | python /opt/points.py"
    alone=
    rm -r "$image/build"  # which is of that user
    server $uid "$serve"
    rm "$image/notebooks/mine.txt"
    server $uid "sh tools/on_volume.sh ${serve%% --LabApp*}"
    [ "$(cat /tmp/$uid/distributed-ml-lab/notebooks/mine.txt)" = mine ] || fail "nothing on the volume"
done
