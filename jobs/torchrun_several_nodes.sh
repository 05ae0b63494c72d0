#!/bin/bash
# Several machines, by torchrun: type the same line on each, with another NODE.
#
#     NODE=0 MASTER_ADDR=192.168.1.10 jobs/torchrun_several_nodes.sh    on the machine 192.168.1.10
#     NODE=1 MASTER_ADDR=192.168.1.10 jobs/torchrun_several_nodes.sh    on the other one
#
# MASTER_ADDR: the address of machine 0, as the others can reach it; not localhost.
# MASTER_PORT: a port of machine 0 that is free. A firewall must let the machines talk on all ports.
# NODES: how many machines (2). RANKS: processes on each (1). The order of the machines is NODE's.
cd "$(dirname "$0")/.." || exit 1
: "${NODE:?set NODE to the number of this machine, from 0}"
: "${MASTER_ADDR:?set MASTER_ADDR to the address of machine 0}"
. jobs/find_python.bash || exit 1
"$PYTHON" jobs/way_to.py "$MASTER_ADDR" >/dev/null || exit 1 # else torchrun waits for minutes

exec "$PYTHON" -m torch.distributed.run \
    --nnodes "${NODES:-2}" --node-rank "$NODE" --nproc-per-node "${RANKS:-1}" \
    --master-addr "$MASTER_ADDR" --master-port "${MASTER_PORT:-29500}" \
    "${@:-jobs/hello.py}"
