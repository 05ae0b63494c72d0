"""Work in place of the solutions of CK: what the check must name, and what it must pass."""

PROGRAMS = {
    "CK-1": {
        "named before all are complete":
            ({"dist.barrier()  # now all parts are complete\n": ""},
             "the folder has its final name while rank"),
        "fsync of another file":
            ({"os.fsync(file.fileno())": "names_to_disk(__file__)"},
             "does not call os.fsync in every save"),
        "empty files":
            ({"torch.save(state, file)": "pass"}, "rank0.pt does not hold the state"),
        "what a killed run left is in the way":
            ({"shutil.rmtree(draft, ignore_errors=True)": "pass"}, "is in the way: remove it"),
        "every rank renames":
            ({"complete\nif rank == 0:": "complete\nif True:"}, "only one may rename it"),
        "one rank calls something else":
            ({"dist.barrier()  # now all parts are complete":
                  "dist.all_reduce(torch.ones(1)) if rank == 0 else dist.barrier()"},
             "of by_hand.py, in save_part"),
        "nobody waits for the folder":
            ({"dist.barrier()  # now there is a folder to write into\n": ""},
             "must wait until one rank has made it"),
        "fsync of the file, which has a number; by keywords":
            {"os.fsync(file.fileno())": "os.fsync(file)",
             "save(state, file)": "save(f=file, obj=state)"},
        "rank 1 does it, with replace": {"rank == 0": "rank == 1", "os.rename": "os.replace"}},
}  # fmt: skip
