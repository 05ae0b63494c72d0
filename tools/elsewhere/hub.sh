# A hub and two people on one machine: JupyterHub 5, its culler, and a volume for each of them.
debian bookworm ca-certificates git make python3-venv tzdata procps nodejs
proxy=node-configurable-http-proxy  # debootstrap can't order what it needs
dpkg -s $proxy >/dev/null 2>&1 || { apt-get -qq update && apt-get -qq install --no-install-recommends -y $proxy; } >/dev/null
clone lab
in_lab "make setup && .venv/bin/python -m helpers.grade.student --out ~/course"
lab=course
in_lab "python3 tools/install.py && .venv/bin/pip install -qq 'jupyterhub==5.*' jupyterhub-idle-culler"
for person in ada bob; do
    id $person >/dev/null 2>&1 || useradd --create-home $person
    rm -rf /home/$person/volume /home/$person/.[!.]*
    install -d -m 700 -o $person -g $person /home/$person/volume
done
chmod 755 "/home/$user"
mkdir -p /opt/hub && cd /opt/hub && rm -rf jupyterhub*
cat >config.py <<'END'
import sys
from pathlib import Path

c.JupyterHub.authenticator_class = "dummy"
c.JupyterHub.last_activity_interval = 5
c.Authenticator.allowed_users = {"ada", "bob"}
c.Spawner.cmd = ["sh", f"{Path(sys.prefix).parent}/tools/on_volume.sh", "jupyterhub-singleuser"]
c.Spawner.environment = {"LAB_VOLUME": lambda spawner: f"/home/{spawner.user.name}/volume"}
c.Spawner.default_url = "/lab/tree/notebooks/00_welcome.ipynb"
cull = [sys.executable, "-m", "jupyterhub_idle_culler", "--timeout=60", "--cull-every=5"]
c.JupyterHub.services = [
    {"name": "cull", "command": cull},
    {"name": "people", "api_token": "people-of-a-test"},
]
idle = ["list:users", "read:users:activity", "read:servers", "delete:servers"]
c.JupyterHub.load_roles = [
    {"name": "cull", "scopes": idle, "services": ["cull"]},
    {"name": "people", "scopes": ["admin:users", "admin:servers", "tokens"], "services": ["people"]},
]
END
export PATH="/home/$user/course/.venv/bin:$PATH"
jupyterhub -f config.py >log 2>&1 &
python "/home/$user/lab/tools/elsewhere/hub.py" || { tail -n 40 log; fail "the hub's log says more"; }
