"""Work in place of the solutions of DP-PP: what the check must name, and what it must pass."""

PROGRAMS = {
    "DP-PP-1": {
        "only for the first stage":
            ({"dist.all_reduce": "dist.get_rank() % 2 or dist.all_reduce"},
             "ranks 1 and 3 left early"),
        "one rank alone communicates":
            ({"dist.all_reduce": "dist.get_rank() or dist.all_reduce"}, "rank 0"),
        "divided into a new name":
            ("""
        for p in stage.parameters():
            g = p.grad
            dist.all_reduce(g, group=group)
            g = g / dist.get_world_size(group)
        """, "(g = g / n names a new tensor, and changes no p.grad)"),
        "the sum of the weights in place of the gradients":
            ("""
        for p in stage.parameters():
            dist.all_reduce(p.data, group=group)
        """, "the weights have changed"),
        "gathered, and a new tensor as the gradient": """
        for p in stage.parameters():
            everybody = [torch.empty_like(p.grad) for _ in range(dist.get_world_size(group))]
            dist.all_gather(everybody, p.grad, group=group)
            p.grad = torch.stack(everybody).mean(0)
        """},
    "DP-PP-2": {
        "averages along the row":
            ({"(stage, groups.dp)": "(stage, groups.pp)"},
             "the ranks of one row average with each other, and they hold different layers"),
        "each rank trains the whole model by itself": ("""
        from simplellm.slicing import slice_stage

        grid = make_grid(options, place.world_size)
        here = grid.coordinates(place.rank)
        tokenizer, whole = prepare(options, device)
        parts = [(d, grid.dp) for d in range(grid.dp)]
        streams = [iter(make_stories(options, tokenizer, *part, quiet=True)) for part in parts]
        optimizer, recorder, losses = make_optimizer(options, whole), Recorder(place.rank), []
        for step in range(options.steps):
            optimizer.zero_grad()
            for d, stories in enumerate(streams):
                ids = next(stories).to(device)
                with recorder.span("F"):
                    loss = causalLLMLoss(whole(ids), ids, tokenizer.vocab_size)
                with recorder.span("B"):
                    (loss / grid.dp).backward()
                if d == here.dp:
                    mine = loss.item()
            with recorder.span("all-reduce"):
                pass
            with recorder.span("update"):
                optimizer.step()
            if here.pp == grid.pp - 1:
                losses.append(mine)
                say(step, mine)
        stage = slice_stage(whole, here.pp, grid.pp) if grid.pp > 1 else whole
        return losses, stage, recorder.trace()
        """, "each rank trains the whole model by itself, and nothing leaves it"),
        "averages, and trains the whole model on each rank of a row": ("""
        from simplellm.slicing import slice_stage

        grid = make_grid(options, place.world_size)
        here, groups = grid.coordinates(place.rank), make_groups(grid)
        tokenizer, whole = prepare(options, device)
        stories = iter(make_stories(options, tokenizer, here.dp, grid.dp, quiet=True))
        optimizer, recorder, losses = make_optimizer(options, whole), Recorder(place.rank), []
        for step in range(options.steps):
            optimizer.zero_grad()
            ids = next(stories).to(device)
            with recorder.span("F"):
                loss = causalLLMLoss(whole(ids), ids, tokenizer.vocab_size)
            with recorder.span("B"):
                loss.backward()
            with recorder.span("all-reduce"):
                average_gradients(whole, groups.dp)
            with recorder.span("update"):
                optimizer.step()
            if here.pp == grid.pp - 1:
                losses.append(loss.item())
                say(step, losses[-1])
        stage = slice_stage(whole, here.pp, grid.pp) if grid.pp > 1 else whole
        return losses, stage, recorder.trace()
        """, "too little left rank 0 for its row"),
        "gathers the gradients over a column as objects":
            {"average_gradients(stage, groups.dp)": """for p in stage.parameters():
                found = [None] * grid.dp
                dist.all_gather_object(found, p.grad, group=groups.dp)
                p.grad = sum(found) / grid.dp"""}},
}  # fmt: skip
