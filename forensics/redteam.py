"""Red-team your neighbor: plant one silent mistake in your own trainer of DP-PP-2; others find it.

python redteam.py plant MINE.py SICK.py --pair ada-bob --rank all --tensor all --mistake factor
python redteam.py look ada-bob.py --at 2            what each rank has at a step, and one device
python redteam.py accuse ada-bob.py --pair eva-max --rank 1 --tensor norm.weight --line 71 \
    --mistake group
python redteam.py board ada-bob.key … accusations.jsonl …

MINE.py is a copy of DP_PP/intro_DP_PP.py that passes, SICK.py the same with one mistake of at most
six lines. `plant` refuses a mistake that changes nothing, and one that the loss gives away. It
leaves two files: give ada-bob.py away, and keep ada-bob.key until the end; the first holds the
digest of the second, so neither can be changed. Each right part of an accusation is a point, each
attempt after the first costs one. What a pair that has accused didn't get, goes to the pair that
planted it. At the end both tell how they looked: who knows the trainer by heart finds much by
reading.
"""

import argparse
import json
import sys
from collections import Counter
from fnmatch import fnmatch
from hashlib import sha256
from itertools import islice
from pathlib import Path
from secrets import token_hex

import torch
from cases import changed, in_words, loaded

from helpers.oracle import differences
from helpers.oracle.record import recording
from helpers.ranks import RankFailed, find_place, launch
from simplellm.losses import causalLLMLoss
from simplellm.options import make_model, make_optimizer, make_stories, make_tokenizer
from simplellm.slicing import whole_name

RANKS, SEEDS, STEPS, EVERY, MOST = 4, 8, 24, 4, 6  # two pipelines of two stages
FLAGS = "--dmodel 32 --heads 2 --layers 4 --seq-l 32 --batch-size 4 --stages 2 --micro-batches 2"
PARTS = ("rank", "tensor", "line", "mistake")
MISTAKES = {
    "data": "ranks read the wrong text, or the wrong part of it",
    "start": "ranks don't begin with the same weights, or drift apart",
    "factor": "a sum in place of a mean, or something that counts too often or too little",
    "group": "an average over the wrong ranks, or of some tensors only",
    "late": "something left over from before, or taken too early or too late",
    "optimizer": "a rate, a schedule, a norm, or what the optimizer remembers",
    "loss": "what counts in the loss, and how much",
}


def flags_of(script, seed, steps):
    return script.read_flags([*FLAGS.split(), "--seed", str(seed), "--steps", str(steps)])


def trained(text, seed, steps, at):
    """On a rank: train by a script; return losses, texts, and step `at` by the model's own names.

    In float64: then what differs isn't rounding.
    """
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    script, read = loaded(text), []

    def noted(*args, made=script.make_stories, **more):
        for ids in made(*args, **more):
            read.append(ids[:, :3].tolist())
            yield ids

    script.make_stories = noted
    with recording(at) as seen:
        options = flags_of(script, seed, steps)
        losses, stage, _ = script.train(options, find_place(), "cpu", lambda *_: None)
    first, found = getattr(stage, "first_layer", 0), {"losses": list(map(float, losses))}
    for kind in ("before", "gradients", "after"):
        found[kind] = {whole_name(n, first): t for n, t in getattr(seen, kind).items()}
    return found | {"read": read[at]}


def run(plan):
    """Run each (text, seed, steps, at) on four ranks; return what all ranks have of each."""
    try:
        ranks = launch(_each, RANKS, (plan,), quiet=True, timeout=300)
    except RankFailed as error:
        raise ValueError(f"a trainer doesn't run: {str(error).splitlines()[0]}") from None
    return list(zip(*ranks, strict=True))


def _each(plan):
    return [trained(*one) for one in plan]


