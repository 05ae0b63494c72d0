"""Programs for DP-PP-2: each has the solution's lines with one of them wrong."""

from helpers.grade.task import Program

BODY = """
        grid = make_grid(options, place.world_size)
        here, groups = grid.coordinates(place.rank), make_groups(grid)
        tokenizer, stage = prepare(options, device, here.pp, grid.pp)
        stories = iter(make_stories(options, tokenizer, here.dp, grid.dp, quiet=True))
        optimizer, recorder = make_optimizer(options, stage), Recorder(rank=place.rank)
        pipeline = Pipeline(
            one_f_one_b(grid.pp, options.micro_batches), {here.pp: stage}, groups.pp,
            loss=lambda y, ids: causalLLMLoss(y, ids, tokenizer.vocab_size), recorder=recorder,
        )
        losses = []
        for step in range(options.steps):
            optimizer.zero_grad()
            ids = next(stories)
            outcome = pipeline.step(ids, ids)
            with recorder.span("all-reduce"):
                average_gradients(stage, groups.dp)
            with recorder.span("update"):
                optimizer.step()
            if outcome.loss is not None:
                losses.append(check_finite(outcome.loss, step))
                say(step, losses[-1])
        return losses, stage, recorder.trace()
        """

PROGRAMS = (
    Program(
        "the stories divided among all ranks",
        BODY.replace("here.dp, grid.dp,", "place.rank, place.world_size,"),
        says="the stories are divided among all ranks",
    ),
    Program(
        "the same stories for all",
        BODY.replace("tokenizer, here.dp, grid.dp,", "tokenizer,"),
        says="every pipeline reads the same stories",
    ),
    Program(
        "nobody averages",
        BODY.replace("average_gradients(stage, groups.dp)", "pass"),
        says="each pipeline trains a model of its own",
    ),
    Program(
        "never zeroed",
        BODY.replace("optimizer.zero_grad()", "pass"),
        says="the gradients of earlier steps are still there",
    ),
    Program(
        "averages along the row",
        BODY.replace("average_gradients(stage, groups.dp)", "average_gradients(stage, groups.pp)"),
        says="the ranks of one row average with each other",
        alone=True,
    ),
)

RIGHT = {"the parts in another order": BODY}
