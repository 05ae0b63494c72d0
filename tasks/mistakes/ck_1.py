"""Wrong ways to do CK-1, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


def saving(
    name='f".draft-{step}"',
    clean="shutil.rmtree(draft, ignore_errors=True)",
    make="rank == 0",
    exists="False",
    meet_first="dist.barrier()",
    write="rank in (0, 1, 2)",
    part='f"rank{rank}.pt"',
    what="state",
    sync="os.fsync(file.fileno())",
    meet="dist.barrier()",
    names="rank == 0",
    rename="os.rename(draft, whole)",
    meet_last="dist.barrier()",
):
    """A save with one of its parts done in another way."""
    return f"""
        rank = dist.get_rank()
        draft, whole = Path(folder) / {name}, Path(folder) / f"step-{{step}}"
        if {make}:
            {clean}
            draft.mkdir(parents=True, exist_ok={exists})
        {meet_first}
        if {write}:
            with open(draft / {part}, "wb") as file:
                torch.save({what}, file)
                file.flush()
                {sync}
        {meet}
        if {names}:
            {rename}
        {meet_last}
        """


MISTAKES = (
    PlantedMistake(
        "written under the final name",
        saving(name='f"step-{step}"', rename="pass"),
        says="the folder has its final name before rank",
    ),
    PlantedMistake(
        "named before all are complete",
        saving(meet="pass"),
        says="the folder has its final name while rank",
    ),
    PlantedMistake(
        "returns before it has its name",
        saving(meet_last="pass"),
        says="returns and step-",
    ),
    PlantedMistake(
        "what a killed run left stays",
        saving(clean="pass", exists="True"),
        says="is now part of the checkpoint",
    ),
    PlantedMistake(
        "only rank 0 writes",
        saving(write="rank == 0"),
        says="should hold ['rank0.pt', 'rank1.pt', 'rank2.pt']",
    ),
    PlantedMistake(
        "numbered by the wrong rank",
        saving(part='f"rank{(rank + 1) % 3}.pt"'),
        says="does not hold the state that rank",
    ),
    PlantedMistake(
        "without fsync",
        saving(sync="pass"),
        says="does not call os.fsync in every save",
    ),
    PlantedMistake(
        "what a killed run left is in the way",
        saving(clean="pass"),
        says="is in the way: remove it",
        alone=True,
    ),
    PlantedMistake(
        "every rank renames",
        saving(names="True"),
        says="only one may rename it",
        alone=True,
    ),
    PlantedMistake(
        "removed while others write",
        saving(
            make="True",
            clean="rank == 0 and shutil.rmtree(draft, ignore_errors=True)",
            exists="True",
            meet_first="pass",
        ),
        says="should hold ['rank0.pt', 'rank1.pt', 'rank2.pt']",
    ),
    PlantedMistake(
        "one rank calls something else",
        saving(meet="(dist.all_reduce(torch.ones(1)) if rank == 0 else dist.barrier())"),
        says="of by_hand.py, in save_part",  # the line is the work's own
        alone=True,
    ),
    PlantedMistake(
        "nobody waits for the folder",
        saving(meet_first="pass"),
        says="must wait until one rank has made it",
        alone=True,
    ),
)

ALSO_RIGHT = {
    "rank 1 does it": saving(make="rank == 1", names="rank == 1"),
    "with replace": saving(rename="os.replace(draft, whole)"),
    "another name": saving(name='f"step-{step}.tmp"', rename="draft.rename(whole)"),
}
