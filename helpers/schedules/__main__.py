"""The schedules that have a name, and the memory that each needs.

python -m helpers.schedules         for 4 ranks and 8 micro-batches
python -m helpers.schedules 8 32
"""

import argparse

from helpers.schedules import SCHEDULES, check, in_flight

ROW = "{:17} {:>6} {:>5}  {:13} {}"


def main(arguments: list[str] | None = None) -> None:
    flags = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    flags.add_argument("ranks", nargs="?", type=int, default=4)
    flags.add_argument("micro_batches", nargs="?", type=int, default=8)
    sizes = flags.parse_args(arguments)
    print(
        ROW.format("schedule", "stages", "keeps", "paper (arXiv)", "torch.distributed.pipelining")
    )
    for each in SCHEDULES.values():
        try:
            schedule = check(each.made(sizes.ranks, sizes.micro_batches))
        except ValueError as error:
            flags.error(str(error))
        keeps = max(in_flight(schedule, until="weights"))
        stages = schedule.stages // schedule.size
        print(ROW.format(each.name, stages, keeps, each.paper, each.torch).rstrip())
    print("stages: of a rank. keeps: chunks that a rank keeps at its peak, from F until W.")


if __name__ == "__main__":
    main()
