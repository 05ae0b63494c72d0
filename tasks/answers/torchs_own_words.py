from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "torchs_own_words-2": Prediction("""
        A* The upper half is tp 0's, ranks 0 and 2, and dp cuts it between these two. So rank 2
        holds the second quarter.
        B) That would be a single cut into four. But there are two cuts, and the first one decides
        about the halves: it's tp's, and puts ranks 0 and 2 above.
        C) It matters to everybody who joins the parts by rank number, such as a checkpoint that
        knows nothing of the mesh.
    """),
    "torchs_own_words-3": Prediction("""
        A) It would be, if all additions came in the same order. But one device adds eight sequences
        up one by one, and eight ranks add in groups.
        B* The same products are added up in another order: over the terms of a row-parallel layer,
        over micro-batches, over replicas. In float64 that costs the last bits.
        C) It would be a reasonable worry, since norms often compute in float32. But all of these
        libraries keep the type of the parameters unless a policy says otherwise.
    """),
    "torchs_own_words-5": Prediction("""
        A) The group has three members, and a collective needs all of them. Only DDP's join()
        context averages over those who are left.
        B) They don't get that far: the first collective that rank 2 doesn't join stops them.
        C* DDP's hooks start an all-reduce in backward, and fully_shard starts an all-gather in the
        forward. Rank 2 never joins, so the others wait inside a line that doesn't mention
        communication at all.
    """),
    "torchs_own_words-6": Prediction("""
        A* The function sees a list of parameters and takes their norm. It knows about the meshes
        written on DTensors, but the pipeline isn't written on any tensor.
        B) Nothing on a stage's tensors says that there are other stages: to each rank its stage is
        a whole model.
        C) A stage is an ordinary module, and its gradients have a norm. There's nothing to complain
        about.
    """),
}
NUMBERS = {
    "torchs_own_words-7": Number(
        1.25,
        unit="gradients",
        tolerance=1e-6,
        because="The second step adds the gradients of its four micro-batches, 4 g in all, to the "
        "first step's mean g, and then divides everything by 4: (g + 4 g) / 4.",
        slips={
            2: "That's gradient accumulation as you would write it by hand. Here the old gradient "
            "is divided by m once more.",
            1: "That would be a mean of both steps. The new gradient counts in full.",
            0.5: "The new micro-batches are divided once, as they should be; only the old gradient "
            "is divided twice.",
            5: "You forgot to divide by m at the end.",
        },
    )
}
