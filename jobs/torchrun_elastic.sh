#!/bin/bash
# Machines that may fail, by torchrun: when a rank ends, all are stopped, and all start again.
# The script must save its state, and begin by loading it: torchrun saves nothing.
#
#     jobs/torchrun_elastic.sh jobs/hello.py --fail 1            one machine: rank 1 fails, once
#     NODES=1:2 MASTER_ADDR=192.168.1.10 jobs/torchrun_elastic.sh SCRIPT   the same line on each
#
# NODES: how many machines, or from:to (1). RANKS: processes on each (2). RESTARTS: at most (3).
# The ranks are numbered anew at each start, so a machine may have other ranks than before.
cd "$(dirname "$0")/.." || exit 1
. jobs/find_python.bash || exit 1

# c10d: the torchrun on machine MASTER_ADDR keeps the list of who is there. Port 0: any free one.
# Many machines do not know their own name, so torchrun is told: the address that the others can
# reach, and whether this machine is MASTER_ADDR (1 or 0).
read -r HERE IS_HOST < <("$PYTHON" jobs/way_to.py "${MASTER_ADDR:-localhost}") || exit 1
PORT=${MASTER_PORT:-${MASTER_ADDR:+29400}}

exec "$PYTHON" -m torch.distributed.run \
    --nnodes "${NODES:-1}" --nproc-per-node "${RANKS:-2}" --max-restarts "${RESTARTS:-3}" \
    --rdzv-backend c10d --rdzv-id "${JOB:-lab}" \
    --rdzv-endpoint "${MASTER_ADDR:-localhost}:${PORT:-0}" \
    --rdzv-conf "is_host=$IS_HOST" --local-addr "$HERE" \
    "${@:-jobs/hello.py}"
