"""Work in place of the solutions of TW: what the check must name, and what it must pass."""

OPTIMIZER = "optimizer = make_optimizer(options, stage)\n"

PROGRAMS = {
    "TW-1": {
        "the optimizer before fully_shard":
            ({OPTIMIZER: "", "for module in [m for": f"{OPTIMIZER}for module in [m for"},
             "was made before fully_shard"),
        "a pipeline over all ranks":
            ({', group=mesh["pp"].get_group()': ""}, "the pipeline goes over all ranks"),
        "each rank trains the whole model by itself": ("""
        from simplellm.slicing import slice_stage

        pp = options.stages
        dp, mine = place.world_size // pp, divmod(place.rank, pp)
        tokenizer, whole = prepare(options, device)
        streams = [iter(make_stories(options, tokenizer, d, dp, quiet=True)) for d in range(dp)]
        optimizer, recorder, losses = make_optimizer(options, whole), Recorder(place.rank), []
        for step in range(options.steps):
            optimizer.zero_grad()
            for d, stories in enumerate(streams):
                ids = next(stories)
                loss = causalLLMLoss(whole(ids), ids, tokenizer.vocab_size)
                (loss / dp).backward()
                if d == mine[0] and mine[1] == pp - 1:
                    losses.append(loss.item())
                    say(step, losses[-1])
            optimizer.step()
        stage = slice_stage(whole, mine[1], pp) if pp > 1 else whole
        return losses, stage, recorder.trace()
        """, "each rank trains the whole model by itself, and nothing leaves it")},
}  # fmt: skip
