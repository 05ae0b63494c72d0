"""A class trains one model together: a host, and a learner on every laptop.

python -m helpers.together host                     the teacher's; on this machine alone
python -m helpers.together host --listen 0.0.0.0    reachable from other machines
python -m helpers.together join http://… CODE       a student's; the host prints this line
python -m helpers.together stress                   forty learners here, some killed, some malicious

Ctrl+C at the host ends training: every laptop gets the model, and a second Ctrl+C ends the host.
"""

import argparse
import asyncio
import getpass
import ipaddress
import secrets
import signal
import socket
import sys
import time
import webbrowser
from pathlib import Path

from helpers.clone import ROOT, NotAClone
from helpers.together.guards import GUARDS

PORT = 18641  # the same each time, so that learners find a host that was started again
FOLDER = Path("build/together")
RECIPE = {"model": "story", "every": 64, "merge": "clip", "grace": 3.0}  # if nothing is said


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="python -m helpers.together",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = found.add_subparsers(dest="command", required=True)
    add = commands.add_parser("host", help="hold the model, and merge").add_argument
    add("--listen", default="127.0.0.1", metavar="ADDRESS", help="0.0.0.0: from everywhere")
    add("--port", type=int, default=PORT, help=f"({PORT})")
    add("--model", choices=("tiny", "story", "laptop"), help="(story)")
    add("--every", type=int, help="inner steps from delivery to delivery (64)")
    add("--merge", choices=GUARDS, help="what merges do against malice (clip)")
    add("--grace", type=float, help="seconds after the quorum (3)")
    add("--minutes", type=float, help="until training ends by itself")
    add("--most", type=int, default=64, help="learners at one time (64)")
    add("--folder", type=Path, default=FOLDER, help=f"where the class is saved ({FOLDER})")
    add("--new", action="store_true", help="begin anew, also where a class is saved")
    add("--no-browser", action="store_true", help="don't open the page for the projector")
    add = commands.add_parser("join", help="be a learner").add_argument
    add("address", help="http://…, as the projector shows it")
    add("code", help="six letters and digits, as the projector shows them")
    add("--name", default="", help="a nickname, up to 16 letters (your user name)")
    add("--pace", type=float, default=0.0, help="seconds that a step takes at least (0)")
    add("--save", type=Path, default=Path("together.safetensors"), help="where the model goes")
    add = commands.add_parser("stress", help="many learners on this machine").add_argument
    add("--learners", type=int, default=40)
    add("--malicious", type=int, default=3)
    add("--killed", type=float, default=0.5, help="share of the learners that is killed (0.5)")
    add("--seconds", type=float, default=60.0)
    add("--merge", choices=GUARDS, default="clip")
    return found


def host(options) -> int:
    from helpers.together.lab import classroom
    from helpers.together.roster import Roster, new_code
    from helpers.together.server import Host
    from helpers.together.table import Recipe, Table

    file = options.folder / "class.safetensors"
    if file.exists() and not options.new:
        table = Table.resume(file, options.most)
        fits(options, table.recipe, file)
        merges, tokens = table.versions, table.merges.tokens
        print(
            f"Going on from {file}: {merges} merges, {tokens:,.0f} tokens. Nothing beyond the last "
            "merge was there to lose: learners send again what waited. (--new begins anew.)"
        )
        work = classroom.Stories(table.recipe.model)
    else:
        vars(options).update({k: v for k, v in RECIPE.items() if getattr(options, k) is None})
        work = classroom.Stories(options.model)
        step = classroom.BATCH * (work.options.seq_l - 1)
        recipe = Recipe(options.model, options.every, step, guard=options.merge,
                        grace=options.grace)  # fmt: skip
        table = Table(recipe, work.start(), Roster(new_code(), options.most), file)
    page = secrets.token_urlsafe(12)
    listening = Host(table, work, page, laptop=classroom.recorded(table.recipe.model))
    try:
        port = listening.listen(options.port, options.listen)
    except OSError as error:
        raise OSError(
            f"can't listen on {options.listen}, port {options.port} ({error.strerror}): does "
            "another host run there? Otherwise choose another --port, or --listen 127.0.0.1"
        ) from None
    table.save()
    shown = options.listen if is_one(options.listen) else own_address()
    address = f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"
    listening.line = f"python -m helpers.together join {address} {table.roster.code}"
    print(f"Students type:\n\n    {listening.line}\n")
    if ipaddress.ip_address(shown).is_loopback:
        print("This machine alone can join. From others: --listen 0.0.0.0")
    else:
        print(
            f"--listen {options.listen} opens port {port} to whoever reaches this machine. The "
            "code keeps strangers from joining; nothing is encrypted (docs/security.md)."
        )
    local = "127.0.0.1" if not is_one(options.listen) else shown
    projector = f"http://{local}:{port}/{page}/"
    print(f"The page for the projector: {projector}\nCtrl+C ends training.", flush=True)
    if not options.no_browser:
        webbrowser.open(projector)
    asyncio.run(serve(listening, options.minutes))
    return 0


