# Debian 12 and its Slurm: a controller and two nodes with addresses of their own, on one kernel.
debian bookworm ca-certificates git make python3-venv tzdata iproute2 procps util-linux munge \
    slurmctld slurmd slurm-client openmpi-bin
clone lab
in_lab "make setup"
log=/home/$user/lab/job.log

# --- the cluster: it ends with the namespaces that this script runs in ---------------------------

rm -rf /run/netns /var/spool/lab* /var/log/slurm?*.log "/home/$user/lab/runs"
for host in ctl n1 n2; do
    ip netns add $host
    ip -n $host link set lo up
done
ip -n ctl link add bridge type bridge
ip -n ctl address add 10.78.0.10/24 dev bridge
ip -n ctl link set bridge up
for number in 1 2; do
    ip -n ctl link add port$number type veth peer name eth0 netns n$number
    ip -n ctl link set port$number master bridge up
    ip -n n$number address add 10.78.0.$number/24 dev eth0
    ip -n n$number link set eth0 up
done
printf '10.78.0.10 ctl\n10.78.0.1 n1\n10.78.0.2 n2\n' >>/etc/hosts
cat >/etc/slurm/slurm.conf <<'END'
ClusterName=lab
SlurmctldHost=ctl
SlurmUser=root
StateSaveLocation=/var/spool/lab
SlurmdSpoolDir=/var/spool/lab-%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd-%n.pid
SlurmctldLogFile=/var/log/slurmctld.log
SlurmdLogFile=/var/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SlurmdTimeout=30
KillWait=5
ReturnToService=2
NodeName=n[1-2] Sockets=1 CoresPerSocket=4 ThreadsPerCore=1
PartitionName=lab Nodes=n1,n2 Default=YES State=UP
END
echo CgroupPlugin=cgroup/v1 >/etc/slurm/cgroup.conf  # which nothing here uses, and needs no mount

on() { # Usage: on HOST COMMAND... Run it there.
    host=$1
    shift
    ip netns exec "$host" unshare --uts sh -c 'hostname "$0" && exec "$@"' "$host" "$@"
}
until_true() { # Usage: until_true SECONDS WHAT COMMAND...
    seconds=$1 what=$2
    shift 2
    until "$@"; do
        [ "$seconds" -gt 0 ] || { cat "$log" 2>/dev/null; fail "not $what in time"; }
        seconds=$((seconds - 1))
        sleep 1
    done
}
says() { grep -qE "$1" "$log" 2>/dev/null; }
idle() { [ "$(on ctl sinfo -hN -o %T)" = "idle
idle" ]; }
nothing_runs() { [ -z "$(on ctl squeue -h)" ] && ! pgrep -u 4242 python >/dev/null; }

install -d -o munge -g munge /run/munge
[ -s /etc/munge/munge.key ] || dd if=/dev/urandom of=/etc/munge/munge.key bs=1024 count=1 2>/dev/null
chown munge: /etc/munge/munge.key && chmod 400 /etc/munge/munge.key
setpriv --reuid munge --regid munge --clear-groups munged --force
mkdir -p /var/spool/lab /var/spool/lab-n1 /var/spool/lab-n2
on ctl slurmctld -c
on n1 slurmd
on n2 slurmd
until_true 60 "two idle nodes" idle
at="ip netns exec ctl"

# --- what a person types there -------------------------------------------------------------------

# Usage: job FLAGS LINE... Submit it, wait for its end, and find these lines in its log.
job() {
    rm -f "$log"
    in_lab "sbatch --wait --output job.log $1" || echo "(it ended with $?)"
    shift
    shows "$@"
}
shows() {
    for line; do
        until_true 5 "in the log: $line" says "$line"
        grep -E "$line" "$log" | head -n 1
    done
    until_true 20 "at rest" nothing_runs
}
begin() { # Usage: begin FLAGS LINE. Submit it, and wait until the log has this line.
    rm -f "$log"
    in_lab "sbatch --output job.log $1"
    until_true 120 "in the log: $2" says "$2"
}
long="DP/ddp/intro_DDP.py --steps 100000"
set_up=". jobs/find_python.bash"

echo "== two nodes, two ranks on each; then a training"
job jobs/slurm.sh "rank 0 of 4: number 0 of 2 on n1, says Slurm; rank 0 is at n1" \
    "rank 3 of 4: number 1 of 2 on n2, says Slurm; rank 0 is at n1" "all-reduce of 1 MB"
job "jobs/slurm.sh DP/ddp/intro_DDP.py --steps 5" "4 ranks over gloo" "rank 3  step 4"
echo "== one node; one rank in the batch script"
job "--nodes 1 jobs/slurm.sh" "rank 1 of 2: number 1 of 2 on n., says Slurm; rank 0 is at localhost"
job "--nodes 1 --wrap '$set_up; python jobs/hello.py'" "rank 0 of 1"
echo "== two steps of one job at the same time"
step="srun --exact -N 2 -n 2 -c 1 python jobs/hello.py --repeat 50"
job "-N 2 -n 4 --wrap '$set_up; $step & $step & wait; echo both'" "rank 1 of 2: number 0 of 1 on n2" both
[ "$(grep -c 'all-reduce of 1 MB' "$log")" = 2 ] || fail "one of two steps has not ended"
echo "== torchrun below srun"
job "-N 2 --ntasks-per-node 1 -c 2 --wrap 'MASTER_ADDR=n1 srun -c 2 bash -c \"NODE=\\\$SLURM_NODEID jobs/torchrun_several_nodes.sh\"'" \
    "rank 1 of 2: number 0 of 1 on n2, says torchrun; rank 0 is at n1" "all-reduce of 1 MB"
echo "== the cluster's MPI"
job "-N 2 --ntasks-per-node 2 --wrap 'MPIRUN=/usr/bin/mpirun RANKS=4 jobs/mpi.sh'" \
    "rank 3 of 4: number 1 of 2 on n2, says mpi4py; rank 0 is at n1" "all-reduce of 1 MB"
echo "== a rank fails: the others are ended"
job "jobs/slurm.sh jobs/hello.py --fail 1" "rank 1 fails, as it was asked to"
echo "== cancelled"
begin "jobs/slurm.sh $long" "rank 3  step 3"
in_lab "scancel -n lab"
shows CANCELLED
echo "== out of time"
job "--time 1 jobs/slurm.sh $long" "DUE TO TIME LIMIT"
echo "== a node is cut off: without --requeue the job ends"
begin "jobs/slurm.sh $long" "rank 3  step 3"
ip -n n2 link set eth0 down
until_true 120 "noticed" says "DUE TO NODE FAILURE"
ip -n n2 link set eth0 up
until_true 60 "two idle nodes" idle
shows "DUE TO NODE FAILURE"
echo "== with --requeue it goes on after its last save"
survival="DP_PP/survival/intro_survival.py --stages 2 --steps 60"
begin "--requeue --ntasks-per-node 1 jobs/slurm.sh $survival" "step 12 "
ip -n n2 link set eth0 down
until_true 120 "noticed" says "DUE TO NODE FAILURE"
ip -n n2 link set eth0 up
until_true 400 "ended" says "step 59 "  # it starts two minutes later
shows "rank . has waited 10 s for rank" "goes on after step" "step 59 "
