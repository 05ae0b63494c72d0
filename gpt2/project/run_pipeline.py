"""GPT-2 learns to translate with its blocks on two devices: one after the other, or as a pipeline.

    cd gpt2
    python project/run_pipeline.py --model_parallel_mode model_parallel
    python project/run_pipeline.py --model_parallel_mode pipeline_parallel

Without GPUs the two devices are two threads. They overlap in forward; backward is done by the one
thread that autograd has for the CPU. On GPUs autograd has one for each.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from pipeline.model_parallel import GPT2LMHeadModelParallel
from wrong_input import WrongInput

from helpers.plain_errors import plain_errors
from project import flags, results, utils
from project.data import load
from project.models import SIZES, make_config, make_model

MODES = ("model_parallel", "pipeline_parallel")


def run_pp(options):
    """Train; writes workdir/{mode}_results_epoch{e}.json. Raises WrongInput."""
    torch.set_num_threads(1)  # one for each part: else one part alone would use all cores
    size, mode, longest = options.batch_size, options.model_parallel_mode, options.model_max_length
    if options.n_chunk > size:
        told = "a micro-batch would have no sample; take fewer chunks"
        raise WrongInput(f"--n_chunk {options.n_chunk} of a batch of {size}: {told}")
    rows = load(options.dataset, options.n_train, options.n_held_out, options.seed)
    shape = SIZES[options.model]
    tokenizer = utils.get_tokenizer(rows.train, shape.vocab, "de", "en")
    config = make_config(options.model, len(tokenizer), longest)
    model = make_model(config, options.seed, GPT2LMHeadModelParallel)
    model.parallelize()
    learning_rate = options.learning_rate or shape.learning_rate
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    collate = utils.german_to_english(tokenizer, longest, next(model.parameters()).device)
    for epoch in range(options.n_epochs):
        if mode == "pipeline_parallel":
            model._prepare_pipeline_parallel(-(-size // options.n_chunk))
        begun = time.perf_counter()
        rate, _ = utils.train(model, optimizer, rows.train, size, collate, f"epoch {epoch}")
        took = time.perf_counter() - begun
        model._finalize_pipeline_parallel()  # a translation has a cache, which a pipe does not take
        judged = utils.judge(model, rows, tokenizer, collate, size, longest)
        result = results.Result(*judged, took, rate)
        result.save(options.workdir, epoch, mode)
        print(f"epoch {epoch}: {result}", flush=True)


def main(arguments=None):
    parser = flags.parser_of("GPT-2 learns to translate with its blocks on two devices.")
    parser.set_defaults(batch_size=64)
    parser.add_argument("--n_chunk", type=flags.whole, default=4, help="micro-batches a batch")
    parser.add_argument("--model_parallel_mode", choices=MODES, default=MODES[0])
    with plain_errors():
        run_pp(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