def alone(text, seed, at, ranks):
    """Return loss, gradients and, of step 0, weights of one device with the ranks' own weights."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        options = flags_of(loaded(text), seed, at + 1)
        tokenizer = make_tokenizer(options)
        net = make_model(options, tokenizer, "cpu")
        net.load_state_dict(ranks[0]["before"] | ranks[1]["before"], strict=False)
        rows = [make_stories(options, tokenizer, row, RANKS // 2, quiet=True) for row in (0, 1)]
        ids = torch.cat([next(islice(row, at, None)) for row in rows])
        optimizer = make_optimizer(options, net)
        loss = causalLLMLoss(net(ids), ids, tokenizer.vocab_size)
        loss.backward()
        found = {"gradients": {n: p.grad.clone() for n, p in net.named_parameters()}}
        optimizer.step()
    finally:
        torch.set_default_dtype(before)
    after = (
        {"after": {n: p.detach() for n, p in net.named_parameters()}} if at == 0 else {}
    )  # Adam has a past later
    return found | after | {"loss": loss.item(), "read": ids[:, :3].tolist()}


def wrong(ranks, right):
    """Return the tensors of a step that differ on any rank.

    right: of one device, or of each rank; then what a rank lacks, such as a step, differs too.
    """
    every = right if isinstance(right, tuple) else [right] * RANKS
    found = set()
    for rank, one in zip(ranks, every, strict=True):
        for kind in {"gradients", "after"} & set(one):
            held = {name: one[kind][name] for name in rank[kind] if name in one[kind]}
            found |= {difference.name for difference in differences(held, rank[kind])}
            found |= set(one[kind]) ^ set(rank[kind]) if every is right else set()
    return sorted(found)


def curve(ranks):
    """Return every fourth loss, the mean of the pipelines."""
    losses = [rank["losses"] for rank in ranks if rank["losses"]]
    return [sum(each) / len(each) for each in zip(*losses, strict=True)][EVERY - 1 :: EVERY]


def plant(mine, sick, key, seed=0):
    """Return the text of a case, and its key. Raises ValueError where the mistake won't do."""
    lines = changed(mine, sick)
    if not 0 < len(lines) <= MOST:
        raise ValueError(f"{len(lines)} lines differ: plant one mistake, of 1 to {MOST} lines")
    more = [(text, seed, steps, at) for text in (mine, sick) for steps, at in ((1, 0), (3, 2))]
    plan = [(mine, each, STEPS, 0) for each in range(SEEDS)]
    *healthy, whole, first, third, sick_first, sick_third = run(
        [*plan, (sick, seed, STEPS, 0), *more]
    )
    for at, ranks in ((0, first), (2, third)):
        if names := wrong(ranks, alone(mine, seed, at, ranks)):
            raise ValueError(
                f"in step {at} of your own trainer {names[0]} isn't one device's: take one that "
                "passes DP-PP-2"
            )
    if vars(flags_of(loaded(sick), seed, STEPS)) != vars(flags_of(loaded(mine), seed, STEPS)):
        raise ValueError("an option differs, and no tool shows that: plant a mistake in the work")
    names = wrong(sick_first, first) or wrong(sick_third, third)
    if not names:
        raise ValueError("its first three steps are those of your own: there's nothing to find")
    if not any(fnmatch(name, pattern_of(key)) for name in names):
        raise ValueError(f"{key['tensor']} is right, and {names[0]} is wrong: name what is wrong")
    band = list(zip(*map(curve, healthy), strict=True))
    for step, (loss, others) in enumerate(zip(curve(whole), band, strict=True), 1):
        if not min(others) <= loss <= max(others):
            raise ValueError(
                f"step {step * EVERY}: its loss of {loss:.3f} isn't among the {min(others):.3f} to "
                f"{max(others):.3f} of {SEEDS} healthy seeds, so anybody sees it"
            )
    key = key | {"lines": lines, "text": digest(sick), "salt": token_hex(16)}
    facts = {"pair": key["pair"], "seed": seed, "digest": digest(json.dumps(key))}
    return f"{sick.rstrip()}\n# case {json.dumps(facts)}\n", key


def digest(text):
    return sha256(text.encode()).hexdigest()


def pattern_of(key):
    return "*" if key["tensor"] == "all" else key["tensor"]


def opened(path):
    """Return the text and the facts of a case."""
    text = Path(path).read_text(encoding="utf-8")
    before, mark, facts = text.rpartition("# case ")
    if not mark:
        raise ValueError(f"{path} isn't a case: redteam.py plant makes one")
    return before, json.loads(facts)


