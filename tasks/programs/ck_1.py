"""CK-1: wrong and right work, as programs."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "named before all are complete",
        """
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
        pass
        if rank == 0:
            os.rename(draft, whole)
        dist.barrier()
        """,
        says="the folder has its final name while rank",
    ),
    Program(
        "without fsync",
        """
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
                pass
        dist.barrier()
        if rank == 0:
            os.rename(draft, whole)
        dist.barrier()
        """,
        says="does not call os.fsync in every save",
    ),
    Program(
        "what a killed run left is in the way",
        """
        rank = dist.get_rank()
        draft, whole = Path(folder) / f".draft-{step}", Path(folder) / f"step-{step}"
        if rank == 0:
            pass
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
        """,
        says="is in the way: remove it",
        alone=True,
    ),
    Program(
        "every rank renames",
        """
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
        if True:
            os.rename(draft, whole)
        dist.barrier()
        """,
        says="only one may rename it",
        alone=True,
    ),
    Program(
        "one rank calls something else",
        """
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
        (dist.all_reduce(torch.ones(1)) if rank == 0 else dist.barrier())
        if rank == 0:
            os.rename(draft, whole)
        dist.barrier()
        """,
        says="of by_hand.py, in save_part",
        alone=True,
    ),
    Program(
        "nobody waits for the folder",
        """
        rank = dist.get_rank()
        draft, whole = Path(folder) / f".draft-{step}", Path(folder) / f"step-{step}"
        if rank == 0:
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(parents=True, exist_ok=False)
        pass
        if rank in (0, 1, 2):
            with open(draft / f"rank{rank}.pt", "wb") as file:
                torch.save(state, file)
                file.flush()
                os.fsync(file.fileno())
        dist.barrier()
        if rank == 0:
            os.rename(draft, whole)
        dist.barrier()
        """,
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
    "with replace": """
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
            names_to_disk(draft)
            os.replace(draft, whole)
            names_to_disk(folder)
        dist.barrier()
        """,
}
