"""CK-1: wrong and right work, as programs."""

from helpers.grade.task import Program

BODY = """
        rank = dist.get_rank()
        draft, whole = Path(folder) / f".draft-{step}", Path(folder) / f"step-{step}"
        if rank == 0:
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(parents=True, exist_ok=False)
        dist.barrier()
        if rank in (0, 1, 2):
            with open(draft / f"rank{rank}.pt", "wb") as file:
                torch.save(state, file)
                file.flush()
                os.fsync(file.fileno())
        dist.barrier()
        if rank == 0:
            os.rename(draft, whole)
        dist.barrier()
        """

PROGRAMS = (
    Program(
        "named before all are complete",
        BODY.replace(
            "os.fsync(file.fileno())\n        dist.barrier()",
            "os.fsync(file.fileno())\n        pass",
        ),
        says="the folder has its final name while rank",
    ),
    Program(
        "without fsync",
        BODY.replace("os.fsync(file.fileno())", "pass"),
        says="does not call os.fsync in every save",
    ),
    Program(
        "what a killed run left is in the way",
        BODY.replace("shutil.rmtree(draft, ignore_errors=True)", "pass"),
        says="is in the way: remove it",
        alone=True,
    ),
    Program(
        "every rank renames",
        BODY.replace("dist.barrier()\n        if rank == 0:", "dist.barrier()\n        if True:"),
        says="only one may rename it",
        alone=True,
    ),
    Program(
        "one rank calls something else",
        BODY.replace(
            "os.fsync(file.fileno())\n        dist.barrier()",
            (
                "os.fsync(file.fileno())\n"
                "        (dist.all_reduce(torch.ones(1)) if rank == 0 else dist.barrier())"
            ),
        ),
        says="of by_hand.py, in save_part",
        alone=True,
    ),
    Program(
        "nobody waits for the folder",
        BODY.replace(
            "draft.mkdir(parents=True, exist_ok=False)\n        dist.barrier()",
            "draft.mkdir(parents=True, exist_ok=False)\n        pass",
        ),
        says="must wait until one rank has made it",
        alone=True,
    ),
    Program(
        "the names of the parts are not synced",
        """
        rank = dist.get_rank()
        draft, whole = Path(folder) / f".draft-{step}", Path(folder) / f"step-{step}"
        if rank == 0:
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(parents=True, exist_ok=False)
        dist.barrier()
        with open(draft / f"rank{rank}.pt", "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        dist.barrier()
        if rank == 0:
            os.rename(draft, whole)
            names_to_disk(folder)
        dist.barrier()
        """,
        says="for the draft's folder",
        alone=True,
    ),
    Program(
        "the name of the whole is not synced",
        """
        rank = dist.get_rank()
        draft, whole = Path(folder) / f".draft-{step}", Path(folder) / f"step-{step}"
        if rank == 0:
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(parents=True, exist_ok=False)
        dist.barrier()
        with open(draft / f"rank{rank}.pt", "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        dist.barrier()
        if rank == 0:
            names_to_disk(draft)
            os.rename(draft, whole)
        dist.barrier()
        """,
        says="after the folder got its name",
        alone=True,
    ),
)

RIGHT = {
    "rank 1 does it": """
        rank = dist.get_rank()
        draft, whole = Path(folder) / f".draft-{step}", Path(folder) / f"step-{step}"
        if rank == 1:
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(parents=True, exist_ok=False)
        dist.barrier()
        if rank in (0, 1, 2):
            with open(draft / f"rank{rank}.pt", "wb") as file:
                torch.save(state, file)
                file.flush()
                os.fsync(file.fileno())
        dist.barrier()
        if rank == 1:
            names_to_disk(draft)
            os.rename(draft, whole)
            names_to_disk(folder)
        dist.barrier()
        """,
    "with replace": BODY.replace(
        "os.rename(draft, whole)",
        (
            "names_to_disk(draft)\n"
            "            os.replace(draft, whole)\n"
            "            names_to_disk(folder)"
        ),
    ),
}