def look(path, at):
    """Print a step of a case beside one device's that has the same weights."""
    text, facts = opened(path)
    [ranks] = run([(text, facts["seed"], at + 1, at)])
    one = alone(text, facts["seed"], at, ranks)
    print(f"one device with these weights reads {one['read']}, loss {one['loss']:.6f}")
    if at:
        print("(what Adam remembers isn't compared, nor the weights after this step)")
    for number, rank in enumerate(ranks):
        loss = f"loss {rank['losses'][at]:.6f}" if rank["losses"] else "no loss"
        print(f"rank {number} reads {rank['read']}, {loss}")
        for kind in ("gradients", "after"):
            if kind in one:
                held = {name: one[kind][name] for name in rank[kind]}
                print(f"  {'weights ' * (kind == 'after')}{kind}: {in_words(held, rank[kind])}")
    for first, second in ((0, 2), (1, 3)):
        for kind in ("before", "after"):
            far = len(differences(ranks[first][kind], ranks[second][kind]))
            print(f"weights {kind} the step: {far} differ between ranks {first} and {second}")


def board(keys, accusations):
    """Return the lines of the table."""
    known = {digest(json.dumps(key)): key for key in keys}
    best, tries, found, hidden = {}, Counter(), Counter(), Counter()
    for said in accusations:
        key = known.get(said["digest"])
        if key is None or said["by"] == key["pair"]:
            continue
        who = said["by"], key["pair"]
        tensor = said["tensor"] == key["tensor"] or (
            key["tensor"] != "all" and fnmatch(said["tensor"], key["tensor"])
        )
        right = [said["rank"] == key["rank"], tensor,
                 said["line"] in key["lines"], said["mistake"] == key["mistake"]]  # fmt: skip
        best[who] = max(best.get(who, 0), sum(right) - tries[who])
        tries[who] += 1
    for (finder, hider), points in best.items():
        found[finder] += points
        hidden[hider] += len(PARTS) - points
    order = sorted({*found, *hidden}, key=lambda pair: (-found[pair] - hidden[pair], pair))
    return [f"{pair}: {found[pair] + hidden[pair]} points, {found[pair]} found and "
            f"{hidden[pair]} hidden" for pair in order]  # fmt: skip


def main(arguments=None):
    """Do it; return 0, or 2 with one sentence on what was wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("what", choices=("plant", "look", "accuse", "board"))
    add("files", nargs="+", type=Path)
    add("--pair", help="who you are")
    add("--rank", choices=["all", *map(str, range(RANKS))], help="that does it wrong")
    add("--tensor", help='that it spoils, such as "*norm*", or all')
    add("--line", type=int, help="of the case")
    add("--mistake", choices=MISTAKES, help="; ".join(f"{k}: {v}" for k, v in MISTAKES.items()))
    add("--at", type=int, default=0, help="which step, counted from 0 (0)")
    add("--seed", type=int, default=0, choices=range(SEEDS), help="of the planted run (0)")
    options = parser.parse_args(arguments)
    needs = {"plant": ("pair", "rank", "tensor", "mistake"), "accuse": ("pair", *PARTS)}
    try:
        for name in needs.get(options.what, ()):
            if getattr(options, name) is None:
                raise ValueError(f"{options.what} needs --{name}")
        done(options)
    except (OSError, ValueError, SyntaxError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def done(options):
    """Do one command."""
    said = {name: getattr(options, name) for name in ("pair", *PARTS)}
    if options.what == "plant":
        mine, sick = (path.read_text(encoding="utf-8") for path in options.files)
        text, key = plant(mine, sick, {k: v for k, v in said.items() if k != "line"}, options.seed)
        if Path(f"{options.pair}.py").resolve() in [path.resolve() for path in options.files]:
            raise ValueError(f"{options.pair}.py is a file that you gave: --pair names the new one")
        Path(f"{options.pair}.py").write_text(text, encoding="utf-8")
        Path(f"{options.pair}.key").write_text(json.dumps(key), encoding="utf-8")
        print(f"give {options.pair}.py away, and keep {options.pair}.key")
    elif options.what == "look":
        look(options.files[0], options.at)
    elif options.what == "accuse":
        facts = opened(options.files[0])[1]
        line = {**said, "by": said.pop("pair"), "digest": facts["digest"]}
        with open("accusations.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        print("noted in accusations.jsonl: the board says what is right of it")
    else:
        texts = {path: path.read_text(encoding="utf-8") for path in options.files}
        keys = [json.loads(text) for path, text in texts.items() if path.suffix == ".key"]
        rows = [t.splitlines() for path, t in texts.items() if path.suffix != ".key"]
        print("\n".join(board(keys, [json.loads(line) for row in rows for line in row])))


if __name__ == "__main__":
    sys.exit(main())
