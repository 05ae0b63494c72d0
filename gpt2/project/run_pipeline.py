"""GPT-2 learns to translate with its blocks on two devices: one after the other, or as a pipeline.

    cd gpt2
    python project/run_pipeline.py --model_parallel_mode model_parallel
    python project/run_pipeline.py --model_parallel_mode pipeline_parallel

Without GPUs the two devices are two threads. They overlap in forward; backward is done by the one
thread that autograd has for the CPU. On GPUs autograd has one for each.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from pipeline.model_parallel import GPT2LMHeadModelParallel
from wrong_input import WrongInput, plain_words

from helpers.trace import Recorder
from project import flags, results, utils
from project.data import load
from project.models import SIZES, make_config, make_model
from project.text import get_tokenizer

MODES = ("model_parallel", "pipeline_parallel")


def run_pp(options: argparse.Namespace) -> None:
    """Train; writes workdir/{mode}_results_epoch{e}.json. Raises WrongInput."""
    torch.set_num_threads(1)  # one for each part: else one part alone would use all cores
    if options.n_chunk > options.batch_size:
        raise WrongInput(
            f"--n_chunk {options.n_chunk} of a batch of {options.batch_size}: a micro-batch would "
            "have no sample; take fewer chunks"
        )
    rows = load(options.dataset, options.n_train, options.n_held_out, options.seed)
    tokenizer = get_tokenizer(rows.train, SIZES[options.model].vocab, "de", "en")
    config = make_config(options.model, len(tokenizer), options.model_max_length)
    model = make_model(config, options.seed, GPT2LMHeadModelParallel)
    model.parallelize()
    device = next(model.parameters()).device
    optimizer = torch.optim.AdamW(model.parameters(), lr=flags.learning_rate(options))
    collate = utils.german_to_english(tokenizer, options.model_max_length, device)
    results.forget(options.workdir, options.model_parallel_mode)
    for epoch in range(options.n_epochs):
        result = one_epoch(model, optimizer, rows, tokenizer, collate, options, epoch)
        result.save(options.workdir, epoch, options.model_parallel_mode)
        print(f"epoch {epoch}: {result}", flush=True)


def one_epoch(model, optimizer, rows, tokenizer, collate, options, epoch) -> results.Result:
    """Train on all sentences once, then judge on one device after the other, with a cache."""
    parts = len(set(model.transformer.devices))
    recorders = [Recorder(part) for part in range(parts)] if options.trace else None
    if options.model_parallel_mode == "pipeline_parallel":
        model._prepare_pipeline_parallel(-(-options.batch_size // options.n_chunk), recorders)
    begun = time.perf_counter()
    rate, _ = utils.train(
        model, optimizer, rows.train, options.batch_size, collate, f"epoch {epoch}"
    )
    took = time.perf_counter() - begun
    if options.trace and model.transformer.h_pp is not None:
        model.transformer.h_pp.trace().save(options.trace)
    model._finalize_pipeline_parallel()
    longest = options.model_max_length
    found = utils.judge(model, rows, tokenizer, collate, options.batch_size, longest=longest)
    return results.Result(*found, took, rate)


def main(arguments: list[str] | None = None) -> int:
    parser = flags.common("GPT-2 learns to translate with its blocks on two devices.")
    parser.set_defaults(batch_size=64)
    parser.add_argument("--n_chunk", type=flags.whole, default=4, help="micro-batches in a batch")
    parser.add_argument("--model_parallel_mode", choices=MODES, default=MODES[0])
    parser.add_argument("--trace", help="a file for the trace of the last epoch's pipeline")
    with plain_words():
        run_pp(parser.parse_args(arguments))
    return 0


if __name__ == "__main__":
    sys.exit(main())
