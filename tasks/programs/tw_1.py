"""Programs for TW-1: each has the solution's lines with one of them wrong."""

from helpers.grade.task import Program

BODY = """
        mesh = make_mesh(options, place.world_size)
        dp, pp, tp = mesh.get_coordinate()
        tokenizer, stage = prepare(options, device, pp, options.stages)
        stories = iter(make_stories(options, tokenizer, dp, mesh.size(0), quiet=True))
        if options.tp > 1:
            cut_layers(stage, mesh["tp"])
        blocks = [module for module in stage.modules() if isinstance(module, Block)]
        for module in [*blocks, stage]:
            fully_shard(module, mesh=mesh["dp"], reshard_after_forward=False)
        optimizer, recorder, losses = make_optimizer(options, stage), Recorder(place.rank), []
        part = PipelineStage(stage, pp, options.stages, device, group=mesh["pp"].get_group())
        loss_of = lambda y, ids: causalLLMLoss(y, ids, tokenizer.vocab_size)
        schedule = Schedule1F1B(part, options.micro_batches, loss_fn=loss_of)
        for step in range(options.steps):
            optimizer.zero_grad()
            ids, found = next(stories), []
            given = [ids] if pp == 0 else []
            schedule.step(*given, target=ids, losses=found)
            optimizer.step()
            if found:
                losses.append(check_finite(sum(found) / len(found), step))
                say(step, losses[-1])
        return losses, stage, recorder.trace()
        """
EARLY = BODY.replace("make_optimizer(options, stage), ", "early, ").replace(
    "        blocks =", "        early = make_optimizer(options, stage)\n        blocks ="
)

PROGRAMS = (
    Program(
        "the optimizer before fully_shard",
        EARLY,
        says="was made before fully_shard",
    ),
    Program(
        "never zeroed",
        BODY.replace("optimizer.zero_grad()", "pass"),
        says="a part of the last step's gradients is still there",
    ),
    Program(
        "not sharded",
        BODY.replace('fully_shard(module, mesh=mesh["dp"], reshard_after_forward=False)', "pass"),
        says="each pipeline trains a model of its own",
    ),
    Program(
        "the same stories for all",
        BODY.replace("tokenizer, dp, mesh.size(0),", "tokenizer,"),
        says="every pipeline reads the same stories",
    ),
    Program(
        "a pipeline over all ranks",
        BODY.replace(', group=mesh["pp"].get_group()', ""),
        says="the pipeline goes over all ranks",
        alone=True,
    ),
)

RIGHT = {"the parts in another order": BODY}