def fits(options, recipe, file) -> None:
    """Refuse what was asked for and a saved class doesn't have."""
    for name in RECIPE:
        asked, had = getattr(options, name), getattr(recipe, {"merge": "guard"}.get(name, name))
        if asked not in (None, had):
            raise ValueError(
                f"the class in {file} has --{name} {had}, not {asked}: leave it out to go on with "
                "that class, or add --new to begin anew"
            )


async def serve(listening, minutes) -> None:
    """Train until Ctrl+C or for so many minutes, then hand out the model until Ctrl+C."""
    pressed, begun = [], time.monotonic()

    def press(*_):
        pressed.append(1)

    signal.signal(signal.SIGINT, press)
    length = minutes * 60 if minutes else float("inf")
    await listening.run(lambda: pressed or time.monotonic() > begun + length)
    table = listening.table
    loss = f", loss {table.losses[-1][1]:.2f}" if table.losses else ""
    print(f"Training has ended: {table.merges.tokens:,.0f} tokens merged{loss}, {table.cost()}.")
    file = table.file.with_name("together.safetensors")
    file.write_bytes(listening.work.checkpoint(table.merges.weights))
    print(f"The model is in {file}, and every learner has it. Ctrl+C ends the host.", flush=True)
    had = len(pressed)
    while len(pressed) == had:
        await asyncio.sleep(0.2)


def is_one(address: str) -> bool:
    """Return whether this is one address, and not that of all networks."""
    return not ipaddress.ip_address(address).is_unspecified


def own_address() -> str:
    """Return the address under which other machines most likely reach this one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("192.0.2.1", 9))  # sends nothing: asks which interface it would take
            return asked.getsockname()[0]
        except OSError:
            return "127.0.0.1"


def join(options) -> int:
    from helpers.together.client import Learner, Line

    def say(sentence):
        print(sentence, flush=True)

    name = options.name or getpass.getuser()[:16]
    learner = Learner(Line(options.address, say), options.code, name, options.pace)
    say(f"{learner.name}, you're in. Ctrl+C leaves; the same line comes back.")
    from threading import Thread

    Thread(target=progress, args=(learner, say), daemon=True).start()
    learner.learn()
    story = learner.fetch(options.save)
    say(f"\nTraining has ended. Your class's model is in {options.save}; it writes:\n\n{story}\n")
    model = learner.recipe["model"]
    say(f"Talk to it in a cell:\n\n    {talk(model, options.save)}")
    return 0


def talk(model: str, path: Path) -> str:
    lines = [
        f"import sys; sys.path.append({str(ROOT / 'DP/together')!r})",
        "from classroom import Stories",
        f"print(Stories({model!r}).told({str(path.resolve())!r}, seed=2))",
    ]
    return "\n    ".join(lines)


def progress(learner, say, every=10.0) -> None:
    """Say every ten seconds what a learner has done."""
    while not learner.ended.wait(every):
        if learner.line.there.is_set():
            say(
                f"{time.strftime('%H:%M:%S')}: learned from {learner.tokens:,} tokens; "
                f"{learner.merged} deliveries are in the class's model"
            )


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        if options.command == "host":
            return host(options)
        if options.command == "join":
            return join(options)
        from helpers.together.stress import stress

        print(stress(options.learners, options.malicious, options.killed, options.seconds,
                     options.merge))  # fmt: skip
        return 0
    except KeyboardInterrupt:
        print("\nYou left.")
        return 130
    except NotImplementedError as error:
        print(f"error: the host merges by your own code: {error}", file=sys.stderr)
    except (NotAClone, OSError, ValueError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
