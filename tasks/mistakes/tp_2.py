"""Wrong ways to do TP-2, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


def info(
    place="rank % mp_size, rank // mp_size",
    mp="comm.Split(color=dp_idx, key=mp_idx)",
    dp="comm.Split(color=mp_idx, key=dp_idx)",
    sizes="(in_dim // mp_size, out_dim) if is_megatron_mp and not is_fc1 "
    "else (in_dim, out_dim // mp_size)",
    give="mp_idx, dp_idx, mp_comm, dp_comm, *sizes",
):
    return f"""
        mp_idx, dp_idx = {place}
        mp_comm = {mp}
        dp_comm = {dp}
        sizes = {sizes}
        return {give}
        """


MISTAKES = (
    PlantedMistake(
        "indices swapped",
        info(give="dp_idx, mp_idx, mp_comm, dp_comm, *sizes"),
        says="mp_idx and dp_idx are the wrong way round",
    ),
    PlantedMistake(
        "data-parallel major",
        info(place="rank // dp_size, rank % dp_size"),
        says="as if the ranks of one copy stood dp_size apart",
    ),
    PlantedMistake(
        "indices from 1",
        info(give="mp_idx + 1, dp_idx, mp_comm, dp_comm, *sizes"),
        says="they should be 0 and 0",
    ),
    PlantedMistake(
        "groups swapped",
        info(give="mp_idx, dp_idx, dp_comm, mp_comm, *sizes"),
        says="the groups are the wrong way round",
    ),
    PlantedMistake("no colors", info(mp="comm.Split(key=rank)"), says="mp_comm is all ranks"),
    PlantedMistake("no split", info(dp="comm"), says="dp_comm is all ranks"),
    PlantedMistake(
        "keys backwards",
        info(mp="comm.Split(color=dp_idx, key=-mp_idx)"),
        says="mp_comm has the right ranks in the order [1, 0]: the key decides",
    ),
    PlantedMistake(
        "without keywords",
        info(mp="comm.Split(dp_idx, mp_idx)"),
        says="so write Split(color=…, key=…)",
    ),
    PlantedMistake(
        "a list of ranks", info(mp="rank"), says="mp_comm must be a communicator, made with"
    ),
    PlantedMistake(
        "Megatron as naive",
        info(sizes="in_dim, out_dim // mp_size"),
        says="fc2, Megatron: this layer is cut along its inputs",
    ),
    PlantedMistake(
        "both of Megatron's by inputs",
        info(
            sizes="(in_dim // mp_size, out_dim) if is_megatron_mp else (in_dim, out_dim // mp_size)"
        ),
        says="fc1, Megatron: this layer is cut along its outputs",
    ),
    PlantedMistake("whole", info(sizes="in_dim, out_dim"), says="sizes of the whole layer"),
    PlantedMistake(
        "both cut",
        info(sizes="in_dim // mp_size, out_dim // mp_size"),
        says="both sizes are divided: a layer is cut along one",
    ),
    PlantedMistake(
        "four things",
        info(give="mp_idx, dp_idx, mp_comm, dp_comm"),
        says="give six things, as the docstring lists them",
    ),
)

ALSO_RIGHT = {
    "divmod": """
        dp_idx, mp_idx = divmod(rank, mp_size)
        groups = comm.Split(key=rank, color=dp_idx), comm.Split(key=rank, color=mp_idx)
        part_in_dim, part_out_dim = in_dim, out_dim
        if is_fc1 or not is_megatron_mp:
            part_out_dim //= mp_size
        else:
            part_in_dim //= mp_size
        return mp_idx, dp_idx, *groups, part_in_dim, part_out_dim
        """,
}
