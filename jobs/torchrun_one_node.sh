#!/bin/bash
# One machine, by torchrun: it starts RANKS processes and restarts none.
#
#     jobs/torchrun_one_node.sh                                         the script is jobs/hello.py
#     RANKS=3 jobs/torchrun_one_node.sh DP/ddp/intro_DDP.py --steps 10  any other script, and its flags
cd "$(dirname "$0")/.." || exit 1
. jobs/find_python.bash || exit 1

# --standalone: torchrun finds a free port itself. One rank for each GPU, or as many as you like.
exec "$PYTHON" -m torch.distributed.run --standalone --nproc-per-node "${RANKS:-2}" \
    "${@:-jobs/hello.py}"
