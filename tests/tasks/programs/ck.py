"""Work in place of the solutions of CK: what the check must name, and what it must pass."""

from tests.tasks.planted import Program

PROGRAMS = (
    Program(
        "CK-1",
        "named before all are complete",
        {"dist.barrier()  # now all parts are complete\n": ""},
        says="the folder has its final name while rank",
    ),
    Program(
        "CK-1",
        "fsync of another file",
        {"os.fsync(file.fileno())": "names_to_disk(__file__)"},
        says="does not call os.fsync in every save",
    ),
    Program(
        "CK-1",
        "empty files, and a load_part that remembers",
        {
            "torch.save(state, file)": (
                "globals().update(load_part=lambda folder, step, kept=state: kept)"
            )
        },
        says="rank0.pt does not hold the state",
    ),
    Program(
        "CK-1",
        "what a killed run left is in the way",
        {"shutil.rmtree(draft, ignore_errors=True)": "pass"},
        says="is in the way: remove it",
    ),
    Program(
        "CK-1",
        "every rank renames",
        {"complete\nif rank == 0:": "complete\nif True:"},
        says="only one may rename it",
    ),
    Program(
        "CK-1",
        "one rank calls something else",
        {
            "dist.barrier()  # now all parts are complete": (
                "dist.all_reduce(torch.ones(1)) if rank == 0 else dist.barrier()"
            )
        },
        says="of by_hand.py, in save_part",
    ),
    Program(
        "CK-1",
        "nobody waits for the folder",
        {"dist.barrier()  # now there is a folder to write into\n": ""},
        says="must wait until one rank has made it",
    ),
    Program(
        "CK-1",
        "fsync of the file, which has a number; by keywords",
        {
            "os.fsync(file.fileno())": "os.fsync(file)",
            "save(state, file)": "save(f=file, obj=state)",
        },
    ),
    Program(
        "CK-1",
        "rank 1 does it, with replace",
        {"rank == 0": "rank == 1", "os.rename": "os.replace"},
    ),
)
